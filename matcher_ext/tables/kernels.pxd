"""Joins and tests bitmaps of a block's rows, in loops compiled for each machine
(machine/bitmaps.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from matcher_ext.machine.bitmaps cimport count_ones

cdef extern from * nogil:
    """
    #ifndef TREELINE_TABLE_KERNELS
    #define TREELINE_TABLE_KERNELS
    #include <cstring>
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <immintrin.h>
    #define TREELINE_BY_HAND
    #endif
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
    static void join_rows(
        uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words
    ) {
        for (uint32_t i = 0; i < words; i++) out[i] = a[i] | b[i];
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
    static uint64_t carry_failures(
        uint64_t* once, uint64_t* twice, const uint64_t* once_before,
        const uint64_t* twice_before, const uint64_t* rows, const uint64_t* truth, uint32_t words
    ) {
        uint64_t left = 0;
        for (uint32_t i = 0; i < words; i++) {
            uint64_t failed = rows[i] & ~truth[i], before = once_before[i];
            uint64_t again = twice_before[i] | (before & failed);
            twice[i] = again;
            once[i] = before | failed;
            left |= rows[i] & ~again;
        }
        return left;
    }
    static inline uint64_t add_failures(
        uint64_t* once, uint64_t* twice, const uint64_t* rows, const uint64_t* truth, uint32_t words
    ) {
        return carry_failures(once, twice, once, twice, rows, truth, words);
    }
    // Adds those of the rows that are known and not true; says if one of the rows is left.
    FOR_EACH_MACHINE
    static uint64_t add_false(
        uint64_t* out, const uint64_t* rows, const uint64_t* known, const uint64_t* truth,
        uint32_t words
    ) {
        uint64_t left = 0;
        for (uint32_t i = 0; i < words; i++) {
            out[i] |= rows[i] & known[i] & ~truth[i];
            left |= rows[i] & ~out[i];
        }
        return left;
    }
    // Adds the rows whose rank is first to last, both included; ranks have 64 places a word.
    static void or_ranks_plain(
        uint64_t* out, const uint16_t* ranks, uint16_t first, uint16_t width, uint32_t words
    ) {
        for (uint32_t w = 0; w < words; w++, ranks += 64) {
            uint64_t bits = 0;
            for (int i = 0; i < 64; i++)
                bits |= (uint64_t)((uint16_t)(ranks[i] - first) <= width) << i;
            out[w] |= bits;
        }
    }
    #ifdef TREELINE_BY_HAND
    // 32 ranks at a time: what is left of the smaller one of a rank and the width is the rank.
    __attribute__((target("avx2")))
    static uint64_t half_of_ranks(const uint16_t* ranks, __m256i low, __m256i width) {
        __m256i a = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i*)ranks), low);
        __m256i b = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i*)(ranks + 16)), low);
        a = _mm256_cmpeq_epi16(_mm256_min_epu16(a, width), a);
        b = _mm256_cmpeq_epi16(_mm256_min_epu16(b, width), b);
        __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);
        return (uint32_t)_mm256_movemask_epi8(both);
    }
    __attribute__((target("avx2")))
    static void or_ranks_wide(
        uint64_t* out, const uint16_t* ranks, uint16_t first, uint16_t width, uint32_t words
    ) {
        __m256i low = _mm256_set1_epi16((short)first), most = _mm256_set1_epi16((short)width);
        for (uint32_t w = 0; w < words; w++, ranks += 64)
            out[w] |= half_of_ranks(ranks, low, most)
                | half_of_ranks(ranks + 32, low, most) << 32;
    }
    #endif
    static inline void or_ranks(
        uint64_t* out, const uint16_t* ranks, uint16_t first, uint16_t last, uint32_t words
    ) {
    #ifdef TREELINE_BY_HAND
        if (__builtin_cpu_supports("avx2")) {
            or_ranks_wide(out, ranks, first, (uint16_t)(last - first), words);
            return;
        }
    #endif
        or_ranks_plain(out, ranks, first, (uint16_t)(last - first), words);
    }
    #endif
    """
    # Each says with a word other than 0 that a row is left.
    uint64_t and_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t except_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    void or_rows(uint64_t* a, const uint64_t* b, uint32_t words)
    void join_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    void or_both_rows(uint64_t* out, const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t count_both(const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t count_except(const uint64_t* a, const uint64_t* b, uint32_t words)
    uint64_t add_failures(
        uint64_t* once, uint64_t* twice, const uint64_t* rows, const uint64_t* truth, uint32_t words
    )
    uint64_t carry_failures(
        uint64_t* once, uint64_t* twice, const uint64_t* once_before, const uint64_t* twice_before,
        const uint64_t* rows, const uint64_t* truth, uint32_t words
    )
    uint64_t add_false(
        uint64_t* out, const uint64_t* rows, const uint64_t* known, const uint64_t* truth,
        uint32_t words
    )
    void or_ranks(
        uint64_t* out, const uint16_t* ranks, uint16_t first, uint16_t last, uint32_t words
    )


cdef inline uint64_t count_rows(const uint64_t* a, uint32_t words) noexcept nogil:
    return count_ones(a, words)
