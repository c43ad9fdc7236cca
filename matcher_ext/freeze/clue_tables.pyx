"""Chooses the clues of each pushed lazy leaf and tabulates them (clue_tables.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort, unique
from libcpp.pair cimport pair
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft, view_draft
from matcher_ext.machine.bitmaps cimport set_bit
from matcher_ext.machine.hashing cimport mix
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place, size_table
from matcher_ext.plan.clues cimport HALF, TWO_ELEMENTS, Clue, has_clues, list_clues
from matcher_ext.plan.predicate_index cimport ClueIndex, ClueRow
from matcher_ext.values.predicate cimport ALL_OF

cdef enum:
    MANY_USES = 16          # of an element: it is taken together with another

ctypedef pair[uint64_t, uint32_t] Listed        # clue, leaf


cdef uint32_t rank_clues(const Draft* draft, uint32_t predicate) noexcept nogil:
    if not has_clues(view_draft(draft), &draft.predicates[predicate]):
        return 0
    return 2 if draft.predicates[predicate].negated else 1


cdef void count_uses(
    const Draft* draft,
    const vector[uint32_t]* order,
    uint32_t first,
    uint32_t end,
    unordered_map[uint64_t, uint32_t]* uses,
) noexcept nogil:
    """Counts how many predicates each clue could find, of those that may choose one."""
    cdef vector[Clue] clues
    cdef uint32_t leaf
    cdef size_t i
    for leaf in range(first, end):
        clues.clear()
        if list_clues(view_draft(draft), &draft.predicates[order[0][leaf]], &clues):
            for i in range(clues.size()):
                uses[0][clues[i].word] += 1


cdef void keep_rarest(
    vector[Clue]* clues, unordered_map[uint64_t, uint32_t]* uses, bint is_set
) noexcept nogil:
    """Keeps the clue that the fewest predicates have: it is rare in visits too, or a short list.

    Elements that many predicates name are taken two at a time, and each is noted as a half, so
    that a visit pairs only those of its elements.
    """
    cdef size_t count = clues.size(), i
    if count < 2:
        return
    for i in range(count - 1, 0, -1):           # the two rarest come first
        if uses[0][clues[0][i].word] < uses[0][clues[0][i - 1].word]:
            swap_clues(clues, i)
    for i in range(count - 1, 1, -1):
        if uses[0][clues[0][i].word] < uses[0][clues[0][i - 1].word]:
            swap_clues(clues, i)
    if not is_set or uses[0][clues[0][0].word] <= MANY_USES:
        clues.resize(1)
        return
    clues.resize(3)
    clues[0][2].shape = TWO_ELEMENTS
    clues[0][2].word = mix(clues[0][0].word ^ clues[0][1].word, TWO_ELEMENTS)
    for i in range(2):
        clues[0][i].shape = HALF
        clues[0][i].word = mix(clues[0][i].word, HALF)


cdef inline void swap_clues(vector[Clue]* clues, size_t i) noexcept nogil:
    cdef Clue held = clues[0][i]
    clues[0][i] = clues[0][i - 1]
    clues[0][i - 1] = held


cdef void list_leaves(
    const Draft* draft,
    const vector[uint32_t]* order,
    uint32_t first,
    uint32_t end,
    ClueIndex* index,
    vector[Listed]* listed,
) noexcept nogil:
    cdef unordered_map[uint64_t, uint32_t] uses
    cdef vector[Clue] clues
    cdef Listed item
    cdef uint32_t leaf
    cdef size_t i
    count_uses(draft, order, first, end, &uses)
    for leaf in range(first, end):
        clues.clear()
        if list_clues(view_draft(draft), &draft.predicates[order[0][leaf]], &clues):
            keep_rarest(&clues, &uses, draft.predicates[order[0][leaf]].test == ALL_OF)
        for i in range(clues.size()):
            item.first = clues[i].word
            item.second = NOTHING if clues[i].shape == HALF else leaf
            set_bit(index.shapes, clues[i].shape)
            listed.push_back(item)
    sort(listed.begin(), listed.end())
    listed.resize(unique(listed.begin(), listed.end()) - listed.begin())


cdef void tabulate(
    const vector[Listed]* listed, ClueIndex* index, Candidates* made
) noexcept nogil:
    cdef ClueRow row
    cdef uint32_t size = <uint32_t>size_table(listed.size(), 4)
    cdef ClueRow* table
    cdef uint64_t clue
    cdef size_t i = 0, place
    index.rows = <uint32_t>made.rows.size()
    index.mask = size - 1
    memset(&row, 0, sizeof(row))
    row.first = NOTHING
    made.rows.resize(made.rows.size() + size, row)
    table = made.rows.data() + index.rows
    while i < listed.size():
        row.hash = <uint32_t>(listed[0][i].first >> 32)
        row.first = <uint32_t>made.leaves.size()
        clue = listed[0][i].first
        while i < listed.size() and listed[0][i].first == clue:
            if listed[0][i].second != NOTHING:
                made.leaves.push_back(listed[0][i].second)
            i += 1
        row.count = <uint32_t>made.leaves.size() - row.first
        place = first_place(clue, index.mask)
        while table[place].first != NOTHING:
            place = next_place(place, index.mask)
        table[place] = row


cdef void index_clues(
    const Draft* draft,
    const vector[uint32_t]* order,
    const vector[uint32_t]* starts,
    const vector[uint32_t]* ends,
    Candidates* made,
) noexcept nogil:
    cdef ClueIndex index
    cdef vector[Listed] listed
    cdef uint32_t end
    cdef size_t i
    for i in range(starts.size()):
        memset(&index, 0, sizeof(index))
        end = ends[0][i]
        index.plain = starts[0][i]
        while index.plain < end and rank_clues(draft, order[0][index.plain]) == 0:
            index.plain += 1
        index.negated = index.plain
        while index.negated < end and rank_clues(draft, order[0][index.negated]) == 1:
            index.negated += 1
        if index.plain < end:
            listed.clear()
            list_leaves(draft, order, index.plain, end, &index, &listed)
            tabulate(&listed, &index, made)
        made.indexes.push_back(index)
