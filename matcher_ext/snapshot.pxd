"""A frozen index: immutable, so any number of threads and processes may match on it at once."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.matching cimport Scratch
from matcher_ext.plan cimport Plan

cdef class ScratchHolder:
    """One thread's memory at a time; taken from the snapshot's pool and given back."""
    cdef Scratch scratch
    cdef vector[int64_t] ids

cdef class Snapshot:
    cdef Plan plan
    cdef vector[char] owned         # the buffer of a frozen index, or empty
    cdef object mapping             # the memoryview of an opened file, or None
    cdef readonly CompiledCatalog catalog
    cdef list pool                  # of ScratchHolder, idle
    cdef object sorted_ids          # numpy, made when first asked for
    cdef object id_order

    cdef ScratchHolder _take(self)
    cdef ScratchHolder _match(self, visit)
    cdef object _copy_matched(self, ScratchHolder holder)

cdef Snapshot freeze_buffer(CompiledCatalog catalog, vector[char]* buffer)
