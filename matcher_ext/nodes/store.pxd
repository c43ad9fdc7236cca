"""The nodes of a dynamic index: one per distinct predicate, reference and subexpression.

    entries ---> roots --\
                          +--> nodes --links--> nodes .. --> predicates | definitions
    definitions -> roots-/

A node is found by its content's hash and then compared in full (the paper's expression-to-node
table, section 4.2.1, without its trust in the hash). `uses` counts the actual links to a node:
from parents, entries and definitions. A node without uses is removed and its number is used again.

A *part* (NormalNode.part) is an AND that a root has in parentheses beside references, as a booking
has its campaign: a node of its own, so that all bookings of a campaign link to one. The root's
identity is still what all of it flattens to, so that parentheses mean nothing.

Options (reorganise.pxd). A node's links may then lead to nodes of its own kind, which stand for
several of its expression's children: its identity is what they flatten to, and such a node stays
for as long as anybody links to it. Without sharing, every node is made anew.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR
from matcher_ext.values.predicate cimport Predicate, PredicateView
from matcher_ext.values.spans cimport Span

cdef struct StoredNode:
    uint64_t hash
    uint32_t first      # and, or: links[first : first + count]; predicate; definition
    uint32_t count
    uint32_t uses       # 0: the number is free
    uint8_t kind        # NormalKind
    uint8_t negated     # references only
    uint8_t nesting     # 0: its links are its expression's children; else levels of its own kind

cdef struct Definition:
    Span name           # in names
    uint32_t root       # node

cdef cppclass NodeStore:
    vector[StoredNode] nodes
    vector[uint32_t] links
    vector[uint32_t] table              # open addressing by hash: node or NOTHING
    vector[uint32_t] free_nodes
    vector[uint32_t] free_predicates
    vector[Predicate] predicates
    vector[float] rates                 # by predicate: measured truth rate, or -1
    vector[int64_t] words
    vector[char] bytes
    vector[Definition] definitions
    vector[uint32_t] name_table         # open addressing by name: definition or NOTHING
    vector[char] names
    uint32_t live                       # nodes in use
    uint64_t live_links                 # of them; the rest of `links` is waste
    uint64_t dead_words                 # of removed predicates: waste ..
    uint64_t dead_bytes                 # .. like theirs
    # options
    bint sharing
    bint reorganise                     # algorithm 2
    bint self_adjust                    # algorithm 3
    uint32_t search_cap                 # nodes that each of them looks at
    vector[vector[uint32_t]] parents    # by node, some of them; with reorganise or self_adjust
    # scratch of one call
    vector[uint32_t] marks              # by node: the stamp of the set that it is in
    uint32_t stamp
    vector[uint32_t] memo               # node of the form -> node, or NOTHING
    vector[uint32_t] pending

cdef inline bint is_inner(uint8_t kind) noexcept nogil:
    return kind == NORMAL_AND or kind == NORMAL_OR

cdef inline PredicateView view_store(const NodeStore* store) noexcept nogil:
    cdef PredicateView view
    view.predicates = store.predicates.data()
    view.words = store.words.data()
    view.bytes = store.bytes.data()
    return view
