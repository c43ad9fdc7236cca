"""Reads Arrow through its PyCapsule interface, and hands vectors over to numpy."""
import numpy

from cython cimport view
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libcpp.vector cimport vector

from matcher_ext.machine.large_pages cimport use_large_pages
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.visits.arrow cimport Batch, Stream


def read_groups(groups, group_count):
    """Returns (lines of the answer, codes as a numpy array or None)."""
    if groups is None:
        return 1, None
    codes = numpy.ascontiguousarray(groups, dtype=numpy.int64)
    highest = int(codes.max(initial=-1)) + 1
    lines = highest if group_count is None else int(group_count)
    if highest > lines:
        raise ValueError(f"a group code is {highest - 1}, but group_count is {lines}")
    return lines, codes


def read_batches(CompiledCatalog catalog, source):
    """Yields the batches of a record batch, a table, a reader: whatever speaks Arrow's
    PyCapsules."""
    if hasattr(source, "__arrow_c_array__"):
        yield Batch(catalog, *source.__arrow_c_array__())
    elif hasattr(source, "__arrow_c_stream__"):
        yield from Stream(catalog, source.__arrow_c_stream__())
    else:
        raise TypeError(f"{type(source).__name__} is not an Arrow record batch or table")


cdef object to_numpy(vector[int64_t]* values):
    array = numpy.empty(values.size(), dtype=numpy.int64)
    cdef int64_t[::1] target = array
    if values.size():
        memcpy(&target[0], values.data(), values.size() * sizeof(int64_t))
    return array


cdef class IdBuffer:
    def __dealloc__(self):
        free(self.ids)

    cdef int64_t* take(self, size_t count) except? NULL nogil:
        if self.size + count > self.room and not self.grow(2 * (self.size + count)):
            with gil:
                raise MemoryError
        self.size += count
        return self.ids + self.size - count

    cdef void expect(self, size_t before, int64_t done, int64_t rows) noexcept nogil:
        cdef size_t wanted = before + <size_t>(1.1 * (self.size - before) * rows / done)
        if wanted > self.room:
            self.grow(wanted)

    cdef bint grow(self, size_t room) noexcept nogil:
        """Moves to memory in large pages: what realloc moves page by page stays in small ones."""
        cdef int64_t* grown = <int64_t*>malloc(room * sizeof(int64_t))
        if grown == NULL:
            return False
        use_large_pages(grown, room * sizeof(int64_t))
        if self.size:
            memcpy(grown, self.ids, self.size * sizeof(int64_t))
        free(self.ids)
        self.ids = grown
        self.room = room
        return True

    cdef object to_numpy(self):
        """Returns the ids without a copy; the array takes the buffer over."""
        cdef view.array ids
        if self.size == 0:
            return numpy.empty(0, dtype=numpy.int64)
        ids = <int64_t[:self.size]>self.ids
        ids.callback_free_data = free
        self.ids = NULL
        return numpy.asarray(ids)
