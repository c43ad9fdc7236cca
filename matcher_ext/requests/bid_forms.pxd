"""Reads attributes that are put together from several values of a bid request. A reader that
answers False gives the request back."""
from libc.stdint cimport uint32_t

from matcher_ext.requests.bid_sources cimport BidReading, Source
from matcher_ext.requests.json_tape cimport Tape
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport Visit

cdef void read_channel(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t request, Visit* visit
) noexcept nogil
cdef bint read_media_types(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t imp, Visit* visit
) except -1
cdef bint read_sizes(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1
cdef bint is_floor_in_dollars(const Tape* tape, uint32_t imp) except -1
cdef bint read_floor(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t imp, Visit* visit
) except -1
cdef bint read_location(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t request, Visit* visit
) except -1
cdef bint read_browser(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1
cdef bint read_segments(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1
cdef bint read_chain(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1
cdef bint read_consents(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1
