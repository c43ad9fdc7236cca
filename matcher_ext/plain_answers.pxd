"""From the bytes of a plain request to the bytes of its answer, in one call."""
from libc.stdint cimport int64_t

from matcher_ext.items cimport Frame, Items
from matcher_ext.overlay cimport Overlay
from matcher_ext.plain_requests cimport PlainRequest, Stamps
from matcher_ext.snapshot cimport Snapshot

cdef class PlainAnswers:
    """Of one state: immutable, so any number of threads may ask it."""
    cdef Snapshot snapshot
    cdef Items below
    cdef Items beside
    cdef Overlay overlay
    cdef Frame frame
    cdef double read_at_seconds
    cdef Stamps stamps
    cdef int64_t most

    # (text, count, malformed, ids, paths) as answer_visit, for one of these publishers. None where
    # the general way has to decide: the visit is not plain, its limit is more than `most`, or its
    # publisher is not one of them.
    cdef tuple _answer(
        self, PlainRequest request, object publishers, double now_seconds, bint keeps_ids
    )

cdef double read_clock() noexcept nogil
