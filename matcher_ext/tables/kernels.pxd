"""Loops over the bitmaps of a block's rows, compiled for each machine (machine/bitmaps.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from matcher_ext.machine.bitmaps cimport count_ones

cdef extern from * nogil:
    """
    #ifndef TREELINE_TABLE_KERNELS
    #define TREELINE_TABLE_KERNELS
    #include <cstring>
    FOR_EACH_MACHINE
    static uint64_t and_rows(
        uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words
    ) {
        uint64_t any = 0;
        for (uint32_t i = 0; i < words; i++) any |= out[i] = a[i] & b[i];
        return any;
    }
    FOR_EACH_MACHINE
    static void or_rows(uint64_t* a, const uint64_t* b, uint32_t words) {
        for (uint32_t i = 0; i < words; i++) a[i] |= b[i];
    }
    FOR_EACH_MACHINE
    static uint64_t except_rows(
        uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words
    ) {
        uint64_t any = 0;
        for (uint32_t i = 0; i < words; i++) any |= out[i] = a[i] & ~b[i];
        return any;
    }
    FOR_EACH_MACHINE
    static void or_both_rows(
        uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words
    ) {
        for (uint32_t i = 0; i < words; i++) out[i] |= a[i] & b[i];
    }
    FOR_EACH_MACHINE
    static uint64_t count_both(const uint64_t* a, const uint64_t* b, uint32_t words) {
        uint64_t count = 0;
        for (uint32_t i = 0; i < words; i++) count += (uint64_t)__builtin_popcountll(a[i] & b[i]);
        return count;
    }
    FOR_EACH_MACHINE
    static uint64_t count_except(const uint64_t* a, const uint64_t* b, uint32_t words) {
        uint64_t count = 0;
        for (uint32_t i = 0; i < words; i++) count += (uint64_t)__builtin_popcountll(a[i] & ~b[i]);
        return count;
    }
    // Carries failures on: rows that fail once or more, and twice or more. Says if any has not
    // failed twice.
    FOR_EACH_MACHINE
    static uint64_t add_failures(
        uint64_t* once, uint64_t* twice, const uint64_t* rows, const uint64_t* truth, uint32_t words
    ) {
        uint64_t left = 0;
        for (uint32_t i = 0; i < words; i++) {
            uint64_t failed = rows[i] & ~truth[i];
            twice[i] |= once[i] & failed;
            once[i] |= failed;
            left |= rows[i] & ~twice[i];
        }
        return left;
    }
    // Adds the rows whose rank is first to last, both included; ranks have 64 places a word.
    FOR_EACH_MACHINE
    static void or_ranks(
        uint64_t* out, const uint16_t* ranks, uint16_t first, uint16_t last, uint32_t words
    ) {
        uint16_t width = (uint16_t)(last - first);
        for (uint32_t w = 0; w < words; w++, ranks += 64) {
            uint8_t is_in[64];
            for (int i = 0; i < 64; i++) is_in[i] = (uint16_t)(ranks[i] - first) <= width;
            uint64_t bits = 0;
            for (int i = 0; i < 8; i++) {
                uint64_t eight;
                std::memcpy(&eight, is_in + 8 * i, 8);
                bits |= (eight * 0x0102040810204080ULL >> 56) << (8 * i);
            }
            out[w] |= bits;
        }
    }
    #endif
    """
    # Each says with a word other than 0 that a row is left.
    uint64_t and_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t except_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    void or_rows(uint64_t* a, const uint64_t* b, uint32_t words)
    void or_both_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t count_both(const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t count_except(const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t add_failures(
        uint64_t* once, uint64_t* twice, const uint64_t* rows, const uint64_t* truth, uint32_t words
    )
    void or_ranks(
        uint64_t* out, const uint16_t* ranks, uint16_t first, uint16_t last, uint32_t words
    )


cdef inline uint64_t count_rows(const uint64_t* a, uint32_t words) noexcept nogil:
    return count_ones(a, words)
