"""Hashes of words and bytes, and the order that they give.

A hash is the same in every process, because files hold some. None is meant against attackers: what
has an equal hash is compared in full.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from * nogil:
    """
    #ifndef TREELINE_HASHING
    #define TREELINE_HASHING
    #include <algorithm>
    #include <cstdint>
    // Sorts numbers of nodes by the nodes' hashes. Node: any struct with a `hash`.
    template <class Node>
    static inline void sort_by_hash(uint32_t* first, uint32_t* last, const Node* nodes) {
        std::sort(first, last, [nodes](uint32_t a, uint32_t b) {
            return nodes[a].hash < nodes[b].hash;
        });
    }
    #endif
    """
    void sort_by_hash[Node](uint32_t* first, uint32_t* last, const Node* nodes)

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
