"""What the snapshot's batch calls take and give: Arrow batches, group codes, numpy arrays."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

cdef object to_numpy(vector[int64_t]* values)

cdef class IdBuffer:
    """Ids of many visits, one behind another."""
    cdef int64_t* ids
    cdef size_t size
    cdef size_t room

    cdef int64_t* take(self, size_t count) except? NULL nogil
    cdef object to_numpy(self)
