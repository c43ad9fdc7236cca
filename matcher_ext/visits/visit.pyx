"""One visit in typed form, and the test of one canonical predicate against it.

The rules of types live in the setters, so that a dict, a JSON object and a column agree.
"""
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.math cimport fabs, isfinite, isnan
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from matcher_ext.values.addresses cimport Address, in_network, read_address
from matcher_ext.values.arena cimport (
    ALL_OF, BOOLEAN, COUNT_EQUAL, COUNT_LESS_EQUAL, DURING, FALSE, FLOAT, GEO, INTEGER, INTEGER_SET,
    IP, ONE_OF, PRESENT, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL, TRUE, UNDEFINED, WITHIN,
    Predicate, PredicateView, Truth, compare_text, float_of, text_word, word_of,
)
from matcher_ext.values.catalog cimport CatalogTable, CompiledCatalog
from matcher_ext.values.literals cimport minute_of_week, read_timestamp
from matcher_ext.values.predicates cimport find_integer, sort_integers, sort_texts
from matcher_ext.visits.comparisons cimport (
    distance_km, has_text, is_inside, test_float, test_number, test_schedule, test_string,
)


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


cdef void set_malformed(Visit* v, uint32_t attribute) noexcept nogil:
    v.malformed.push_back(attribute)


cdef void set_word(Visit* v, uint32_t attribute, int64_t word) noexcept nogil:
    v.values[attribute].word = word
    v.values[attribute].known = 1
    v.carried.push_back(attribute)


cdef void set_words(Visit* v, uint32_t attribute, int64_t a, int64_t b) noexcept nogil:
    v.values[attribute].first = <uint32_t>v.words.size()
    v.values[attribute].count = 2
    v.words.push_back(a)
    v.words.push_back(b)
    set_word(v, attribute, 0)


cdef void set_boolean(
    const CatalogTable* t, Visit* v, uint32_t attribute, bint value
) noexcept nogil:
    if t.attributes[attribute].type == BOOLEAN:
        set_word(v, attribute, value)
    else:
        set_malformed(v, attribute)


cdef void set_integer(
    const CatalogTable* t, Visit* v, uint32_t attribute, int64_t value
) noexcept nogil:
    cdef uint8_t type = t.attributes[attribute].type
    if type == INTEGER or type == TIMESTAMP or type == TIMESTAMP_LOCAL:
        set_word(v, attribute, value)
    elif type == FLOAT:
        set_word(v, attribute, word_of(<double>value))
    else:
        set_malformed(v, attribute)


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
    """18.0 is 18; a fraction or more than 64 bits is no integer."""
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


cdef bint is_eligible(const CatalogTable* table, const Visit* visit) noexcept nogil:
    cdef size_t i
    for i in range(table.required.size()):
        if not visit.values[table.required[i]].known:
            return False
    return True


cdef int read_visit(CompiledCatalog catalog, object mapping, Visit* visit) except -1:
    cdef const CatalogTable* table = &catalog.table
    cdef dict numbers = catalog.numbers
    cdef object number
    clear_visit(table, visit)
    # A plain dict is read without an object for each of its items.
    cdef dict plain = mapping if type(mapping) is dict else dict(mapping.items())
    for name, value in plain.items():
        number = numbers.get(name)
        if number is not None and value is not None:
            read_value(table, visit, number, value)
    return 0


cdef int read_value(
    const CatalogTable* table, Visit* visit, uint32_t attribute, object value
) except -1:
    cdef uint8_t type = table.attributes[attribute].type
    cdef const char* text
    cdef Py_ssize_t length = 0
    if isinstance(value, bool):
        set_boolean(table, visit, attribute, value)
    elif isinstance(value, str):
        text = read_utf8(value, &length)
        if text == NULL:
            set_malformed(visit, attribute)
        else:
            set_text(table, visit, attribute, text, length)
    elif isinstance(value, int):
        read_number(table, visit, attribute, value)
    elif isinstance(value, float):
        set_float(table, visit, attribute, value)
    elif type == GEO:
        read_point(table, visit, attribute, value)
    elif isinstance(value, (list, tuple, set, frozenset)) and (
        type == STRING_SET or type == INTEGER_SET
    ):
        read_set(table, visit, attribute, value)
    else:
        set_malformed(visit, attribute)
    return 0


cdef const char* read_utf8(str value, Py_ssize_t* length) except? NULL:
    """NULL without an exception for text that is no Unicode (a lone surrogate)."""
    try:
        return PyUnicode_AsUTF8AndSize(value, length)
    except UnicodeEncodeError:
        return NULL


cdef int read_number(
    const CatalogTable* table, Visit* visit, uint32_t attribute, object value
) except -1:
    """An integer of any size; more than 64 bits is a number only to a float attribute."""
    cdef int overflows = 0
    cdef int64_t word = PyLong_AsLongLongAndOverflow(value, &overflows)
    if not overflows:
        set_integer(table, visit, attribute, word)
        return 0
    if table.attributes[attribute].type != FLOAT:
        set_malformed(visit, attribute)
        return 0
    try:
        set_float(table, visit, attribute, float(value))
    except OverflowError:
        set_malformed(visit, attribute)
    return 0


cdef int read_point(
    const CatalogTable* table, Visit* visit, uint32_t attribute, object value
) except -1:
    if isinstance(value, dict):
        latitude, longitude = value.get("lat"), value.get("lon")
    elif isinstance(value, (list, tuple)) and len(value) == 2:
        latitude, longitude = value
    else:
        set_malformed(visit, attribute)
        return 0
    if is_number(latitude) and is_number(longitude):
        set_point(table, visit, attribute, latitude, longitude)
    else:
        set_malformed(visit, attribute)
    return 0


cdef bint is_number(object value) except -1:
    """A coordinate: the range check also keeps huge integers from overflowing a float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -180 <= value <= 180


cdef int read_set(
    const CatalogTable* table, Visit* visit, uint32_t attribute, object elements
) except -1:
    cdef bint textual = table.attributes[attribute].type == STRING_SET
    cdef size_t words = visit.words.size()
    begin_set(visit, attribute)
    for element in elements:
        if not (add_string(visit, attribute, element) if textual
                else add_whole(visit, attribute, element)):
            visit.words.resize(words)
            set_malformed(visit, attribute)
            return 0
    end_set(table, visit, attribute)
    return 0


cdef bint add_string(Visit* visit, uint32_t attribute, object element) except -1:
    cdef Py_ssize_t length = 0
    cdef const char* text
    if not isinstance(element, str):
        return False
    text = read_utf8(element, &length)
    if text == NULL:
        return False
    add_text(visit, attribute, text, length)
    return True


cdef bint add_whole(Visit* visit, uint32_t attribute, object element) except -1:
    cdef int64_t whole = 0
    if isinstance(element, bool):
        return False
    if isinstance(element, float):
        if not read_whole_double(element, &whole):
            return False
    elif isinstance(element, int) and -0x8000000000000000 <= element <= 0x7FFFFFFFFFFFFFFF:
        whole = element
    else:
        return False
    add_integer(visit, attribute, whole)
    return True


cdef Truth test_predicate(
    PredicateView view, const Predicate* predicate, const CatalogTable* table, const Visit* visit
) noexcept nogil:
    cdef const Value* value = &visit.values[predicate.attribute]
    cdef bint answer
    if predicate.test == PRESENT:
        answer = value.known
    elif not value.known:
        return UNDEFINED
    elif predicate.test == DURING and predicate.type == TIMESTAMP_LOCAL and (
        not visit.values[table.utc_offset].known
    ):
        return UNDEFINED
    elif predicate.type == STRING:
        answer = test_string(view, predicate, visit.bytes.data(), value.word)
    elif predicate.type == STRING_SET or predicate.type == INTEGER_SET:
        answer = test_set(view, predicate, visit, value)
    elif predicate.type == IP:
        answer = test_address(view.words + predicate.first, predicate.count, visit, value)
    elif predicate.type == GEO:
        answer = test_point(
            predicate.test, view.words + predicate.first, predicate.count, visit, value
        )
    elif predicate.test == DURING:
        answer = test_schedule(
            view.words + predicate.first, predicate.count,
            minute_of_week(value.word, visit.values[table.utc_offset].word
                           if predicate.type == TIMESTAMP_LOCAL else 0),
        )
    elif predicate.type == FLOAT:
        answer = test_float(predicate, view.words + predicate.first, float_of(value.word))
    else:
        answer = test_number(predicate, view.words + predicate.first, value.word)
    return TRUE if answer != predicate.negated else FALSE


cdef bint test_set(
    PredicateView view, const Predicate* predicate, const Visit* visit, const Value* value
) noexcept nogil:
    cdef uint32_t shared
    if predicate.test == COUNT_EQUAL:
        return <int64_t>value.count == view.words[predicate.first]
    if predicate.test == COUNT_LESS_EQUAL:
        return <int64_t>value.count <= view.words[predicate.first]
    shared = count_shared(view, predicate, visit, value, predicate.test == ONE_OF)
    if predicate.test == ONE_OF:
        return shared > 0
    if predicate.test == ALL_OF:
        return shared == predicate.count
    return value.count > 0 and shared == value.count


cdef uint32_t count_shared(
    PredicateView view, const Predicate* predicate, const Visit* visit, const Value* value,
    bint only_first,
) noexcept nogil:
    """How many of the visit's elements are listed: a search of the list for each element."""
    cdef const int64_t* words = view.words + predicate.first
    cdef const int64_t* end = words + predicate.count
    cdef const int64_t* found
    cdef uint32_t shared = 0
    cdef uint32_t i
    cdef int64_t element
    for i in range(value.count):
        element = visit.words[value.first + i]
        if predicate.type == STRING_SET:
            shared += has_text(view, predicate, visit.bytes.data(), element)
        else:
            found = find_integer(words, end, element)
            shared += found != end and found[0] == element
        if shared and only_first:
            return shared
    return shared


cdef bint test_address(
    const int64_t* words, uint32_t count, const Visit* visit, const Value* value
) noexcept nogil:
    cdef Address address = Address(
        <uint64_t>visit.words[value.first], <uint64_t>visit.words[value.first + 1]
    )
    cdef uint32_t i
    for i in range(0, count, 3):
        if in_network(
            address, Address(<uint64_t>words[i], <uint64_t>words[i + 1]), words[i + 2]
        ):
            return True
    return False


cdef bint test_point(
    uint8_t test, const int64_t* words, uint32_t count, const Visit* visit, const Value* value
) noexcept nogil:
    cdef double latitude = float_of(visit.words[value.first])
    cdef double longitude = float_of(visit.words[value.first + 1])
    if test == WITHIN:
        return not is_far_north_or_south(latitude, float_of(words[0]), float_of(words[2])) and (
            distance_km(latitude, longitude, float_of(words[0]), float_of(words[1]))
            <= float_of(words[2])
        )
    return is_inside(words, count, latitude, longitude)


cdef inline bint is_far_north_or_south(double lat1, double lat2, double km) noexcept nogil:
    """Whether latitudes alone are further apart, by more than the distance's rounding errors: most
    circles are out of question without a sine."""
    return fabs(lat1 - lat2) * 111.195 > km * 1.000001 + 0.001
