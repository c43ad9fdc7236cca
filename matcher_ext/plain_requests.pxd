"""Requests in JSON, read from their bytes straight into a visit.

Only plain ones, which most are: a flat visit of names that the catalogue has, no escape in a text,
no attribute twice. Everything else is given back unread, for whoever decodes in general: what is
valid, and what is told to the caller, is decided there alone.
"""
cimport cython
from libc.stdint cimport int64_t

from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.visit cimport Visit

cdef struct Cursor:
    const char* at
    const char* end                 # of the text, behind which is a NUL

cdef enum Number:
    NO_NUMBER
    WHOLE
    FRACTION

cdef class Stamps:
    """Which attributes the exchange says, whatever a visit does: its clock, the publisher."""
    cdef tuple clocks
    cdef str place

@cython.final
cdef class PlainVisit:
    """An object in a body that it keeps alive. What is stamped wins over what the text carries."""
    cdef bytes body
    cdef size_t start
    cdef size_t end
    cdef Stamps stamps              # or None
    cdef str publisher
    cdef int64_t moment

    # Into a cleared visit.
    cdef int read_into(self, CompiledCatalog catalog, Visit* visit) except -1

cdef class PlainRequest:
    cdef readonly PlainVisit visit
    cdef readonly str publisher     # or None
    cdef int64_t limit
    cdef bint has_limit

# None where the general decoder is needed.
cdef PlainRequest read_request(bytes body)
