"""Checks totals and names, then calls the checks of leaves, clues, records and routes
(checking.pxd)."""
from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.plan.clue_checks cimport check_clues
from matcher_ext.plan.leaf_checks cimport check_attributes, check_points, check_tests
from matcher_ext.plan.plan cimport (
    ATTRIBUTES, DEFINITION_SLOTS, ID_BASES, ID_STEPS, IDS, INNER_OFFSETS, LAST_HOPS, LEVELS,
    NAME_BYTES, NAMES, PAIR_RECORDS, PREDICATES, SLOTS, TERMINALS, WIDE_IDS, Plan, Totals,
    is_within, section_count,
)
from matcher_ext.plan.predicate_index cimport PUSHED, ROLES, TESTED
from matcher_ext.plan.record_checks cimport check_records
from matcher_ext.routes.route_section cimport check_routes
from matcher_ext.values.catalog cimport CatalogTable


cdef const char* check_leaf_totals(const Plan* plan) noexcept nogil:
    cdef const Totals* totals = plan.totals
    cdef int r
    # A filled leaf takes some bytes somewhere, so that a small file cannot ask for much memory.
    if not totals.pushed <= totals.filled <= totals.leaves or totals.filled > plan.header.size:
        return b"its leaves are miscounted"
    if totals.missing_end[<int>PUSHED] != totals.pushed or (
        totals.missing_end[<int>TESTED] != totals.filled
    ):
        return b"its leaves are miscounted"
    for r in range(<int>ROLES):
        if totals.missing[r] > totals.missing_end[r] or not is_within(
            totals.missing_tests[r], totals.missing_end[r] - totals.missing[r],
            section_count(plan, PREDICATES),
        ):
            return b"its leaves are miscounted"
    if not is_within(
        totals.lazy_tests, totals.leaves - totals.filled, section_count(plan, PREDICATES)
    ):
        return b"its leaves are miscounted"
    return NULL


cdef const char* check_totals(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const Totals* totals = plan.totals
    cdef uint64_t terminals = section_count(plan, TERMINALS)
    cdef uint64_t levels = section_count(plan, LEVELS)
    cdef uint64_t i
    if levels == 0 or terminals == 0 or (
        plan.levels[0] != (<uint64_t>totals.filled + 63) // 64 * 64
    ):
        return b"its levels are malformed"
    for i in range(levels):
        if plan.levels[i] % 64 or i and plan.levels[i] < plan.levels[i - 1]:
            return b"its levels are malformed"
    if totals.terminals != plan.levels[levels - 1] or (
        (<uint64_t>totals.terminals + totals.direct + terminals - 1 + 63) // 64 * 64 != totals.bits
    ):
        return b"its terminals are miscounted"
    if section_count(plan, INNER_OFFSETS) != totals.terminals - plan.levels[0]:
        return b"its inner nodes are miscounted"
    if totals.turns > section_count(plan, PAIR_RECORDS) + section_count(plan, LAST_HOPS):
        return b"its pairs are miscounted"
    if section_count(plan, ATTRIBUTES) != table.attributes.size():
        return b"its catalogue and its index are of different sizes"
    if section_count(plan, DEFINITION_SLOTS) != 2 * section_count(plan, NAMES):
        return b"its definitions are miscounted"
    return NULL


cdef const char* check_names(const Plan* plan) noexcept nogil:
    cdef uint64_t i
    for i in range(section_count(plan, NAMES)):
        if not is_within(
            plan.names[i].offset, plan.names[i].length, section_count(plan, NAME_BYTES)
        ):
            return b"a definition's name lies outside of the file"
    return NULL


cdef const char* check_entries(const Plan* plan) noexcept nogil:
    cdef uint64_t narrow = section_count(plan, IDS)
    cdef uint64_t wide = section_count(plan, WIDE_IDS)
    cdef uint64_t stepped = plan.totals.stepped
    if plan.totals.direct > plan.totals.entries or stepped and stepped != plan.totals.direct:
        return b"its terminals are miscounted"
    if stepped + narrow + wide != plan.totals.entries or stepped + narrow and wide:
        return b"its ids are miscounted"
    if section_count(plan, ID_STEPS) != stepped or (
        section_count(plan, ID_BASES) != (stepped + 63) // 64
    ):
        return b"its ids are miscounted"
    if plan.totals.met > plan.totals.entries or plan.totals.expressions > plan.totals.entries:
        return b"its ids are miscounted"
    return NULL


cdef const char* check_plan(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const char* wrong = check_leaf_totals(plan)
    if wrong == NULL:
        wrong = check_totals(plan, table)
    if wrong == NULL:
        wrong = check_names(plan)
    if wrong == NULL:
        wrong = check_entries(plan)
    if wrong == NULL:
        wrong = check_tests(plan, table)
    if wrong == NULL:
        wrong = check_points(plan)
    if wrong == NULL:
        wrong = check_attributes(plan, table)
    if wrong == NULL:
        wrong = check_clues(plan)
    if wrong == NULL:
        wrong = check_records(plan)
    if wrong == NULL:
        wrong = check_routes(
            &plan.routes, table, plan.totals.leaves, <uint32_t>section_count(plan, SLOTS)
        )
    return wrong
