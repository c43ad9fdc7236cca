"""Finds pairs of bookings that are eligible for the same visits, and counts those visits."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.tables.asking cimport Asker

cdef struct Common:
    int64_t visits
    uint32_t one        # entries
    uint32_t other

# Lists pairs of entries with at least `support` common visits at one publisher or, for entries of
# no publisher, at all of them. Only the rows of one publisher are in memory at a time.
cdef int find_common(Asker* asker, int64_t support, vector[Common]* found) except -1 nogil
