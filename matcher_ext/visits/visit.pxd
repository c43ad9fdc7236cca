"""One visit in typed form, by attribute number.

A value of the wrong type is missing and counted in `malformed`. Values are copied in, nothing of
the caller's is kept. Reuse one Visit for many visits: `clear_visit` touches only what was set.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport (
    BOOLEAN, FLOAT, INTEGER, TIMESTAMP, TIMESTAMP_LOCAL, word_of,
)

cdef struct Value:
    int64_t word        # Boolean, integer, float bits, timestamp ms; text: a span of visit.bytes
    uint32_t first      # sets: visit.words[first : first + count], ascending, distinct (texts are
    uint32_t count      #   spans of visit.bytes); ip: (high, low); geo: (lat, lon) as float bits
    uint8_t known       # 0: missing or malformed

cdef cppclass Visit:
    vector[Value] values            # by attribute number
    vector[uint32_t] carried        # attribute numbers that are known, in no order
    vector[uint32_t] malformed      # attribute numbers that carried a value of the wrong type
    vector[int64_t] words
    vector[char] bytes

cdef void clear_visit(const CatalogTable* table, Visit* visit) noexcept nogil

# Setters check the attribute's type: what does not fit is counted as malformed. A number may go to
# integer, float and timestamp attributes, a text to string, timestamp and ip ones. An attribute is
# set at most once. The commonest are inline: a dict is read by them value by value.
cdef void set_float(
    const CatalogTable* t, Visit* v, uint32_t attribute, double value
) noexcept nogil
cdef void set_text(
    const CatalogTable* t, Visit* v, uint32_t attribute, const char* text, size_t length
) noexcept nogil
cdef void set_point(
    const CatalogTable* t, Visit* v, uint32_t attribute, double latitude, double longitude
) noexcept nogil
# A set is begun, given each element, and ended.
cdef void begin_set(Visit* v, uint32_t attribute) noexcept nogil
cdef void add_integer(Visit* v, uint32_t attribute, int64_t element) noexcept nogil
cdef void add_text(Visit* v, uint32_t attribute, const char* text, size_t length) noexcept nogil
cdef void end_set(const CatalogTable* t, Visit* v, uint32_t attribute) noexcept nogil

# Reads a whole number: 18.0 is 18; False for a fraction and for more than 64 bits.
cdef bint read_whole_double(double value, int64_t* whole) noexcept nogil
# Says whether every required attribute is known. A visit that lacks one matches nothing.
cdef bint has_required(const CatalogTable* table, const Visit* visit) noexcept nogil

cdef inline void set_malformed(Visit* v, uint32_t attribute) noexcept nogil:
    v.malformed.push_back(attribute)

cdef inline void set_word(Visit* v, uint32_t attribute, int64_t word) noexcept nogil:
    """Sets a value whose type was checked."""
    v.values[attribute].word = word
    v.values[attribute].known = 1
    v.carried.push_back(attribute)

cdef inline void set_boolean(
    const CatalogTable* t, Visit* v, uint32_t attribute, bint value
) noexcept nogil:
    if t.attributes[attribute].type == BOOLEAN:
        set_word(v, attribute, value)
    else:
        set_malformed(v, attribute)

cdef inline void set_integer(
    const CatalogTable* t, Visit* v, uint32_t attribute, int64_t value
) noexcept nogil:
    cdef uint8_t type = t.attributes[attribute].type
    if type == INTEGER or type == TIMESTAMP or type == TIMESTAMP_LOCAL:
        set_word(v, attribute, value)
    elif type == FLOAT:
        set_word(v, attribute, word_of(<double>value))
    else:
        set_malformed(v, attribute)
