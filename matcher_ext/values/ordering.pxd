"""Sorts operands of predicates and elements of visits, and finds one among sorted ones."""
from libc.stdint cimport int64_t

cdef extern from * nogil:
    """
    #ifndef TREELINE_ORDERING
    #define TREELINE_ORDERING
    #include <algorithm>
    #include <cstdint>
    #include <cstring>

    // Texts are words (offset << 32 | length) with their pool; see spans.pxd.
    struct TextLess {
        const char* left;
        const char* right;
        bool operator()(int64_t a, int64_t b) const {
            uint32_t m = (uint32_t)a, n = (uint32_t)b;
            int order = std::memcmp(left + ((uint64_t)a >> 32), right + ((uint64_t)b >> 32),
                                    m < n ? m : n);
            return order ? order < 0 : m < n;
        }
    };
    static inline void sort_texts(int64_t* first, int64_t* last, const char* pool) {
        std::sort(first, last, TextLess{pool, pool});
    }
    // Finds the lower bound of a text of another pool among sorted texts.
    static inline const int64_t* find_text(const int64_t* first, const int64_t* last,
                                           const char* pool, int64_t text, const char* text_pool) {
        return std::lower_bound(first, last, text, TextLess{pool, text_pool});
    }
    // Sorts floats that are given as their bits; none is NaN.
    static inline void sort_floats(int64_t* first, int64_t* last) {
        std::sort(first, last, [](int64_t a, int64_t b) {
            double x, y;
            std::memcpy(&x, &a, 8);
            std::memcpy(&y, &b, 8);
            return x < y;
        });
    }
    static inline void sort_integers(int64_t* first, int64_t* last) { std::sort(first, last); }
    static inline const int64_t* find_integer(const int64_t* first, const int64_t* last,
                                              int64_t value) {
        return std::lower_bound(first, last, value);
    }
    struct NetworkWords { uint64_t high, low; int64_t prefix; };
    static inline void sort_networks(int64_t* first, int64_t count) {
        NetworkWords* networks = reinterpret_cast<NetworkWords*>(first);
        std::sort(networks, networks + count, [](const NetworkWords& a, const NetworkWords& b) {
            if (a.high != b.high) return a.high < b.high;
            if (a.low != b.low) return a.low < b.low;
            return a.prefix < b.prefix;
        });
    }
    #endif
    """
    void sort_texts(int64_t* first, int64_t* last, const char* pool)
    const int64_t* find_text(
        const int64_t* first, const int64_t* last, const char* pool,
        int64_t text, const char* text_pool,
    )
    void sort_integers(int64_t* first, int64_t* last)
    void sort_floats(int64_t* first, int64_t* last)
    const int64_t* find_integer(const int64_t* first, const int64_t* last, int64_t value)
    void sort_networks(int64_t* first, int64_t count)
