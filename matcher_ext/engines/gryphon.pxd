"""Matches conjunctions by a matching tree (Gryphon: matching-events, PODC 1999).

A node tests one attribute. An edge is a result of the test, here a predicate that is true; the star
edge is for those that do not care. A visit goes down every edge that is true and every star.

    a = 1 and c = 3        a --1--> c --3--> s1
    b = 2                    '-*--> b --2--> s2

Attributes are tested in one order. `collapse` (section 5) leaves out nodes that have a star edge
alone; without it every conjunction has a node for each attribute. `successors` knows, for each
node, which nodes its values also lead to, so that stars are not walked down again from above; it is
for equalities, on a tree that is not collapsed, and other predicates are tested at the leaves.
`factored` attributes have a tree for each of their values instead of a test: a conjunction that
does not care about one stands in all of them.

The paper's stored text has lost its formulas; bench/papers.py says which bound we hold it to.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.engines.conjunctions cimport Conjunctive

cdef struct Edge:
    uint32_t predicate
    uint32_t child

cdef struct TreeNode:
    uint32_t rank               # of the tested attribute; NOTHING: none, a leaf
    uint32_t star               # or NOTHING
    uint32_t parent             # with successors only ..
    uint32_t label              # .. the edge's predicate, or NOTHING for a star

cdef class Gryphon(Conjunctive):
    cdef readonly bint collapse
    cdef readonly bint successors
    cdef vector[uint32_t] rank_of               # by attribute
    cdef vector[uint32_t] factored              # attributes
    cdef vector[vector[uint32_t]] factors       # by factored attribute: equalities that have a tree
    cdef vector[uint32_t] roots                 # of all trees, the first factor's running fastest
    cdef vector[TreeNode] nodes
    cdef vector[vector[Edge]] edges             # by node, by ascending predicate
    cdef vector[vector[uint32_t]] ends          # by node: conjunctions
    cdef vector[vector[uint32_t]] covers        # by node: the next ones that its values lead to
    cdef bint is_whole                          # the trees have all conjunctions
    cdef size_t removed                         # conjunctions, since they were made
    cdef vector[vector[uint32_t]] true_by_rank  # of the visit
    cdef vector[uint32_t] seen_at               # by node, with successors
    cdef vector[uint32_t] stack

    cdef bint _is_equality(self, uint32_t predicate) noexcept nogil
    cdef uint32_t _rank(self, uint32_t predicate) noexcept nogil
    cdef uint32_t _new_node(self, uint32_t parent, uint32_t label) noexcept nogil
    cdef uint32_t _star(self, uint32_t node) noexcept nogil
    cdef uint32_t _follow(self, uint32_t node, uint32_t predicate) noexcept nogil
    cdef uint32_t _find_child(self, uint32_t node, uint32_t predicate) noexcept nogil
    cdef uint32_t _go_to_test(self, uint32_t node, uint32_t rank) noexcept nogil
    cdef bint _is_in_tree(self, uint32_t predicate) noexcept nogil
    cdef uint32_t _place(self, uint32_t root, uint32_t number) noexcept nogil
    cdef void _build(self) noexcept nogil
    cdef void _place_in_trees(
        self, uint32_t number, size_t factor, size_t tree, size_t step
    ) noexcept nogil
    cdef bint _asks_twice(self, uint32_t number) noexcept nogil
    cdef void _find_covers(self) noexcept nogil
    cdef void _list_implied(
        self, uint32_t node, const vector[vector[uint32_t]]* implied, vector[uint32_t]* into
    ) noexcept nogil
    cdef void _walk(self, uint32_t root) noexcept nogil
    cdef void _walk_covers(self, uint32_t root) noexcept nogil
    cdef void _emit_ends(self, uint32_t node) noexcept nogil
