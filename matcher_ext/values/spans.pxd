"""Texts as spans of a pool of bytes, so that arrays of texts have no pointers.

A span is two 32-bit numbers; where a text stands among other 64-bit values it is one word,
`offset << 32 | length`. Texts are UTF-8 and are ordered by their bytes, which is by code points.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp

cdef struct Span:
    uint32_t offset
    uint32_t length

cdef inline uint32_t text_offset(int64_t word) noexcept nogil:
    return <uint32_t>(<uint64_t>word >> 32)

cdef inline uint32_t text_length(int64_t word) noexcept nogil:
    return <uint32_t>word

cdef inline int64_t text_word(uint32_t offset, uint32_t length) noexcept nogil:
    return <int64_t>(<uint64_t>offset << 32 | length)

cdef inline bint span_equal(const char* left, Span a, const char* right, Span b) noexcept nogil:
    return a.length == b.length and memcmp(left + a.offset, right + b.offset, a.length) == 0

cdef inline int compare_text(
    const char* left, int64_t a, const char* right, int64_t b
) noexcept nogil:
    """Orders two texts, each a word with its pool: negative, 0, positive."""
    cdef uint32_t m = text_length(a)
    cdef uint32_t n = text_length(b)
    cdef int order = memcmp(left + text_offset(a), right + text_offset(b), min(m, n))
    if order != 0:
        return order
    return (m > n) - (m < n)
