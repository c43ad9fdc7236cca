"""From the bytes of a plain request to the bytes of its answer, in one call.

Compiled because it is what an ad server's request waits for: between system calls a processor runs
code that it has not just run several times slower, and a step in Python is a lot of code.
"""
from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from matcher_ext.items cimport Frame, Items, answer
from matcher_ext.overlay cimport Overlay
from matcher_ext.plain_requests cimport PlainRequest, Stamps
from matcher_ext.plain_requests import NotPlainError
from matcher_ext.snapshot cimport Snapshot

cdef enum:
    NO_LIMIT = -1


cdef class PlainAnswers:
    def __init__(
        self, Snapshot snapshot not None, Items below not None, Items beside, Overlay overlay,
        Frame frame not None, double read_at_seconds, Stamps stamps not None, int64_t most,
    ):
        self.snapshot, self.below, self.beside, self.overlay = snapshot, below, beside, overlay
        self.frame, self.read_at_seconds = frame, read_at_seconds
        self.stamps, self.most = stamps, most

    cdef tuple _answer(
        self, PlainRequest request, object publishers, double now_seconds, bint keeps_ids
    ):
        cdef size_t limit = <size_t>NO_LIMIT
        if request.has_limit:
            if not 1 <= request.limit <= self.most:
                return None
            limit = <size_t>request.limit
        if request.publisher is None and len(publishers) == 1:
            request.publisher, = publishers
        if request.publisher not in publishers:
            return None
        request.visit.stamps = self.stamps
        request.visit.publisher = request.publisher
        request.visit.moment = <int64_t>(now_seconds * 1000)
        try:
            return answer(
                self.snapshot, self.below, self.beside, self.overlay, request.visit, limit,
                keeps_ids, self.frame, max(now_seconds - self.read_at_seconds, 0.0),
            )
        except NotPlainError:
            return None


cdef double read_clock() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + now.tv_nsec * 1e-9
