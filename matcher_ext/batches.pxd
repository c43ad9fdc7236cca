"""What the snapshot's batch calls take and give: Arrow batches, group codes, numpy arrays."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

cdef object to_numpy(vector[int64_t]* values)
