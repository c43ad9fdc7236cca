"""Numbers the bits of inner nodes (plan.pxd) and finds who is above each leaf and each bit."""
from libc.stdint cimport uint32_t

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.values.normal_form cimport NORMAL_PREDICATE

# Fills bit_of, bit_nodes, terminal_nodes and levels.
cdef void number_bits(Layout* layout) noexcept nogil
# Fills or_first, or_targets, and_first and and_nodes.
cdef void link_nodes(Layout* layout) noexcept nogil

cdef inline bint is_inner(const Draft* draft, uint32_t node) noexcept nogil:
    return draft.nodes[node].kind != NORMAL_PREDICATE
