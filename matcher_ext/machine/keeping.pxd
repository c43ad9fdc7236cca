"""Puts values into containers where memory may end: MemoryError, instead of the end of the process.

What Cython writes for `map[key] = value`, `vector.assign` and `=` between containers lets C++
exceptions pass.
"""

cdef extern from * nogil:
    """
    #ifndef TREELINE_KEEPING
    #define TREELINE_KEEPING
    #include <cstddef>
    #include <new>
    template <class Map, class Key, class Number>
    static inline void put_number(Map& to, const Key& key, Number number) { to[key] = number; }
    template <class Map, class Key, class Number>
    static inline void add_number(Map& to, const Key& key, Number number) { to[key] += number; }
    template <class Value>
    static inline void copy_value(Value& to, const Value& from) { to = from; }
    template <class Vector, class Value>
    static inline void fill_vector(Vector& to, size_t count, Value value) {
        to.assign(count, static_cast<typename Vector::value_type>(value));
    }
    template <class Vector>
    static inline bool try_to_clear(Vector& to, size_t count) noexcept {
        try { to.assign(count, 0); } catch (const std::bad_alloc&) { return false; }
        return true;
    }
    #endif
    """
    void put_number[Map, Key, Number](Map& to, const Key& key, Number number) except +
    void add_number[Map, Key, Number](Map& to, const Key& key, Number number) except +
    void copy_value[Value](Value& to, const Value& source) except +
    # Makes a vector of so many equal values.
    void fill_vector[Vector, Value](Vector& to, size_t count, Value value) except +
    # Makes one of zeros where nobody can take an exception; says if there was memory.
    bint try_to_clear[Vector](Vector& to, size_t count)
