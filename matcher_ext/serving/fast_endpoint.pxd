"""Admits, meters, answers and counts the requests of known callers.

Anything that is to be refused is given back untouched, and Python decides on it: what is refused,
and in which words, is never decided here.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.requests.json_tape cimport Cursor
from matcher_ext.serving.state_answers cimport StateAnswers, Workplace

cdef class Pass:
    """A caller as its requests meet it. Changed by requests, one at a time: under the GIL."""
    cdef readonly str key_hash
    cdef readonly object publishers     # a frozenset of names
    cdef readonly double expires_at_seconds
    cdef readonly bint may_ask
    cdef public double used_at_seconds  # 0: not yet

cdef class Bucket:
    """Tokens that fill up with time. A full bucket gives more than it holds, on credit.
    Changed under the GIL."""
    cdef double per_second
    cdef double burst
    cdef double tokens
    cdef double at_seconds              # of the monotonic clock

    cdef double _take(self, double count) noexcept
    cdef double _lacking(self, double count) noexcept

cdef class Times:
    """A histogram's buckets and their sum, until they are taken from it under the GIL."""
    cdef vector[double] bounds
    cdef vector[uint64_t] counts        # of amounts up to each bound, and of what is above
    cdef double seconds

    cdef int _add(self, double seconds) except -1

cdef class Counts:
    """The counts of requests that were answered here."""
    cdef Times latency
    cdef Times match_time
    cdef uint64_t requests
    cdef uint64_t matches
    cdef uint64_t has_unknown           # visits with a name that the catalogue does not have
    cdef dict malformed                 # by attribute: visits with a value of a wrong type

    cdef int _add(self, Workplace work, double seconds) except -1

cdef class Batch:
    """Many requests of one body against one state, answered one after another. For one caller's
    thread at a time."""
    cdef StateAnswers answers
    cdef object publishers
    cdef bytes body                     # which the tape refers to
    cdef double now
    cdef double started
    cdef Workplace work
    cdef Cursor cursor                  # behind the requests that were read
    cdef readonly bint is_read          # all of the body; what follows needs that
    cdef readonly uint32_t count
    cdef readonly uint32_t left
    cdef readonly uint64_t asked_visits  # of all requests
    cdef uint32_t most                  # requests
    cdef uint32_t place                 # token of the next one
    cdef uint32_t most_bytes            # of a request
    cdef size_t heading_size            # bytes before the first answer
    cdef uint64_t further_visits        # that were answered elsewhere

    cdef bint _read(self, double seconds) except -1
    cdef uint64_t _count_visits(self) noexcept
    cdef uint64_t _measure(self) noexcept
    cdef bytes _next(self)
    cdef int _begin_next(self) except -1
    cdef bytes _copy(self, uint32_t place)
