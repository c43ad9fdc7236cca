"""Empties and compares normal forms (normal_form.pxd)."""
from libc.stdint cimport uint32_t

from matcher_ext.values.predicate cimport predicate_equal
from matcher_ext.values.spans cimport span_equal


cdef void clear_form(NormalForm* form) noexcept nogil:
    form.nodes.clear()
    form.edges.clear()
    form.predicates.clear()
    form.words.clear()
    form.bytes.clear()
    form.names.clear()
    form.roots.clear()


cdef bint node_equal(
    const NormalForm* left, uint32_t a, const NormalForm* right, uint32_t b
) noexcept nogil:
    cdef const NormalNode* x = &left.nodes[a]
    cdef const NormalNode* y = &right.nodes[b]
    if x.hash != y.hash or x.kind != y.kind or x.negated != y.negated:
        return False
    if x.kind == NORMAL_TRUE or x.kind == NORMAL_FALSE:
        return True
    if x.kind == NORMAL_PREDICATE:
        return predicate_equal(
            view_predicates(left), &left.predicates[x.first],
            view_predicates(right), &right.predicates[y.first],
        )
    if x.kind == NORMAL_REFERENCE:
        return span_equal(
            left.bytes.data(), left.names[x.first], right.bytes.data(), right.names[y.first]
        )
    return x.count == y.count and children_equal(left, x, right, y)


cdef bint children_equal(
    const NormalForm* left, const NormalNode* x, const NormalForm* right, const NormalNode* y
) noexcept nogil:
    cdef uint32_t i
    for i in range(x.count):
        if not node_equal(left, left.edges[x.first + i], right, right.edges[y.first + i]):
            return False
    return True
