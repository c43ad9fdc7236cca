"""Checks the tables of clues: each row's candidates are its own attribute's (clue_checks.pxd)."""
from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport (
    ATTRIBUTES, CANDIDATES, CLUE_INDEXES, CLUE_ROWS, Plan, section_count,
)
from matcher_ext.plan.predicate_index cimport G_LAZY, GROUPS, PUSHED, ClueIndex, ClueRow, RoleIndex


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
    """Checks the clues of each attribute, whose leaves are known to be in range."""
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
