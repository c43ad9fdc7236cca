"""Internet addresses and networks, as texts and as 128 bits."""
from libc.stdint cimport int64_t, uint64_t

cdef enum Reading:
    READ_OK
    READ_BAD
    READ_HOST_BITS      # a network with bits set beyond its prefix

cdef struct Address:    # 128 bits; v4 is mapped to ::ffff:a.b.c.d
    uint64_t high
    uint64_t low

cdef bint read_address(const char* text, size_t length, Address* address) noexcept nogil
cdef Reading read_network(
    const char* text, size_t length, Address* address, int64_t* prefix
) noexcept nogil
cdef bint in_network(Address address, Address network, int64_t prefix) noexcept nogil
