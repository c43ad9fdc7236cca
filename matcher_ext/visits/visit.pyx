"""Sets a visit's values. The rules of types live here, so that a dict, a JSON object and a column
agree (visit.pxd)."""
from libc.math cimport fabs, isfinite, isnan
from libc.stdint cimport int64_t, uint8_t, uint32_t

from matcher_ext.values.addresses cimport Address, read_address
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.literals cimport read_timestamp
from matcher_ext.values.ordering cimport sort_integers, sort_texts
from matcher_ext.values.predicate cimport (
    FLOAT, GEO, INTEGER, IP, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL, word_of,
)
from matcher_ext.values.spans cimport compare_text, text_word


cdef void clear_visit(const CatalogTable* table, Visit* visit) noexcept nogil:
    cdef size_t i
    cdef Value nothing
    nothing.word = 0
    nothing.first = 0
    nothing.count = 0
    nothing.known = 0
    if visit.values.size() != table.attributes.size():
        visit.values.assign(table.attributes.size(), nothing)
    for i in range(visit.carried.size()):
        visit.values[visit.carried[i]].known = 0
    visit.carried.clear()
    visit.malformed.clear()
    visit.words.clear()
    visit.bytes.clear()


cdef void set_words(Visit* v, uint32_t attribute, int64_t a, int64_t b) noexcept nogil:
    v.values[attribute].first = <uint32_t>v.words.size()
    v.values[attribute].count = 2
    v.words.push_back(a)
    v.words.push_back(b)
    set_word(v, attribute, 0)


cdef void set_float(
    const CatalogTable* t, Visit* v, uint32_t attribute, double value
) noexcept nogil:
    cdef uint8_t type = t.attributes[attribute].type
    cdef int64_t whole = 0
    if isnan(value):
        return                              # how columns of any type say "missing"
    if type == FLOAT and isfinite(value):
        set_word(v, attribute, word_of(value))
    elif (type == INTEGER or type == TIMESTAMP or type == TIMESTAMP_LOCAL) and (
        read_whole_double(value, &whole)
    ):
        set_word(v, attribute, whole)
    else:
        set_malformed(v, attribute)


cdef bint read_whole_double(double value, int64_t* whole) noexcept nogil:
    """Reads 18.0 as 18; a fraction or more than 64 bits is no integer."""
    if not (value >= -9223372036854775808.0 and value < 9223372036854775808.0):
        return False
    whole[0] = <int64_t>value
    return <double>whole[0] == value


cdef int64_t keep_text(Visit* v, const char* text, size_t length) noexcept nogil:
    cdef uint32_t offset = <uint32_t>v.bytes.size()
    v.bytes.insert(v.bytes.end(), text, text + length)
    return text_word(offset, <uint32_t>length)


cdef void set_text(
    const CatalogTable* t, Visit* v, uint32_t attribute, const char* text, size_t length
) noexcept nogil:
    cdef uint8_t type = t.attributes[attribute].type
    cdef int64_t ms = 0
    cdef Address address
    if type == STRING:
        set_word(v, attribute, keep_text(v, text, length))
    elif (type == TIMESTAMP or type == TIMESTAMP_LOCAL) and read_timestamp(text, length, &ms):
        set_word(v, attribute, ms)
    elif type == IP and read_address(text, length, &address):
        set_words(v, attribute, <int64_t>address.high, <int64_t>address.low)
    else:
        set_malformed(v, attribute)


cdef void set_point(
    const CatalogTable* t, Visit* v, uint32_t attribute, double latitude, double longitude
) noexcept nogil:
    if t.attributes[attribute].type == GEO and fabs(latitude) <= 90.0 and fabs(longitude) <= 180.0:
        set_words(v, attribute, word_of(latitude), word_of(longitude))
    else:
        set_malformed(v, attribute)


cdef void begin_set(Visit* v, uint32_t attribute) noexcept nogil:
    v.values[attribute].first = <uint32_t>v.words.size()


cdef void add_integer(Visit* v, uint32_t attribute, int64_t element) noexcept nogil:
    v.words.push_back(element)


cdef void add_text(Visit* v, uint32_t attribute, const char* text, size_t length) noexcept nogil:
    v.words.push_back(keep_text(v, text, length))


cdef void end_set(const CatalogTable* t, Visit* v, uint32_t attribute) noexcept nogil:
    cdef uint32_t first = v.values[attribute].first
    cdef uint32_t size = <uint32_t>v.words.size() - first
    cdef uint32_t kept = first
    cdef uint32_t i
    cdef bint textual = t.attributes[attribute].type == STRING_SET
    cdef int64_t* words = v.words.data()
    if size > 1 and textual:
        sort_texts(words + first, words + first + size, v.bytes.data())
    elif size > 1:
        sort_integers(words + first, words + first + size)
    for i in range(first, first + size):
        if kept == first or (
            compare_text(v.bytes.data(), words[kept - 1], v.bytes.data(), words[i]) != 0
            if textual else words[kept - 1] != words[i]
        ):
            words[kept] = words[i]
            kept += 1
    v.words.resize(kept)
    v.values[attribute].count = kept - first
    set_word(v, attribute, 0)


cdef bint has_required(const CatalogTable* table, const Visit* visit) noexcept nogil:
    cdef size_t i
    for i in range(table.required.size()):
        if not visit.values[table.required[i]].known:
            return False
    return True
