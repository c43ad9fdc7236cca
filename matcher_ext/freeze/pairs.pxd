"""Writes the records that are found by a pair of values, and the table that finds them."""
from matcher_ext.freeze.layout cimport Layout

cdef void put_pairs(Layout* layout) noexcept nogil
