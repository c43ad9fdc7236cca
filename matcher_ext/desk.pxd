"""What happens to a plain request of a known caller: admitted, metered, answered, counted.

Anything out of the ordinary is given back untouched, and Python decides on it: what is refused, and
in which words, is never decided here.
"""
from libc.stdint cimport int64_t, uint64_t
from libcpp.vector cimport vector

cdef class Pass:
    """A caller as its requests meet it. Changed by requests, one at a time: under the GIL."""
    cdef readonly str key_hash
    cdef readonly object publishers     # a frozenset of names
    cdef readonly double expires_at_seconds
    cdef readonly bint may_ask
    cdef public double used_at_seconds  # 0: not yet

cdef class Bucket:
    """Tokens that fill up with time; more than a full bucket is given to a full one, on credit.
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

cdef class Unfinished:
    """What PlainAnswers gave of a request that was admitted, but is not counted yet."""
    cdef readonly bytes text
    cdef readonly object count
    cdef readonly tuple malformed
    cdef readonly object ids
    cdef readonly object paths
    cdef readonly str publisher
    cdef readonly object limit          # or None
    cdef readonly double match_seconds
    cdef readonly bint is_sampled

cdef class Counts:
    """Of requests that were answered here."""
    cdef Times latency
    cdef Times match_time
    cdef uint64_t requests
    cdef uint64_t matches
