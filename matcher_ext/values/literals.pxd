"""Readers of values that are written as text: numbers, time stamps, weekly schedules, hosts.

Shared by the parser (literals) and the visit (values), so that both sides agree.
"""
from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

cdef enum:
    MINUTES_OF_WEEK = 10080

# Reads RFC 3339 as milliseconds since 1970 UTC; finer digits are cut.
cdef bint read_timestamp(const char* text, size_t length, int64_t* ms) noexcept nogil
# Appends pairs (from, to) of minutes of the week, ascending, merged, `to` excluded.
cdef bint read_schedule(const char* text, size_t length, vector[int64_t]* pairs) noexcept nogil
cdef int64_t minute_of_week(int64_t ms, int64_t offset_minutes) noexcept nogil
# Returns the length of a host name without its trailing dot.
cdef size_t host_length(const char* text, size_t length) noexcept nogil
cdef bint is_host(const char* text, size_t length) noexcept nogil
# Reads a float in JSON's grammar; False when it is not finite.
cdef bint read_float(const char* text, size_t length, double* value) noexcept nogil
# Reads an optional sign and digits; False beyond 64 bits.
cdef bint read_integer(const char* text, size_t length, int64_t* value) noexcept nogil

cdef inline bint is_digit(char c) noexcept nogil:
    return c >= c'0' and c <= c'9'

cdef inline bint is_high(char c) noexcept nogil:
    """Says whether a byte is part of a character beyond ASCII."""
    return <uint8_t>c >= 128

cdef inline char fold(char c) noexcept nogil:
    """Lowers an ASCII letter: host names and keywords need no more."""
    return <char>(c + 32) if c >= c'A' and c <= c'Z' else c
