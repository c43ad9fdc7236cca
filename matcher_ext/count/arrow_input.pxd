"""What the snapshot's batch calls take and give: Arrow batches, group codes, numpy arrays."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

cdef object to_numpy(vector[int64_t]* values)

cdef class IdBuffer:
    """Ids of many visits, one behind another."""
    cdef int64_t* ids
    cdef size_t size
    cdef size_t room

    # Room for more ids.
    cdef int64_t* take(self, size_t count) except? NULL nogil
    # After so many of a batch's rows, before which there were so many ids: room for what the others
    # are likely to need, if it can be had: what is not written to costs nothing.
    cdef void expect(self, size_t before, int64_t done, int64_t rows) noexcept nogil
    # False: there is not so much memory, and nothing changed.
    cdef bint grow(self, size_t room) noexcept nogil
    cdef object to_numpy(self)
