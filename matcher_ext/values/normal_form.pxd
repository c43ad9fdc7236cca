"""The normal form of expressions: what the index takes.

It has node kinds of its own, without negation, so that "no not after normalisation" is a fact of
the types. It is exact in Kleene's logic (true, false AND undefined), so it also serves definitions
that are used under `not`. TRUE and FALSE occur only as a root.

`normalise` (normal.pxd) appends one root to `roots`; `normalise_texts` parses and appends many. One
form takes any number of expressions; `clear_form` keeps the memory for the next ones.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.values.predicate cimport Predicate, PredicateView
from matcher_ext.values.spans cimport Span

cdef enum NormalKind:
    NORMAL_PREDICATE    # first: index into predicates
    NORMAL_REFERENCE    # first: index into names; negated: `not @name`
    NORMAL_AND          # children: edges[first : first + count], two or more, sorted by (hash,
    NORMAL_OR           #   content), no duplicates; an AND never has an AND child, nor an OR an OR
    NORMAL_TRUE
    NORMAL_FALSE

cdef struct NormalNode:
    uint64_t hash       # of the content: equal content has equal hash in every process that uses
    uint32_t first      #   the same catalogue; equal hash says nothing, compare with node_equal
    uint32_t count
    uint8_t kind        # NormalKind
    uint8_t negated     # references only
    uint32_t part       # AND: a node that is the AND of some of its children and that others may
                        #   share; or NOTHING

cdef cppclass NormalForm:
    vector[NormalNode] nodes    # children before parents; a few may be reached from no root
    vector[uint32_t] edges
    vector[Predicate] predicates
    vector[int64_t] words
    vector[char] bytes
    vector[Span] names          # of references, spans of bytes
    vector[uint32_t] roots      # one per expression; NOTHING where the text had problems

cdef void clear_form(NormalForm* form) noexcept nogil
# Compares all that stands below two nodes, and themselves. It walks the forms as trees, which
# nested xors make exponential: whoever shares nodes compares level by level, bottom up.
cdef bint node_equal(
    const NormalForm* left, uint32_t a, const NormalForm* right, uint32_t b
) noexcept nogil

cdef inline PredicateView view_predicates(const NormalForm* form) noexcept nogil:
    cdef PredicateView view
    view.predicates = form.predicates.data()
    view.words = form.words.data()
    view.bytes = form.bytes.data()
    return view
