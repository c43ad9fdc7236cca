"""Bid requests (OpenRTB 2.6), read from a tape straight into one visit per impression.

`targeting/openrtb` says what each attribute is; this is the same, compiled, and a test
holds the two together. What only Python can say (how a fraction reads as text, say) is given back.
"""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.requests.bid_sources cimport BidReader, BidReading
from matcher_ext.requests.json_tape cimport Tape
from matcher_ext.visits.visit cimport Visit

cdef enum:
    MOST_IMPS = 25          # that are answered in one go; more are answered in steps, in general
    MOST_SHARED = 128 << 10  # bytes beside the impressions, read again for each; the same
    MOST_COUNTED = 100      # those beyond are refused, and not asked for

# False: it is given back.
cdef bint read_bid_request(
    BidReader reader, const Tape* tape, uint32_t place, BidReading* reading
) except -1
# Into a visit of no content. False: the whole request is given back.
cdef bint read_impression(
    BidReader reader, const Tape* tape, uint32_t number, BidReading* reading, Visit* visit,
    int64_t moment
) except -1
# How many visits a request is about: the impressions of its bid request, or one.
cdef uint32_t count_visits(const Tape* tape, uint32_t place) noexcept nogil
