"""Reads what the snapshot's batch calls take, Arrow batches and group codes; makes numpy arrays."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

cdef object to_numpy(vector[int64_t]* values)

cdef class IdBuffer:
    """Ids of many visits, one behind another."""
    cdef int64_t* ids
    cdef size_t size
    cdef size_t room

    # Makes room for more ids and takes it.
    cdef int64_t* take(self, size_t count) except? NULL nogil
    # Makes room, if it can be had, for what the rest of a batch is likely to need, after `done` of
    # its
    # rows, before which there were `before` ids: what is not written to costs nothing.
    cdef void expect(self, size_t before, int64_t done, int64_t rows) noexcept nogil
    # Grows to that room; False, with nothing changed, if there is not so much memory.
    cdef bint grow(self, size_t room) noexcept nogil
    cdef object to_numpy(self)
