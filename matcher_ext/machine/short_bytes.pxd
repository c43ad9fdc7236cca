"""Compares short texts where they are, eight bytes at a time: names and values of a dozen bytes are
looked at in less time than a call of memcmp takes, which has to find out how long they are."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline bint same_bytes(const char* a, const char* b, size_t length) noexcept nogil:
    """Compares bytes in pieces of a word; the last piece may overlap the one before it."""
    cdef uint64_t difference = 0
    cdef size_t i
    if length < 8:
        return same_few(a, b, length)
    for i in range(0, length - 8, 8):
        difference |= read_eight(a + i) ^ read_eight(b + i)
    difference |= read_eight(a + length - 8) ^ read_eight(b + length - 8)
    return difference == 0


cdef inline bint same_few(const char* a, const char* b, size_t length) noexcept nogil:
    cdef char difference = 0
    cdef size_t i
    if length >= 4:
        return read_four(a) == read_four(b) and read_four(a + length - 4) == read_four(
            b + length - 4
        )
    for i in range(length):
        difference |= a[i] ^ b[i]
    return difference == 0


cdef inline uint64_t read_eight(const char* text) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, text, 8)
    return word


cdef inline uint32_t read_four(const char* text) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, text, 4)
    return word
