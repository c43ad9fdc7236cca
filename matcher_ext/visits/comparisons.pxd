"""Compares one known value with the operands of one canonical predicate, type by type.

Negation and missing values are the caller's (predicate_tests.pxd): here everything is true or
false.
"""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.values.predicate cimport Predicate, PredicateView

# Tests Booleans, integers and time stamps.
cdef bint test_number(
    const Predicate* predicate, const int64_t* words, int64_t value
) noexcept nogil
cdef bint test_float(
    const Predicate* predicate, const int64_t* words, double value
) noexcept nogil
# Tests a text, which is a word with its pool (spans.pxd).
cdef bint test_string(
    PredicateView view, const Predicate* predicate, const char* pool, int64_t value
) noexcept nogil
cdef bint has_text(
    PredicateView view, const Predicate* predicate, const char* pool, int64_t text
) noexcept nogil
cdef bint test_schedule(const int64_t* pairs, uint32_t count, int64_t minute) noexcept nogil
cdef double distance_km(double lat1, double lon1, double lat2, double lon2) noexcept nogil
cdef bint is_inside(
    const int64_t* words, uint32_t count, double latitude, double longitude
) noexcept nogil
