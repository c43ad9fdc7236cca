"""Counts eligible rows by entry, and their users, each once (counting_rows.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport (
    Block, Part, Run, Table, bitmap_at, codes_of, part_of, rows_of, starts_of,
)
from matcher_ext.machine.bitmaps cimport first_one
from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.asking cimport Asker, ask_entry, open_block, take_rows
from matcher_ext.tables.kernels cimport count_rows
from matcher_ext.tables.questions cimport Question

cdef enum:
    MOST_WAITING = 1 << 22      # users of an entry that are kept before they are looked through


cdef int count_entry(Asker* asker, uint32_t number, uint64_t* out, int64_t* counts) except -1 nogil:
    cdef const uint64_t* rows = ask_entry(asker, &asker.question.entries[number], out)
    if rows != asker.zero:
        counts[number] += asker.table.blocks[asker.block].weight * (
            <int64_t>count_rows(rows, asker.words)
        )
    return 0


cdef int group_entry(Asker* asker, uint32_t number, uint64_t* out, int64_t* counts) except -1 nogil:
    cdef const uint64_t* rows = ask_entry(asker, &asker.question.entries[number], out)
    if rows != asker.zero:
        add_groups(asker, rows, counts + <size_t>number * asker.table.header.groups)
    return 0


ctypedef int (*CountEntry)(Asker*, uint32_t, uint64_t*, int64_t*) except -1 nogil


cdef int each_entry(Asker* asker, CountEntry count, int64_t* counts) except -1 nogil:
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
    return 0


cdef int count_entries(Asker* asker, int64_t* counts) except -1 nogil:
    each_entry(asker, count_entry, counts)
    return 0


cdef int count_grouped(Asker* asker, int64_t* counts) except -1 nogil:
    each_entry(asker, group_entry, counts)
    return 0


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


# Users.

cdef int read_users(const Table* table, uint32_t number, vector[uint32_t]* users) except -1 nogil:
    cdef const Block* block = &table.blocks[number]
    cdef const Part* part
    cdef const uint64_t* bitmap
    cdef uint64_t bits
    cdef uint32_t i, k, word
    users.clear()
    users.resize(64 * block.words, NOTHING)
    if table.header.users == NOTHING:
        return 0
    part = part_of(table, number, table.header.users)
    if part.known == 0:
        return 0
    for i in range(part.distinct):
        bitmap = bitmap_at(table, block, part, i)
        if bitmap != NULL:
            for word in range(block.words):
                bits = bitmap[word]
                while bits:
                    users[0][64 * word + first_one(bits)] = codes_of(table, part)[i]
                    bits &= bits - 1
            continue
        for k in range(starts_of(table, part)[i], starts_of(table, part)[i + 1]):
            users[0][rows_of(table, part)[k]] = codes_of(table, part)[i]
    return 0


cdef int add_users(
    const uint64_t* rows, uint32_t words, const vector[uint32_t]* users, vector[uint32_t]* found
) except -1 nogil:
    cdef uint64_t bits
    cdef uint32_t word, user
    for word in range(words):
        bits = rows[word]
        while bits:
            user = users[0][64 * word + first_one(bits)]
            if user != NOTHING:
                found.push_back(user)
            bits &= bits - 1
    return 0


cdef int64_t count_distinct(
    vector[uint32_t]* found, vector[uint32_t]* seen, uint32_t stamp
) noexcept nogil:
    """Leaves only distinct ones, whatever the order."""
    cdef size_t kept = 0
    cdef size_t i
    for i in range(found.size()):
        if seen[0][found[0][i]] != stamp:
            seen[0][found[0][i]] = stamp
            found[0][kept] = found[0][i]
            kept += 1
    found.resize(kept)
    return <int64_t>kept


cdef cppclass Counted:
    """Users of entries that are being counted."""
    vector[uint32_t] users              # of the block's rows
    vector[uint32_t] seen
    uint32_t stamp
    vector[vector[uint32_t]] found      # by entry


cdef int add_entry_users(
    Asker* asker, Counted* counted, uint32_t number, uint64_t* out
) except -1 nogil:
    cdef const uint64_t* rows = ask_entry(asker, &asker.question.entries[number], out)
    if rows == asker.zero:
        return 0
    add_users(rows, asker.words, &counted.users, &counted.found[number])
    if counted.found[number].size() > MOST_WAITING:
        counted.stamp += 1
        count_distinct(&counted.found[number], &counted.seen, counted.stamp)
    return 0


cdef int settle(
    Counted* counted, uint32_t number, int64_t* counts, vector[vector[uint32_t]]* lists
) except -1 nogil:
    """Counts an entry whose rows are all there, and frees its memory."""
    counted.stamp += 1
    counts[number] = count_distinct(&counted.found[number], &counted.seen, counted.stamp)
    if lists != NULL:
        lists[0][number].swap(counted.found[number])
    counted.found[number] = vector[uint32_t]()
    return 0


cdef int count_users(
    Asker* asker, int64_t* counts, vector[vector[uint32_t]]* lists
) except -1 nogil:
    """Counts users, each once. Blocks of one publisher follow one another: behind the last of them
    the users of its bookings are known."""
    cdef const Table* table = asker.table
    cdef const Question* question = asker.question
    cdef Counted counted
    cdef uint32_t block, by, i
    cdef uint64_t* out
    if lists != NULL:
        lists.resize(question.entries.size())
    if table.header.users == NOTHING:
        return 0
    fill_vector(counted.seen, table.columns[table.header.users].values, 0)
    counted.stamp = 0
    counted.found.resize(question.entries.size())
    for block in range(table.block_count):
        open_block(asker, block)
        out = take_rows(asker)
        read_users(table, block, &counted.users)
        by = table.blocks[block].by
        if by != NOTHING:
            for i in range(question.gate_starts[by], question.gate_starts[by + 1]):
                add_entry_users(asker, &counted, question.gated[i], out)
            if block + 1 == table.block_count or table.blocks[block + 1].by != by:
                for i in range(question.gate_starts[by], question.gate_starts[by + 1]):
                    settle(&counted, question.gated[i], counts, lists)
        for i in range(<uint32_t>question.ungated.size()):
            add_entry_users(asker, &counted, question.ungated[i], out)
    for i in range(<uint32_t>question.ungated.size()):
        settle(&counted, question.ungated[i], counts, lists)
    return 0
