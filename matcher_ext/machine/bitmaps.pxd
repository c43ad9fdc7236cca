"""Bitmaps in 64-bit words: setting, counting and joining bits, and writing down what the ones say.

The loops are compiled more than once and chosen when the module is loaded: a wheel must run on
every machine, and a machine without a population count needs ten times as long for one.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from * nogil:
    """
    #ifndef TREELINE_BITMAPS
    #define TREELINE_BITMAPS
    #include <cstddef>
    #include <cstdint>
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) \\
        && !defined(__SANITIZE_ADDRESS__)
    #define FOR_EACH_MACHINE __attribute__((target_clones("avx2", "popcnt", "default"), unused))
    #else
    #define FOR_EACH_MACHINE __attribute__((unused))
    #endif
    #define INTO_EACH static inline __attribute__((always_inline))

    static inline uint32_t first_one(uint64_t w) { return (uint32_t)__builtin_ctzll(w); }
    static inline void fetch_line(const void* p) { __builtin_prefetch(p); }
    // Finds the lowest one without a branch; 63 if there is none.
    INTO_EACH uint32_t first_or_last(uint64_t w) {
        return (uint32_t)__builtin_ctzll(w | (uint64_t)1 << 63);
    }

    FOR_EACH_MACHINE
    static void add_words(uint64_t* a, const uint64_t* b, uint32_t words) {
        for (uint32_t i = 0; i < words; i += 8)
            for (uint32_t k = i; k < i + 8; k++) a[k] |= b[k];
    }
    FOR_EACH_MACHINE
    static uint32_t join_words(uint64_t* a, const uint64_t* b, uint32_t words) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < words; i++) {
            a[i] &= b[i];
            count += (uint32_t)__builtin_popcountll(a[i]);
        }
        return count;
    }
    FOR_EACH_MACHINE
    static size_t count_ones(const uint64_t* a, size_t words) {
        size_t count = 0;
        for (size_t i = 0; i < words; i++) count += (size_t)__builtin_popcountll(a[i]);
        return count;
    }

    // Writes at(i) for each one at i. Most words have few: four are written whether they are there
    // or not, which costs less than a wrong guess, until what is left might not have the room.
    template <class Target, class At>
    INTO_EACH void write_ones(
        const uint64_t* bits, size_t words, size_t count, Target* target, At at
    ) {
        size_t written = 0, i = 0;
        for (; i < words && count - written >= 68; i++) {
            uint64_t word = bits[i];
            if (!word) continue;
            Target* next = target + written;
            written += (size_t)__builtin_popcountll(word);
            do {
                for (int k = 0; k < 4; k++, word &= word - 1)
                    next[k] = at(64 * i + first_or_last(word));
                next += 4;
            } while (word);
        }
        for (; i < words; i++)
            for (uint64_t word = bits[i]; word; word &= word - 1)
                target[written++] = at(64 * i + first_one(word));
    }
    FOR_EACH_MACHINE
    static void write_places(
        const uint64_t* bits, size_t words, size_t count, uint32_t* target
    ) {
        write_ones(bits, words, count, target, [](size_t i) { return (uint32_t)i; });
    }
    FOR_EACH_MACHINE
    static void write_steps(
        const uint64_t* bits, size_t words, size_t count, int64_t first,
        const uint32_t* bases, const uint8_t* steps, int64_t* target
    ) {
        write_ones(bits, words, count, target, [=](size_t i) {
            return first + (int64_t)bases[i >> 6] + steps[i];
        });
    }
    FOR_EACH_MACHINE
    static void write_narrow(
        const uint64_t* bits, size_t words, size_t count, int64_t first,
        const uint32_t* ids, int64_t* target
    ) {
        write_ones(bits, words, count, target, [=](size_t i) { return first + (int64_t)ids[i]; });
    }
    FOR_EACH_MACHINE
    static void write_wide(
        const uint64_t* bits, size_t words, size_t count, const int64_t* ids, int64_t* target
    ) {
        write_ones(bits, words, count, target, [=](size_t i) { return ids[i]; });
    }
    #endif
    """
    uint32_t first_one(uint64_t word)
    void fetch_line(const void* p)
    void add_words(uint64_t* a, const uint64_t* b, uint32_t words)
    # Clears the ones of a that b lacks; returns how many ones a has left.
    uint32_t join_words(uint64_t* a, const uint64_t* b, uint32_t words)
    size_t count_ones(const uint64_t* a, size_t words)
    # Each writes down what the `count` ones of a bitmap stand for: their places, or the ids there.
    void write_places(const uint64_t* bits, size_t words, size_t count, uint32_t* target)
    void write_steps(
        const uint64_t* bits, size_t words, size_t count, int64_t first, const uint32_t* bases,
        const uint8_t* steps, int64_t* target,
    )
    void write_narrow(
        const uint64_t* bits, size_t words, size_t count, int64_t first, const uint32_t* ids,
        int64_t* target,
    )
    void write_wide(
        const uint64_t* bits, size_t words, size_t count, const int64_t* ids, int64_t* target
    )


cdef inline bint get_bit(const uint64_t* bits, uint32_t bit) noexcept nogil:
    return bits[bit >> 6] >> (bit & 63) & 1


cdef inline void set_bit(uint64_t* bits, uint32_t bit) noexcept nogil:
    bits[bit >> 6] |= <uint64_t>1 << (bit & 63)


cdef inline void clear_bit(uint64_t* bits, uint32_t bit) noexcept nogil:
    bits[bit >> 6] &= ~(<uint64_t>1 << (bit & 63))


cdef inline void write_masked(uint64_t* word, uint64_t mask, bint truth) noexcept nogil:
    word[0] = word[0] | mask if truth else word[0] & ~mask


cdef inline void fill_bits(
    uint64_t* bits, uint32_t first, uint32_t end, bint truth
) noexcept nogil:
    """Sets or clears the bits first : end."""
    cdef uint64_t head, tail
    cdef uint32_t word, last
    if first >= end:
        return
    word = first >> 6
    last = (end - 1) >> 6
    head = ~<uint64_t>0 << (first & 63)
    tail = ~<uint64_t>0 >> (63 - ((end - 1) & 63))
    if word == last:
        write_masked(&bits[word], head & tail, truth)
        return
    write_masked(&bits[word], head, truth)
    for word in range(word + 1, last):
        bits[word] = ~<uint64_t>0 if truth else 0
    write_masked(&bits[last], tail, truth)
