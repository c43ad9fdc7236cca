"""Binds predicates to a table: what a test asks of the dictionary is found once, not per row.

A predicate becomes a few runs of codes. `user.age between 18 and 30` is one, `geo.country in (..)`
one per country that the table has seen; texts are tried on the dictionary. What is not a run, the
shape of a place, keeps its operands.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.values.predicate cimport Predicate, PredicateView

cdef enum How:
    BY_ABSENCE          # the table lacks the column: known of no row
    BY_PRESENCE         # known of all rows
    BY_RUNS             # a value, or an element, lies in a run
    BY_ALL              # every run holds an element
    BY_ONLY             # there are elements, and none outside the runs
    BY_CIRCLE
    BY_POLYGON

cdef struct Codes:
    uint32_t first
    uint32_t end

cdef struct Bound:
    uint32_t column
    uint32_t first              # runs, or shapes
    uint32_t count
    float truth                 # what part of the table's rows it is true of, at most
    uint8_t how                 # How
    uint8_t negated
    uint8_t unused[2]

cdef cppclass Binding:
    """All predicates that somebody asks, bound to one table."""
    vector[Bound] bounds
    vector[Codes] runs          # ascending within a bound, apart
    vector[int64_t] shapes      # float bits, as a predicate has them

# Appends a predicate. `columns`: by attribute of the asker, the table's column or NOTHING.
cdef int bind_predicate(
    const Table* table, const uint32_t* columns, PredicateView view, const Predicate* predicate,
    Binding* binding,
) except -1 nogil
