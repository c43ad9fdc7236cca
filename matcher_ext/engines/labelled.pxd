"""Matches by labelled leaves (complex-boolean-expressions, SIGMOD 2010), beside its baseline.

An expression is an alternating tree of `and` and `or` whose leaves are conjunctions; an `and`'s own
predicates are one leaf. The index finds the true conjunctions (conjunctions.pxd); each says where
it stands in which expressions; one pass over these leaves, sorted, says which expressions are true.
The tree itself is not kept.

    (A and B) or C or (D and E and F)     Dewey (section 3)        interval of 1..6 (section 4)

    or --- and --- A                      A 1*.1.1    D 1*.3.1     A [1,1]    D [1,4]
     |      '----- B                      B 1*.1.2*   E 1*.3.2     B [2,6]    E [5,5]
     |---- C                              C 1*.2      F 1*.3.3*    C [1,6]    F [6,6]
     '---- and --- D
            |----- E                      * marks the last child: an `and` is true if its true
            '----- F                      children are counted up to it; intervals: from end to
                                          end of the line, and in no other way
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.engines.conjunctions cimport KIndex, Lists
from matcher_ext.engines.face cimport Engine

cdef struct Part:               # of the tree that is inserted, in preorder
    uint8_t kind                # PART_..
    uint32_t skip               # the part after all that is below
    uint32_t size               # leaves below
    uint32_t leaf               # node of the form

cdef struct Leaf:
    uint32_t node               # conjunction: node of the store
    uint32_t slot
    uint32_t first              # interval: begin and end; else: words[first : first + last]
    uint32_t last

cdef struct Frame:              # of the stack evaluator: a node of the tree that is open
    uint32_t explored           # AND: how many children in a row were met
    bint result
    bint met_last               # AND: the one with the mark was among them

cdef class Labelled(Engine):
    """Leaves of one expression lie together, in the order that its evaluator needs."""
    cdef readonly uint32_t max_leaves
    cdef vector[Part] parts
    cdef vector[Leaf] leaves
    cdef vector[uint32_t] words         # labels or programs
    cdef vector[uint32_t] first_leaf    # by slot
    cdef vector[uint32_t] leaf_count    # by slot
    cdef uint64_t dead                  # leaves that nobody owns
    cdef KIndex index
    cdef Lists by_node                  # leaves, by conjunction
    cdef vector[uint32_t] true_nodes
    cdef vector[uint32_t] hits          # leaves that are true, ascending
    cdef uint64_t index_ns
    cdef uint64_t sort_ns
    cdef uint64_t evaluate_ns
    cdef uint64_t evaluated             # expressions

    cdef void _write_tree(self, uint32_t node) noexcept nogil
    cdef uint32_t _open_part(self, uint8_t kind) noexcept nogil
    cdef void _close_part(self, uint32_t part) noexcept nogil
    cdef void _write_leaf(self, uint32_t node) noexcept nogil
    cdef void _list_by_node(self) noexcept nogil
    cdef void _compact(self) noexcept nogil
    # Names what each of these engines does: make an expression's leaves, say whether it is true.
    cdef void _label(self, vector[Leaf]* leaves) noexcept nogil
    cdef bint _evaluate(self, size_t first, size_t end) noexcept nogil

cdef class Dewey(Labelled):
    cdef vector[Frame] stack
    cdef void _label_part(
        self, uint32_t part, vector[uint32_t]* path, vector[Leaf]* leaves
    ) noexcept nogil

cdef class Interval(Labelled):
    cdef vector[uint32_t] ended         # by end: the stamp, if some way leads there
    cdef uint32_t stamp
    cdef void _label_part(
        self, uint32_t part, uint32_t begin, uint32_t end, uint32_t left, vector[Leaf]* leaves
    ) noexcept nogil

cdef class ScanConjunctions(Labelled):
    cdef bint _run(self, uint32_t at) noexcept nogil
