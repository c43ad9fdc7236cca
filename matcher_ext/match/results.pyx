"""Reads bits of terminals and entries of records, and writes ids (results.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from matcher_ext.machine.bitmaps cimport (
    count_ones, fetch_line, first_one, get_bit, write_narrow, write_places, write_steps, write_wide,
)
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan, has_wide_ids

cdef enum:
    AHEAD = 16          # entries whose ids are fetched before they are needed


cdef inline uint64_t* direct_bits(const Plan* plan, const Scratch* scratch) noexcept nogil:
    return <uint64_t*>scratch.bits.data() + (plan.totals.terminals >> 6)


cdef inline size_t direct_words(const Plan* plan) noexcept nogil:
    return (<size_t>plan.totals.direct + 63) >> 6


cdef void emit_shared(const Plan* plan, Scratch* scratch) noexcept nogil:
    cdef uint32_t first = plan.totals.terminals + plan.totals.direct
    cdef uint32_t word, terminal, k
    cdef uint64_t bits
    for word in range(first >> 6, plan.totals.bits >> 6):
        bits = scratch.bits[word]
        if word == first >> 6:
            bits &= ~<uint64_t>0 << (first & 63)
        scratch.bits[word] ^= bits
        while bits:
            terminal = (word << 6) + first_one(bits) - first
            bits &= bits - 1
            for k in range(plan.terminals[terminal], plan.terminals[terminal + 1]):
                scratch.matched.push_back(k)


cdef void keep_direct(const Plan* plan, Scratch* scratch) noexcept nogil:
    scratch.direct = count_ones(direct_bits(plan, scratch), direct_words(plan))


cdef void forget_direct(const Plan* plan, Scratch* scratch) noexcept nogil:
    if scratch.direct:
        memset(direct_bits(plan, scratch), 0, direct_words(plan) * sizeof(uint64_t))
        scratch.direct = 0


cdef void drop_dead(
    const Plan* plan, Scratch* scratch, const vector[uint64_t]* dead
) noexcept nogil:
    cdef uint64_t* bits = direct_bits(plan, scratch)
    cdef size_t kept = 0, i
    cdef uint32_t entry
    for i in range(direct_words(plan)):
        bits[i] &= ~dead[0][i]
    keep_direct(plan, scratch)
    for i in range(scratch.matched.size()):
        entry = scratch.matched[i]
        scratch.matched[kept] = entry
        kept += not get_bit(dead.data(), entry)
    scratch.matched.resize(kept)


cdef void list_entries(const Plan* plan, Scratch* scratch) noexcept nogil:
    cdef size_t before = scratch.matched.size()
    scratch.matched.resize(before + scratch.direct)
    write_places(
        direct_bits(plan, scratch), direct_words(plan), scratch.direct,
        scratch.matched.data() + before,
    )
    forget_direct(plan, scratch)


cdef void copy_direct(const Plan* plan, const Scratch* scratch, int64_t* target) noexcept nogil:
    cdef const uint64_t* bits = direct_bits(plan, scratch)
    cdef size_t words = direct_words(plan)
    if scratch.direct == 0:
        return
    if has_wide_ids(plan):
        write_wide(bits, words, scratch.direct, plan.wide_ids, target)
    elif plan.totals.stepped:
        write_steps(
            bits, words, scratch.direct, plan.totals.first_id, plan.id_bases, plan.id_steps, target
        )
    else:
        write_narrow(bits, words, scratch.direct, plan.totals.first_id, plan.ids, target)


cdef void copy_ids(const Plan* plan, const Scratch* scratch, int64_t* target) noexcept nogil:
    cdef const uint32_t* ids = plan.ids - plan.totals.stepped
    cdef size_t count = scratch.matched.size(), i
    copy_direct(plan, scratch, target)
    target += scratch.direct
    if has_wide_ids(plan):
        for i in range(count):
            if i + AHEAD < count:
                fetch_line(&plan.wide_ids[scratch.matched[i + AHEAD]])
            target[i] = plan.wide_ids[scratch.matched[i]]
        return
    for i in range(count):
        if i + AHEAD < count:
            fetch_line(&ids[scratch.matched[i + AHEAD]])
        target[i] = plan.totals.first_id + ids[scratch.matched[i]]
