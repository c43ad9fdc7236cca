"""Lets one node stand for several children of another: the paper's algorithms 2 and 3.

    a and b and c and d     with a node for  a and b and c     becomes   (a and b and c) and d

Both are options of a store. Three things differ from the paper as printed. Algorithm 2 takes only
sets that lie within the expression's own children. Algorithm 3 looks at the parents of the rarest
child alone: who holds all of the new node's children holds that one. Uses are counted on the links
as they are, so that deletion (algorithm 5) is right after children were moved.

The search is capped. Of each node at most PARENTS_KEPT parents are known, so a predicate that
everybody uses costs no more than another.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore

cdef enum:
    PARENTS_KEPT = 64
    MOST_NESTING = 16       # of reorganised nodes within each other: bounds recursion

# Lists the children that a node's expression has, whatever its links are, by hash as a normal form.
cdef void list_content(
    const NodeStore* store, uint32_t node, vector[uint32_t]* content
) noexcept nogil
# Covers children greedily with nodes that stand for some of them (algorithm 2): moves those
# children to `covered` and puts the nodes in their place.
cdef void cover_children(
    NodeStore* store, uint8_t kind, vector[uint32_t]* children, vector[uint32_t]* covered
) noexcept nogil
# Notes a new node's links; with algorithm 3, older nodes of its kind that hold all of its links,
# and more, take it in their place.
cdef void tie_node(NodeStore* store, uint32_t node) noexcept nogil
# Forgets a parent whose link to the child is undone.
cdef void forget_parent(NodeStore* store, uint32_t child, uint32_t parent) noexcept nogil
