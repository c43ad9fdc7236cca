"""Reads attributes whose values stand in a bid request as they are, or are the first value of some
paths in another form."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.requests.bid_sources cimport BidReader, BidReading, Source
from matcher_ext.requests.json_tape cimport Tape
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport Visit

# Finds the values at the end of a path from the request on, as if it had this impression only.
cdef void walk_request(
    const Tape* tape, uint32_t imp, const BidReading* reading, const vector[string]* path,
    vector[uint32_t]* found
) noexcept nogil
# Finds the first value of a source's paths, the best path first, or NOTHING.
cdef uint32_t find_first(
    const Source* source, const Tape* tape, uint32_t imp, BidReading* reading
) noexcept nogil
# Reads a value as it stands there. False: the request is given back.
cdef bint read_plain(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1
cdef bint read_first(
    BidReader reader, const CatalogTable* table, const Source* source, const Tape* tape,
    uint32_t imp, BidReading* reading, Visit* visit, int64_t moment
) except -1
