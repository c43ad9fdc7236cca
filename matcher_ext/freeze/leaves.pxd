"""The predicate index: leaf numbers, and per attribute which leaves a value makes true."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.plan.candidates cimport Candidates
from matcher_ext.plan.plan cimport Totals
from matcher_ext.plan.predicate_index cimport (
    G_BELOW, G_BETWEEN, G_EQUAL, G_LAZY, G_MEMBER, G_PRESENT, G_UP_TO, GROUPS, AttributeIndex,
    Bound, PointRow, TextKey, order_float,
)
from matcher_ext.values.arena cimport (
    BETWEEN, EQUAL, FLOAT, IN, LESS, LESS_EQUAL, ONE_OF, PRESENT, Predicate,
)

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
# The point of an attribute's value that some predicate names.
cdef uint32_t find_draft_point(
    const Draft* draft, const LeafIndex* index, const Predicate* predicate, uint32_t value
) noexcept nogil

cdef inline int group_of(const Predicate* predicate) noexcept nogil:
    """Each negation is the group after its plain one; `is missing` is GROUPS."""
    cdef int group
    if predicate.test == EQUAL:
        group = G_EQUAL
    elif predicate.test == IN or predicate.test == ONE_OF:
        group = G_MEMBER
    elif predicate.test == LESS_EQUAL:
        group = G_UP_TO
    elif predicate.test == LESS:
        group = G_BELOW
    elif predicate.test == BETWEEN:
        group = G_BETWEEN
    elif predicate.test == PRESENT:
        return GROUPS if predicate.negated else G_PRESENT
    else:
        return G_LAZY
    return group + predicate.negated

cdef inline int64_t order_word(const Predicate* predicate, int64_t word) noexcept nogil:
    return order_float(word) if predicate.type == FLOAT else word
