"""Writes what matching runs: slots, records and streams (plan.pxd), one after another."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.layout cimport Layout
from matcher_ext.routes.route_section cimport RouteSpec

# Comes before all else, so that the first entries are those of direct terminals.
cdef void put_terminals(Layout* layout) noexcept nogil
# Come in this order: slots, leaf streams, inner streams, records that every visit finds; with those
# of partitions.pyx and pairs.pyx, which come last, they fill RECORDS without a gap.
cdef void put_slots(Layout* layout, const RouteSpec* spec) noexcept nogil
cdef void put_leaf_streams(Layout* layout) noexcept nogil
cdef void put_inner_streams(Layout* layout) noexcept nogil
cdef void put_always(Layout* layout) noexcept nogil
# Numbers the entries that no visit meets.
cdef void put_other_entries(Layout* layout) noexcept nogil
# Writes the record of an AND that is found through one or two of its children, or NOTHING.
cdef void put_record(
    Layout* layout, uint32_t number, uint32_t without, uint32_t other
) noexcept nogil
# Writes the record of an AND with what its program tests.
cdef void put_tested(
    Layout* layout, uint32_t number, vector[uint32_t]* pulled
) noexcept nogil
