"""Clues: what a predicate and every value that makes it true have in common.

A predicate that no order of values can answer (a glob, a network, a place ..) still cannot be true
of a value that has none of its clues. So only the predicates under a value's own clues are
candidates, and each is then tested in full: a clue may be wrong about a predicate (two contents of
one hash, the corner of a grid's cell), never about what it leaves out.

    test            clues of the predicate                      clues of the value
    starts with     its text, up to 64 bytes                    its beginnings
    ends with       its text, up to 64 bytes                    its ends
    contains        one of its pieces of 1, 2, 4 or 8 bytes     its pieces of that size
    like            as one of those three: the longest literal
    under           each host                                   the host and what it is under
    all of          one of its values, or two if each is common each element, each two
    only of         each value                                  each element, all of them needed
    count =         the number                                  the number
    in network      each network                                its address, cut to each length
    within, inside  up to four cells of a grid around it        its cell in each grid
    during          cells of the week around each interval      its cell in each grid

A *shape* says how a clue is made (the length, the grid ..); a value makes clues only of the shapes
that some predicate on its attribute has. Negated predicates have the clues of their plain form.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.bitmaps cimport get_bit
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport Predicate, PredicateView
from matcher_ext.visits.visit cimport Visit

cdef enum:
    SHAPE_WORDS = 3         # of 64 shapes each
# Shapes of strings.
    BEGINNING = 0           # and 63 more: one byte, two bytes ..
    ENDING = 64             # the same
    PIECE = 128             # and 3 more: 1, 2, 4, 8 bytes
    HOST = 132
    LONGEST = 64            # bytes of a text that beginnings and ends look at
# Shapes of sets.
    ELEMENT = 0
    SIZE = 1
    EVERY_ELEMENT = 189     # these three are shapes of nothing else
    TWO_ELEMENTS = 190      # made of the clues of two elements
    HALF = 191              # of the clue of an element: some predicate has it in a clue of two
# Shapes of the others: the prefix length of a network; the grid of a place, of a time of the week.
    GRIDS = 25              # of places; each has half the cells' width of the one before
    WEEK_GRIDS = 12         # of times; each has twice the cells' width of the one before
    WEEK_SHIFT = 3          # the finest has cells of 8 minutes

cdef struct Clue:
    uint64_t word
    uint32_t shape

# Appends a predicate's clues. True: any one of them will do. False: it is to be found by each.
cdef bint list_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil
# Says whether a predicate has clues; one without can only be tested.
cdef bint has_clues(PredicateView view, const Predicate* predicate) noexcept nogil
# Appends the clues of a visit's value. Those of EVERY_ELEMENT are for find_every alone.
cdef void find_clues(
    const CatalogTable* table,
    const Visit* visit,
    uint32_t attribute,
    const uint64_t* shapes,
    vector[uint64_t]* clues,
) noexcept nogil
# Appends the clues of all elements, each of which an `only of` must list.
cdef void find_every(
    const CatalogTable* table, const Visit* visit, uint32_t attribute, vector[uint64_t]* clues
) noexcept nogil

cdef inline bint has_shape(const uint64_t* shapes, uint32_t shape) noexcept nogil:
    return get_bit(shapes, shape)
