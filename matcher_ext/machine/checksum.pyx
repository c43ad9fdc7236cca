"""Sums words in eight lanes of 64-bit multiplications, so that no step waits for the one before.

Each step of a lane is a bijection of the word it takes, and so is the end in each lane: a file
that differs in one word always has another sum; others, but for one in 2^64.
"""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from matcher_ext.machine.hashing cimport mix

cdef extern from * nogil:
    """
    #include <cstdint>
    #include <cstring>
    static const uint64_t LANE_FACTOR = 0x9E3779B97F4A7C15ull;

    static inline uint64_t add_word(uint64_t lane, uint64_t word) {
        lane = (lane ^ word) * LANE_FACTOR;
        return lane ^ (lane >> 32);
    }

    static inline void sum_blocks(const char* bytes, uint64_t blocks, uint64_t* lanes) {
        uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
        uint64_t e = lanes[4], f = lanes[5], g = lanes[6], h = lanes[7];
        for (uint64_t i = 0; i < blocks; ++i, bytes += 64) {
            uint64_t w[8];
            memcpy(w, bytes, 64);
            a = add_word(a, w[0]); b = add_word(b, w[1]); c = add_word(c, w[2]);
            d = add_word(d, w[3]); e = add_word(e, w[4]); f = add_word(f, w[5]);
            g = add_word(g, w[6]); h = add_word(h, w[7]);
        }
        lanes[0] = a; lanes[1] = b; lanes[2] = c; lanes[3] = d;
        lanes[4] = e; lanes[5] = f; lanes[6] = g; lanes[7] = h;
    }
    """
    void sum_blocks(const char* bytes, uint64_t blocks, uint64_t* lanes)


cdef uint64_t sum_words(const char* bytes, uint64_t size, uint64_t seed) noexcept nogil:
    cdef uint64_t lanes[8]
    cdef char rest[64]
    cdef uint64_t tail = size % 64
    cdef uint64_t total = mix(seed, size)
    cdef int i
    for i in range(8):
        lanes[i] = mix(seed, i)
    sum_blocks(bytes, size // 64, lanes)
    if tail:
        for i in range(64):
            rest[i] = 0
        memcpy(rest, bytes + size - tail, tail)
        sum_blocks(rest, 1, lanes)
    for i in range(8):
        total = mix(total, lanes[i])
    return total
