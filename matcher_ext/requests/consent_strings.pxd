"""Reads consent strings of the transparency framework (TCF, version 2): purposes and vendors.

As `targeting/openrtb/tcf.py` reads them; a test holds the two together.
"""
from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

cdef cppclass Consent:
    vector[int64_t] purposes
    vector[int64_t] vendors

# Reads a consent string; False if it is none. Goes through vendors always, because they may be what
# is wrong with it, but lists them only if they are wanted. `content` is memory to work in.
cdef bint read_consent(
    const char* text, size_t length, bint wants_vendors, vector[uint8_t]* content, Consent* consent
) noexcept nogil
# Tells whether all purposes are allowed that personalised ads need.
cdef bint is_allowed(const Consent* consent) noexcept nogil
