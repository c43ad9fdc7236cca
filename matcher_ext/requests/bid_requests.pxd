"""Reads bid requests (OpenRTB 2.6) from a tape straight into one visit per impression.

`targeting/openrtb` says what each attribute is; this is the same, compiled, and a test
holds the two together. What only Python can say (how a fraction reads as text, say) is given back.
"""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.requests.bid_sources cimport BidReader, BidReading
from matcher_ext.requests.json_tape cimport Tape
from matcher_ext.visits.visit cimport Visit

cdef enum:
    MOST_IMPS = 25          # answered in one go; with more, the request is given back
    MOST_SHARED = 128 << 10  # bytes read for all: those beside the impressions, for each; the same
    MOST_COUNTED = 100      # requests with more are refused, so no token is asked for the rest

# Finds the impressions of a bid request. False: the request is given back.
cdef bint read_bid_request(
    BidReader reader, const Tape* tape, uint32_t place, BidReading* reading
) except -1
# Reads one impression into an empty visit. False: the whole request is given back.
cdef bint read_impression(
    BidReader reader, const Tape* tape, uint32_t number, BidReading* reading, Visit* visit,
    int64_t moment
) except -1
# Counts the visits that a request is about: the impressions of its bid request, or one.
cdef uint32_t count_visits(const Tape* tape, uint32_t place) noexcept nogil
