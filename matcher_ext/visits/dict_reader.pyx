"""Reads Python values into a visit (dict_reader.pxd)."""
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t

from matcher_ext.values.catalog cimport CatalogTable, CompiledCatalog
from matcher_ext.values.predicate cimport FLOAT, GEO, INTEGER_SET, STRING_SET
from matcher_ext.visits.visit cimport (
    Visit, add_integer, add_text, begin_set, clear_visit, end_set, read_whole_double, set_boolean,
    set_float, set_integer, set_malformed, set_point, set_text,
)


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
    """Returns a text's bytes, or NULL without an exception if it is no Unicode (a lone
    surrogate)."""
    try:
        return PyUnicode_AsUTF8AndSize(value, length)
    except UnicodeEncodeError:
        return NULL


cdef int read_number(
    const CatalogTable* table, Visit* visit, uint32_t attribute, object value
) except -1:
    """Reads an integer of any size; beyond 64 bits it is a number only to a float attribute."""
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
    """Says whether a value may be a coordinate; the range keeps integers from overflowing a
    float."""
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
