"""Hashes of words and bytes.

A hash is the same in every process, because files hold some. None is meant against attackers: what
has an equal hash is compared in full.
"""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef inline uint64_t mix(uint64_t value, uint64_t word) noexcept nogil:
    """Takes a word into a hash: one step, the finaliser of splitmix64."""
    value = (value ^ word) + 0x9E3779B97F4A7C15ULL
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL
    return value ^ (value >> 31)

cdef inline uint64_t hash_bytes(const char* text, size_t length) noexcept nogil:
    """Hashes a text, 8 bytes a step."""
    cdef uint64_t value = length
    cdef uint64_t chunk
    cdef size_t i = 0
    while i + 8 <= length:
        memcpy(&chunk, text + i, 8)
        value = mix(value, chunk)
        i += 8
    chunk = 0
    if i < length:
        memcpy(&chunk, text + i, length - i)
        value = mix(value, chunk)
    return value
