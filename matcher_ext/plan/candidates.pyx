"""The table of clues: made from a draft, asked with a visit (candidates.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport lower_bound, sort, unique
from libcpp.pair cimport pair
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft, view_draft
from matcher_ext.match.leaf_bits cimport Scratch, clear_bit, set_bit, set_bits
from matcher_ext.plan.clues cimport (
    EVERY_ELEMENT, HALF, TWO_ELEMENTS, Clue, find_clues, find_every, has_clues, has_shape,
    list_clues,
)
from matcher_ext.plan.plan cimport (
    ATTRIBUTES, CANDIDATES, CLUE_INDEXES, CLUE_ROWS, Plan, pushed_tests, section_count,
)
from matcher_ext.plan.predicate_index cimport G_LAZY, GROUPS, PUSHED, ClueIndex, ClueRow, RoleIndex
from matcher_ext.values.arena cimport (
    ALL_OF, INTEGER_SET, NOTHING, STRING_SET, TIMESTAMP_LOCAL, TRUE, PredicateView, mix,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport test_predicate

cdef extern from * nogil:
    """
    static inline void prefetch_line(const void* p) { __builtin_prefetch(p); }
    """
    void prefetch_line(const void* p)

cdef enum:
    AHEAD = 8               # rows and candidates whose lines are fetched before they are needed
    MANY_USES = 16          # of an element: it is taken together with another

ctypedef pair[uint64_t, uint32_t] Listed        # clue, leaf


# Making.

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
    """How many predicates could be found by each clue, of those that may choose."""
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
    """What few predicates name is rare in visits too, or at least a short list.

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
            index.shapes[clues[i].shape >> 6] |= <uint64_t>1 << (clues[i].shape & 63)
            listed.push_back(item)
    sort(listed.begin(), listed.end())
    listed.resize(unique(listed.begin(), listed.end()) - listed.begin())


cdef void tabulate(
    const vector[Listed]* listed, ClueIndex* index, Candidates* made
) noexcept nogil:
    cdef ClueRow row
    cdef uint32_t size = 4, slot
    cdef uint64_t clue
    cdef size_t i = 0
    while size < 2 * listed.size():
        size *= 2
    index.rows = <uint32_t>made.rows.size()
    index.mask = size - 1
    memset(&row, 0, sizeof(row))
    row.first = NOTHING
    made.rows.resize(made.rows.size() + size, row)
    while i < listed.size():
        row.hash = <uint32_t>(listed[0][i].first >> 32)
        row.first = <uint32_t>made.leaves.size()
        slot = <uint32_t>listed[0][i].first & index.mask
        clue = listed[0][i].first
        while i < listed.size() and listed[0][i].first == clue:
            if listed[0][i].second != NOTHING:
                made.leaves.push_back(listed[0][i].second)
            i += 1
        row.count = <uint32_t>made.leaves.size() - row.first
        while made.rows[index.rows + slot].first != NOTHING:
            slot = (slot + 1) & index.mask
        made.rows[index.rows + slot] = row


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


# Asking.

cdef inline const ClueRow* find_row(
    const Plan* plan, const ClueIndex* index, uint64_t clue
) noexcept nogil:
    cdef uint32_t slot = <uint32_t>clue & index.mask
    cdef const ClueRow* row = &plan.clue_rows[index.rows + slot]
    while row.first != NOTHING:
        if row.hash == <uint32_t>(clue >> 32):
            return row
        slot = (slot + 1) & index.mask
        row = &plan.clue_rows[index.rows + slot]
    return NULL


cdef void note_rows(const Plan* plan, Scratch* scratch, const ClueIndex* index) noexcept nogil:
    """The rows of scratch.clues, each once: a text may have the same piece twice."""
    cdef const ClueRow* row
    cdef size_t count = scratch.clues.size(), i
    for i in range(count):
        if i + AHEAD < count:
            prefetch_line(
                &plan.clue_rows[index.rows + (<uint32_t>scratch.clues[i + AHEAD] & index.mask)]
            )
        row = find_row(plan, index, scratch.clues[i])
        if row != NULL:
            scratch.rows.push_back(<uint32_t>(row - plan.clue_rows))
    if scratch.rows.size() > 1:
        sort(scratch.rows.begin(), scratch.rows.end())
        scratch.rows.resize(
            unique(scratch.rows.begin(), scratch.rows.end()) - scratch.rows.begin()
        )


cdef void pair_elements(const Plan* plan, Scratch* scratch, const ClueIndex* index) noexcept nogil:
    """Adds the clues of two elements to those of single ones, which scratch.clues holds."""
    cdef size_t single = scratch.clues.size(), halves, i, k
    for i in range(single):
        if find_row(plan, index, mix(scratch.clues[i], HALF)) != NULL:
            scratch.clues.push_back(scratch.clues[i])
    halves = scratch.clues.size()
    for i in range(single, halves):
        for k in range(single, i):
            scratch.clues.push_back(mix(scratch.clues[i] ^ scratch.clues[k], TWO_ELEMENTS))


cdef void keep_common(Scratch* scratch, const uint32_t* leaves, uint32_t count) noexcept nogil:
    """Both ascend; the longer one is searched in steps that double."""
    cdef size_t kept = 0, i
    cdef uint32_t at = 0, reach
    for i in range(scratch.found.size()):
        reach = 1
        while at + reach < count and leaves[at + reach] < scratch.found[i]:
            reach *= 2
        at = <uint32_t>(lower_bound(
            leaves + at, leaves + min(at + reach + 1, count), scratch.found[i]
        ) - leaves)
        if at == count:
            break
        if leaves[at] == scratch.found[i]:
            scratch.found[kept] = scratch.found[i]
            kept += 1
    scratch.found.resize(kept)


cdef void find_common(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const ClueIndex* index
) noexcept nogil:
    """Where a predicate must have every clue of the value: what all rows list, shortest first."""
    cdef const ClueRow* row
    cdef const ClueRow* best = NULL
    cdef size_t i
    for i in range(scratch.clues.size()):
        row = find_row(plan, index, scratch.clues[i])
        if row == NULL:
            return
        if best == NULL or row.count < best.count:
            best = row
        scratch.rows.push_back(<uint32_t>(row - plan.clue_rows))
    if best == NULL:
        return
    scratch.found.assign(plan.candidates + best.first, plan.candidates + best.first + best.count)
    for i in range(scratch.rows.size()):
        row = &plan.clue_rows[scratch.rows[i]]
        if row != best and scratch.found.size():
            keep_common(scratch, plan.candidates + row.first, row.count)
    test_candidates(
        plan, table, scratch, index, scratch.found.data(), <uint32_t>scratch.found.size()
    )


cdef inline void fetch_operands(PredicateView view, uint32_t leaf) noexcept nogil:
    prefetch_line(view.words + view.predicates[leaf].first)


cdef void test_candidates(
    const Plan* plan,
    const CatalogTable* table,
    Scratch* scratch,
    const ClueIndex* index,
    const uint32_t* leaves,
    uint32_t count,
) noexcept nogil:
    cdef PredicateView tests = pushed_tests(plan, <uint32_t>(index - plan.clue_indexes))
    cdef bint truth
    cdef uint32_t i
    for i in range(count):
        if i + 2 * AHEAD < count:
            prefetch_line(&tests.predicates[leaves[i + 2 * AHEAD]])
        if i + AHEAD < count:
            fetch_operands(tests, leaves[i + AHEAD])
        truth = TRUE == test_predicate(
            tests, &tests.predicates[leaves[i]], table, &scratch.visit
        )
        if leaves[i] >= index.negated:
            if not truth:
                clear_bit(scratch, leaves[i])
        elif truth:
            set_bit(scratch, leaves[i])


cdef void fill_candidates(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute, uint32_t end
) noexcept nogil:
    cdef const ClueIndex* index = &plan.clue_indexes[attribute]
    cdef const ClueRow* row
    cdef size_t i
    if table.attributes[attribute].type == TIMESTAMP_LOCAL and (
        not scratch.visit.values[table.utc_offset].known
    ):
        return
    set_bits(scratch, index.negated, end)
    if is_set(table, attribute) and has_shape(index.shapes, EVERY_ELEMENT):
        scratch.rows.clear()
        scratch.clues.clear()
        find_every(table, &scratch.visit, attribute, &scratch.clues)
        find_common(plan, table, scratch, index)
    scratch.rows.clear()
    scratch.clues.clear()
    find_clues(table, &scratch.visit, attribute, index.shapes, &scratch.clues)
    if has_shape(index.shapes, TWO_ELEMENTS):
        pair_elements(plan, scratch, index)
    note_rows(plan, scratch, index)
    for i in range(scratch.rows.size()):
        row = &plan.clue_rows[scratch.rows[i]]
        test_candidates(
            plan, table, scratch, index, plan.candidates + row.first, row.count
        )


cdef inline bint is_set(const CatalogTable* table, uint32_t attribute) noexcept nogil:
    return table.attributes[attribute].type in (STRING_SET, INTEGER_SET)


cdef void fill_lazy(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute
) noexcept nogil:
    cdef const RoleIndex* role = &plan.attributes[attribute].roles[<int>PUSHED]
    cdef uint32_t plain = plan.clue_indexes[attribute].plain
    cdef uint32_t end = role.starts[<int>GROUPS]
    cdef PredicateView tests = pushed_tests(plan, attribute)
    cdef uint32_t leaf
    for leaf in range(role.starts[<int>G_LAZY], plain):
        if TRUE == test_predicate(tests, &tests.predicates[leaf], table, &scratch.visit):
            set_bit(scratch, leaf)
    if plain < end:
        fill_candidates(plan, table, scratch, attribute, end)


# Checking.

cdef bint rows_fit(const Plan* plan, const ClueIndex* index, uint32_t end) noexcept nogil:
    cdef uint64_t size = <uint64_t>index.mask + 1
    cdef const ClueRow* row
    cdef bint has_empty = False
    cdef uint64_t i
    cdef uint32_t k
    if size & (size - 1) or index.rows + size > section_count(plan, CLUE_ROWS):
        return False
    for i in range(size):
        row = &plan.clue_rows[index.rows + i]
        if row.first == NOTHING:
            has_empty = True
            continue
        if <uint64_t>row.first + row.count > section_count(plan, CANDIDATES):
            return False
        for k in range(row.count):
            if not index.plain <= plan.candidates[row.first + k] < end:
                return False
    return has_empty


cdef const char* check_clues(const Plan* plan) noexcept nogil:
    """After the attributes: each one's leaves are in range."""
    cdef const RoleIndex* role
    cdef const ClueIndex* index
    cdef uint32_t end
    cdef uint64_t i
    if section_count(plan, CLUE_INDEXES) != section_count(plan, ATTRIBUTES):
        return b"its clues are miscounted"
    for i in range(section_count(plan, CLUE_INDEXES)):
        role = &plan.attributes[i].roles[<int>PUSHED]
        index = &plan.clue_indexes[i]
        end = role.starts[<int>GROUPS]
        if not role.starts[<int>G_LAZY] <= index.plain <= index.negated <= end:
            return b"an attribute's candidates are malformed"
        if index.plain < end and not rows_fit(plan, index, end):
            return b"an attribute's clues are malformed"
    return NULL
