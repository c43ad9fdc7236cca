"""Writes records in the order of their first key, so that a visit's lie together (pairs.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft, PairChoice
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.freeze.leaves cimport find_draft_point
from matcher_ext.freeze.records cimport put_record
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place
from matcher_ext.plan.plan cimport Pair, PairRecord, pair_hash
from matcher_ext.values.predicate cimport ONE_OF, Predicate

ctypedef pair[uint64_t, uint32_t] Ranked


cdef uint64_t pair_key(
    const Layout* layout, const PairChoice* choice, uint32_t value
) noexcept nogil:
    cdef const Draft* draft = &layout.draft
    cdef const Predicate* partition = &draft.predicates[draft.nodes[choice.partition].first]
    cdef const Predicate* other = &draft.predicates[draft.nodes[choice.other].first]
    return <uint64_t>find_draft_point(draft, &layout.leaves, partition, 0) << 32 | (
        find_draft_point(draft, &layout.leaves, other, value)
    )


cdef void put_pairs(Layout* layout) noexcept nogil:
    """Writes records in the order of their first key, then the table of all keys."""
    cdef Draft* draft = &layout.draft
    cdef vector[Ranked] ranked, listed
    cdef vector[PairRecord] found
    cdef Ranked item
    cdef PairRecord record
    cdef const Predicate* other
    cdef const PairChoice* choice
    cdef size_t i
    cdef uint32_t value
    for i in range(draft.pairs.size()):
        item.first = pair_key(layout, &draft.pairs[i], 0)
        item.second = <uint32_t>i
        ranked.push_back(item)
    sort(ranked.begin(), ranked.end())
    layout.leaves.totals.pair_records = <uint32_t>layout.records.size()
    for i in range(ranked.size()):
        choice = &draft.pairs[ranked[i].second]
        other = &draft.predicates[draft.nodes[choice.other].first]
        layout.records.push_back(draft.leaf_of[draft.nodes[choice.other].first])
        record.record = <uint32_t>layout.records.size()
        record.turn = NOTHING
        if other.test == ONE_OF and other.count > 1:
            record.turn = layout.leaves.totals.turns
            layout.leaves.totals.turns += 1
        put_record(layout, choice.node, choice.partition, choice.other)
        item.second = <uint32_t>found.size()
        found.push_back(record)
        for value in range(other.count):
            item.first = pair_key(layout, choice, value)
            listed.push_back(item)
    sort(listed.begin(), listed.end())
    tabulate_pairs(layout, &listed, &found)


cdef size_t count_keys(const vector[Ranked]* listed) noexcept nogil:
    """Counts the distinct keys of a sorted list."""
    cdef size_t count = 0, i
    for i in range(listed.size()):
        count += i == 0 or listed[0][i].first != listed[0][i - 1].first
    return count


cdef void tabulate_pairs(
    Layout* layout, const vector[Ranked]* listed, const vector[PairRecord]* found
) noexcept nogil:
    cdef Pair pair_
    cdef size_t size = 1, i = 0
    cdef size_t place
    # Pairs are four to a line: fuller than half costs no further line, and the section is the
    # largest.
    while 3 * size < 5 * count_keys(listed):
        size *= 2
    memset(&pair_, 0, sizeof(pair_))
    layout.pairs.assign(size, pair_)
    while i < listed.size():
        pair_.partition = <uint32_t>(listed[0][i].first >> 32)
        pair_.point = <uint32_t>listed[0][i].first
        pair_.first = <uint32_t>layout.pair_records.size()
        pair_.count = 0
        while i < listed.size() and listed[0][i].first == (
            <uint64_t>pair_.partition << 32 | pair_.point
        ):
            layout.pair_records.push_back(found[0][listed[0][i].second])
            pair_.count += 1
            i += 1
        place = first_place(pair_hash(pair_.partition, pair_.point), size - 1)
        while layout.pairs[place].count:
            place = next_place(place, size - 1)
        layout.pairs[place] = pair_
