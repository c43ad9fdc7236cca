"""Looks up a value's clues and tests the candidates under them (clue_lookup.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport lower_bound, sort, unique

from matcher_ext.machine.bitmaps cimport clear_bit, fetch_line, fill_bits, get_bit, set_bit
from matcher_ext.machine.hashing cimport mix
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.clues cimport (
    EVERY_ELEMENT, HALF, TWO_ELEMENTS, find_clues, find_every, has_shape,
)
from matcher_ext.plan.plan cimport Plan, pushed_tests
from matcher_ext.plan.predicate_index cimport G_LAZY, GROUPS, PUSHED, ClueIndex, ClueRow, RoleIndex
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport (
    INTEGER_SET, STRING_SET, TIMESTAMP_LOCAL, TRUE, PredicateView,
)
from matcher_ext.visits.predicate_tests cimport test_predicate

cdef enum:
    AHEAD = 8               # rows and candidates whose lines are fetched before they are needed


cdef inline const ClueRow* find_row(
    const Plan* plan, const ClueIndex* index, uint64_t clue
) noexcept nogil:
    cdef const ClueRow* table = plan.clue_rows + index.rows
    cdef size_t place = first_place(clue, index.mask)
    while table[place].first != NOTHING:
        if table[place].hash == <uint32_t>(clue >> 32):
            return &table[place]
        place = next_place(place, index.mask)
    return NULL


cdef void note_rows(const Plan* plan, Scratch* scratch, const ClueIndex* index) noexcept nogil:
    """Notes the rows that scratch.clues find, each once: a text may have the same piece twice."""
    cdef const ClueRow* row
    cdef size_t count = scratch.clues.size(), i
    for i in range(count):
        if i + AHEAD < count:
            fetch_line(
                &plan.clue_rows[index.rows + first_place(scratch.clues[i + AHEAD], index.mask)]
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
    """Keeps the candidates that are among the leaves. Both ascend; the leaves, which are more, are
    searched in steps that double."""
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
    """Tests what all rows list, the shortest row first, where a predicate must have every clue of
    the value."""
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
    fetch_line(view.words + view.predicates[leaf].first)


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
            fetch_line(&tests.predicates[leaves[i + 2 * AHEAD]])
        if i + AHEAD < count:
            fetch_operands(tests, leaves[i + AHEAD])
        # Another row has listed it, and it was found true (if negated, not true): of a host and
        # what it is under, of a network in another.
        if get_bit(scratch.bits.data(), leaves[i]) != (leaves[i] >= index.negated):
            continue
        scratch.tested += 1
        truth = TRUE == test_predicate(
            tests, &tests.predicates[leaves[i]], table, &scratch.visit
        )
        if leaves[i] >= index.negated:
            if not truth:
                clear_bit(scratch.bits.data(), leaves[i])
        elif truth:
            set_bit(scratch.bits.data(), leaves[i])


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
    fill_bits(scratch.bits.data(), index.negated, end, True)
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
    scratch.tested += plain - role.starts[<int>G_LAZY]
    for leaf in range(role.starts[<int>G_LAZY], plain):
        if TRUE == test_predicate(tests, &tests.predicates[leaf], table, &scratch.visit):
            set_bit(scratch.bits.data(), leaf)
    if plain < end:
        fill_candidates(plan, table, scratch, attribute, end)
