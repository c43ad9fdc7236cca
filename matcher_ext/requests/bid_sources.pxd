"""Keeps where the attributes of a catalogue stand in a bid request, and what reading one leaves
behind."""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.values.catalog cimport CompiledCatalog

cdef enum Reader:           # how an attribute is read
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
    vector[uint32_t] inner          # values at the end of a path from such a value on
    vector[Note] notes              # about the impression that was read last
    string imp_id                   # of that impression
    string text                     # a text that is being put together
    vector[uint8_t] consent         # bytes of the consent string

cdef class BidReader:
    """Where the attributes of a catalogue come from. Immutable."""
    cdef readonly CompiledCatalog catalog
    cdef vector[Source] sources
    cdef dict countries             # by two letters, as bytes
    cdef object name_country        # for what is not two or three plain letters
    cdef vector[string] deprecated  # names of attributes ..
    cdef vector[uint32_t] deprecated_numbers
