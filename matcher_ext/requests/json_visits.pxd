"""Reads visits in JSON from a tape straight into their typed form.

Any shape that the endpoint documents: flat names, objects in objects, positions, lists. What the
endpoint refuses (too many attributes, names too long, objects too deep) is given back unread, and
so is what would need a second look, an attribute that stands there twice: what is refused, and in
which words, is decided by the general decoder alone.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.requests.json_tape cimport Tape, Text
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport Visit

cdef enum:
    # These are as in exchange/serving/visits.py; a test holds them together.
    MOST_ATTRIBUTES = 500
    MOST_OBJECTS_DEEP = 8
    LONGEST_NAME = 200
    MOST_ELEMENTS = 10_000

cdef class Stamps:
    """The attributes that the exchange sets, whatever a visit says: its clock, the publisher."""
    cdef readonly tuple clocks
    cdef readonly str place
    cdef vector[string] names

cdef struct Followers:
    uint32_t likely             # the last one
    uint32_t other              # the one before it: not every visit carries everything

cdef cppclass Reading:
    """The memory of one visit's reading at a time."""
    vector[uint8_t] seen            # by attribute: stands in the visit, or is stamped
    vector[string] unknown          # names that the catalogue does not have, in no order
    vector[Followers] followers     # by attribute: those that came next the last times ..
    uint32_t last                   # .. after this one: senders have an order of their own
    char[256] name                  # of an attribute inside objects
    uint32_t count
    uint32_t objects                # in objects, as far as they are no attribute's value

# Reads into an empty visit. False: the request is given back, and the visit is of no use.
cdef bint read_json_visit(
    const CatalogTable* table, Stamps stamps, const Tape* tape, uint32_t place, Reading* reading,
    Visit* visit
) except -1
cdef int stamp_visit(
    const CatalogTable* table, Stamps stamps, Visit* visit, Text publisher, int64_t moment
) except -1
# Sets a position from two values, NOTHING where there is none. False: it is given back.
cdef bint set_position(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape,
    uint32_t latitude, uint32_t longitude
) except -1
# Reads one value of an attribute that was not set yet. False: it is given back.
cdef bint read_json_value(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape, uint32_t place
) except -1
