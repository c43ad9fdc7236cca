"""The canonical predicate: one test of one attribute, in the form that the whole engine shares.

A store of predicates is three arrays (predicates, words, bytes), so that a mapped file gives a
PredicateView over its own buffer. A predicate is known by its hash and then by a full comparison:
`predicate_hash`, `predicate_equal`; `predicate_copy` moves one into another store.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

cdef enum Type:
    BOOLEAN
    INTEGER
    FLOAT
    TIMESTAMP
    TIMESTAMP_LOCAL
    STRING
    STRING_SET
    INTEGER_SET
    IP
    GEO

cdef enum Truth:
    FALSE
    TRUE
    UNDEFINED

# Canonical tests. `>` is a negated LESS_EQUAL, `!=` a negated EQUAL, `none of` a negated ONE_OF,
# `is missing` a negated PRESENT, a Boolean is EQUAL 1, `ip = x` is IN_NETWORK x/128, `is empty` is
# COUNT_EQUAL 0, integers and timestamps have no LESS except `< -2^63` (which nothing satisfies).
cdef enum Test:
    PRESENT             # no operand; never undefined
    EQUAL               # 1 value: Boolean, integer, float, timestamp, string
    IN                  # 2 or more values, ascending, distinct
    LESS                # 1 value
    LESS_EQUAL          # 1 value
    BETWEEN             # 2 values, lower < upper, both included
    DURING              # pairs (from, to) of minutes of the week, Monday 00:00 = 0, `to` excluded
    STARTS_WITH         # 1 text
    ENDS_WITH
    CONTAINS
    LIKE                # 1 pattern, `*` and `?`
    UNDER               # host names, folded, no trailing dot, ascending, none under another
    ONE_OF              # 1 or more values, ascending, distinct
    ALL_OF              # 2 or more values
    ONLY_OF             # 1 or more values
    COUNT_EQUAL         # 1 integer
    COUNT_LESS_EQUAL    # 1 integer
    IN_NETWORK          # triples (high 64 bits, low 64 bits, prefix length 0..128); v4 is mapped
    WITHIN              # (latitude, longitude, km) as float bits
    INSIDE              # pairs (latitude, longitude) as float bits, 3 points or more

# Operands are 64-bit words, by the attribute's type: Boolean 0/1; integer; float as its bits
# (never NaN, never -0.0); timestamp in milliseconds since 1970 UTC; text as a span (spans.pxd).
# Numbers ascend by value, texts by their bytes. A managed list may be empty: then IN, UNDER,
# ONE_OF, .. have no operand.
cdef struct Predicate:
    uint32_t attribute
    uint32_t first      # words[first : first + count]
    uint32_t count      # words, not values
    uint8_t test        # Test
    uint8_t type        # Type of the attribute
    uint8_t negated     # plain and negated are both undefined exactly when the value is missing
    uint8_t unused

cdef struct PredicateView:
    const Predicate* predicates
    const int64_t* words
    const char* bytes

cdef uint64_t predicate_hash(PredicateView view, const Predicate* predicate) noexcept nogil
cdef bint predicate_equal(
    PredicateView left, const Predicate* a, PredicateView right, const Predicate* b
) noexcept nogil
# Appends a copy to the three arrays of another store and returns its index.
cdef uint32_t predicate_copy(
    PredicateView view,
    const Predicate* predicate,
    vector[Predicate]* predicates,
    vector[int64_t]* words,
    vector[char]* bytes,
) noexcept nogil

cdef inline bint holds_text(uint8_t type, uint8_t test) noexcept nogil:
    """Says whether the words of such a predicate are spans of the pool."""
    return type == STRING and test != PRESENT or (
        type == STRING_SET and (test == ONE_OF or test == ALL_OF or test == ONLY_OF)
    )

cdef inline double float_of(int64_t word) noexcept nogil:
    cdef double value
    memcpy(&value, &word, 8)
    return value

cdef inline int64_t word_of(double value) noexcept nogil:
    value += 0.0        # -0.0 becomes 0.0
    cdef int64_t word
    memcpy(&word, &value, 8)
    return word
