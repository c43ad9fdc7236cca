"""Makes conjunctions of expressions, and finds those that are true by an index.

Translation (a-tree, SIGMOD 2021, section 2): an expression becomes the disjunction of all ways to
make it true, one choice at each `or`. Their number is the product over each `and`, so it has a
limit, and it is counted before anything is written.

The index (Whang et al., Indexing Boolean Expressions, VLDB 2009, which the papers name as their
reference) is cut by K, the number of a conjunction's predicates. In each cut every predicate has a
list of the conjunctions that have it, ascending:

    K = 2   p1: 4 7 9     K = 3   p1: 5 8       a conjunction of K is true if it is the current one
            p2: 4 9               p3: 5 6 8     of K lists: of the K smallest, unless they are
                                  p4: 5 8       equal, none below the largest can be

A key is a true predicate, where the reference has an attribute and a value: `not in` must be found
like any other predicate, since here a missing value makes it undefined. Conjunctions are AND nodes
of the dictionary, so each is matched once, whatever the number of expressions that have it; one
predicate alone is its own conjunction.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.engines.face cimport Engine
from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.normal_form cimport NormalForm

cdef struct Segment:            # a predicate's list in one cut
    uint32_t size               # K
    uint32_t first              # postings[first : end]
    uint32_t end

cdef struct Cursor:
    uint32_t node               # the current one
    uint32_t at
    uint32_t end

cdef cppclass KIndex:
    vector[uint32_t] segments_of        # by node of the store, and one more: the first of segments
    vector[Segment] segments
    vector[uint32_t] postings           # AND nodes
    vector[vector[Cursor]] lists        # scratch of a match, by K
    vector[Cursor] taken

# Lists by node, in one array: those of node i are items[first[i] : first[i + 1]].
cdef cppclass Lists:
    vector[uint32_t] first
    vector[uint32_t] items

cdef void index_conjunctions(const NodeStore* store, KIndex* index) noexcept nogil
# Appends the AND nodes that are true if these predicates are; returns how many postings were read.
cdef uint64_t find_conjunctions(
    KIndex* index, const vector[uint32_t]* predicates, vector[uint32_t]* true_nodes
) noexcept nogil
cdef size_t k_index_bytes(const KIndex* index) noexcept nogil

# Inverts lists by slot into lists by node.
cdef void invert(
    const vector[vector[uint32_t]]* by_slot, size_t node_count, Lists* lists
) noexcept nogil

# Counts the conjunctions of a translated expression; far too many are a large number.
cdef double count_conjunctions(const NormalForm* form, uint32_t root) noexcept nogil
# Appends them, each a list of predicates (nodes of the form), ascending and without duplicates.
cdef void translate(
    const NormalForm* form, uint32_t root, vector[vector[uint32_t]]* into
) noexcept nogil

cdef class Translation(Engine):
    cdef readonly uint32_t max_conjunctions
    cdef vector[uint32_t] joined        # conjunctions of the form that is inserted
    cdef KIndex index
    cdef Lists owners                   # slots, by conjunction
    cdef vector[uint32_t] true_nodes

cdef class Conjunctive(Engine):
    """An engine of plain conjunctions: an expression is inserted as all of its own."""
    cdef readonly uint32_t max_conjunctions
    cdef vector[vector[uint32_t]] parts         # of the form that is inserted: its predicates
    cdef vector[vector[uint32_t]] conjunctions  # by number: predicates, ascending
    cdef vector[uint32_t] owner                 # by number: slot, or NOTHING
    cdef vector[uint32_t] free_numbers
    cdef vector[vector[uint32_t]] numbers       # by slot

    cdef int _link(self, uint32_t number) except -1
    cdef int _unlink(self, uint32_t number) except -1
