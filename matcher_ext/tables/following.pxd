"""Takes the bookings of an index apart for steps.pxd, and names what they consist of."""
from libc.stdint cimport int64_t

from matcher_ext.tables.bound_index cimport BoundIndex
from matcher_ext.tables.questions cimport Entry
from matcher_ext.tables.steps cimport Followed

cdef class FollowedBookings:
    """The bookings of some ids; for one call."""
    cdef BoundIndex bound
    cdef Followed followed
    cdef readonly list ids
    cdef list entries               # of the question, by id; -1: true of nothing

    cdef int _add(self, int64_t number) except -1
    cdef int _add_steps(self, const Entry* entry) except -1
