"""Reads from a tape what an eligibility request asks for.

Every option that the endpoint documents. A request that the endpoint refuses is given back, and so
is one that names a member twice: the general decoder finds the words, or takes the last.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.requests.json_tape cimport Tape

cdef enum:
    # These are as in exchange/serving/answers.py; a test holds them together.
    MOST_LIMIT = 10_000
    MOST_CAMPAIGNS = 10_000

cdef cppclass Wanted:
    """What of a match the caller wants to be told."""
    int64_t limit               # -1: everything
    bint has_campaigns
    vector[int64_t] campaigns   # ascending; all others are left out
    bint by_campaign            # the order; else by net CPM
    bint has_paths

cdef cppclass Asked:
    uint32_t visit              # token, or NOTHING: exactly one of the two
    uint32_t bid_request
    uint32_t publisher          # token, or NOTHING
    Wanted wanted

# Reads a request at this place. False: it is given back.
cdef bint read_asked(const Tape* tape, uint32_t place, Asked* asked) noexcept nogil
