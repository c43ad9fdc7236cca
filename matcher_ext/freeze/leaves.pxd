"""Makes the predicate index: leaf numbers, and per attribute which leaves a value makes true."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.clue_tables cimport Candidates
from matcher_ext.freeze.draft cimport Draft
from matcher_ext.plan.plan cimport Totals
from matcher_ext.plan.predicate_index cimport AttributeIndex, Bound, PointRow, TextKey
from matcher_ext.values.predicate cimport Predicate

cdef cppclass LeafIndex:
    """The sections that leaves.pyx makes."""
    Totals totals
    vector[uint32_t] order              # leaf -> predicate of the draft
    vector[AttributeIndex] attributes
    vector[PointRow] points
    vector[int64_t] keys
    vector[TextKey] texts
    vector[uint32_t] members
    vector[Bound] bounds
    Candidates candidates

# Numbers the leaves (draft.leaf_of) and lists what is true for each value.
cdef void index_leaves(Draft* draft, LeafIndex* index) noexcept nogil
# Finds the point of a value that a predicate names.
cdef uint32_t find_draft_point(
    const Draft* draft, const LeafIndex* index, const Predicate* predicate, uint32_t value
) noexcept nogil
