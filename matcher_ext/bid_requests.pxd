"""Bid requests (OpenRTB 2.6), read from a tape straight into one visit per impression.

`exchange/serving/openrtb.py` says what each attribute is; this is the same, compiled, and a test
holds the two together. What only Python can say (how a fraction reads as text, say) is given back.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.json_tape cimport Tape
from matcher_ext.visit cimport Visit

cdef enum:
    MOST_IMPS = 25          # that are answered in one go; more are answered in steps, in general

cdef enum Reader:           # of an attribute
    PLAIN                   # the values that stand there
    NAMED_NUMBERS           # numbers that have names
    ADDRESS                 # without its query
    LANGUAGE                # without its region
    LOWERED
    SEGMENTS
    CHANNEL
    MEDIA_TYPES
    SIZES
    FLOOR
    FLAG
    VIDEO_START
    BROWSER
    COUNTRY
    LOCATION
    AGE
    CONSENT
    PURPOSES
    VENDORS
    SELLERS
    CHAIN_LENGTH

cdef cppclass Source:
    uint32_t attribute
    Reader reader
    vector[vector[string]] paths
    vector[string] keys             # NAMED_NUMBERS: numbers or texts, as JSON writes them ..
    vector[string] names            # .. and what they are called

cdef struct Note:
    const char* code
    const char* attribute

cdef cppclass BidReading:
    """The memory of one bid request's reading at a time."""
    uint32_t request                # token
    vector[uint32_t] imps           # tokens
    vector[uint32_t] found          # values at the end of a path
    vector[uint32_t] inner          # the same, of a part of one
    vector[Note] notes              # about the impression that was read last
    string imp_id                   # its own
    string text                     # that is being put together
    vector[uint8_t] consent         # bytes of the consent string

cdef class BidReader:
    """Where the attributes of a catalogue come from. Immutable."""
    cdef readonly CompiledCatalog catalog
    cdef vector[Source] sources
    cdef dict countries             # by two letters, as bytes
    cdef object name_country        # for what is not two or three plain letters
    cdef vector[string] deprecated  # names of attributes ..
    cdef vector[uint32_t] deprecated_numbers

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
