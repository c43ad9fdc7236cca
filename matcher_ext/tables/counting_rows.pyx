"""Counts eligible rows by entry (counting_rows.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from matcher_ext.machine.bitmaps cimport first_one
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.asking cimport Asker, ask_entry, open_block, take_rows
from matcher_ext.tables.kernels cimport count_rows
from matcher_ext.tables.questions cimport Entry, Question
from matcher_ext.tables.table_format cimport Block, Run


cdef void count_entry(Asker* asker, uint32_t number, uint64_t* out, int64_t* counts) noexcept nogil:
    cdef const Entry* entry = &asker.question.entries[number]
    cdef const uint64_t* rows
    if entry.needs_code:
        return
    rows = ask_entry(asker, entry, out)
    if rows != asker.zero:
        counts[number] += asker.table.blocks[asker.block].weight * (
            <int64_t>count_rows(rows, asker.words)
        )


cdef void group_entry(Asker* asker, uint32_t number, uint64_t* out, int64_t* counts) noexcept nogil:
    cdef const Entry* entry = &asker.question.entries[number]
    cdef const uint64_t* rows
    if entry.needs_code:
        return
    rows = ask_entry(asker, entry, out)
    if rows != asker.zero:
        add_groups(asker, rows, counts + <size_t>number * asker.table.header.groups)


ctypedef void (*CountEntry)(Asker*, uint32_t, uint64_t*, int64_t*) noexcept nogil


cdef void each_entry(Asker* asker, CountEntry count, int64_t* counts) noexcept nogil:
    cdef const Question* question = asker.question
    cdef uint32_t block, i, by
    cdef uint64_t* out
    for block in range(asker.table.block_count):
        open_block(asker, block)
        out = take_rows(asker)
        by = asker.table.blocks[block].by
        if by != NOTHING:
            for i in range(question.gate_starts[by], question.gate_starts[by + 1]):
                count(asker, question.gated[i], out, counts)
        for i in range(<uint32_t>question.ungated.size()):
            count(asker, question.ungated[i], out, counts)


cdef void count_entries(Asker* asker, int64_t* counts) noexcept nogil:
    each_entry(asker, count_entry, counts)


cdef void count_grouped(Asker* asker, int64_t* counts) noexcept nogil:
    each_entry(asker, group_entry, counts)


cdef void add_groups(Asker* asker, const uint64_t* rows, int64_t* groups) noexcept nogil:
    """Counts words that lie within one run as a whole, the rows of others one by one."""
    cdef const Block* block = &asker.table.blocks[asker.block]
    cdef const Run* run = asker.table.runs + block.runs
    cdef uint32_t word
    cdef uint64_t bits
    for word in range(asker.words):
        bits = rows[word]
        while bits and run.end <= 64 * word + first_one(bits):
            run += 1
        if bits and run.end >= 64 * word + 64:
            groups[run.group] += block.weight * <int64_t>count_rows(&bits, 1)
            continue
        while bits:
            while run.end <= 64 * word + first_one(bits):
                run += 1
            groups[run.group] += block.weight
            bits &= bits - 1
