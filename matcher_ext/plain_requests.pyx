"""Requests in JSON, read from their bytes straight into a visit (plain_requests.pxd)."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memchr, memcmp
from libcpp.vector cimport vector

from matcher_ext.arena cimport INTEGER_SET, NOTHING, STRING_SET
from matcher_ext.catalog cimport CatalogTable, find_attribute
from matcher_ext.visit cimport (
    add_integer, add_text, begin_set, end_set, set_boolean, set_float, set_integer, set_text,
)

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, void* overflow) except? -1.0

cdef enum:
    MOST_ELEMENTS = 1000            # of a list
    MOST_DIGITS = 18                # of a whole number: all of them fit into 64 bits


class NotPlainError(Exception):
    """A visit that the general decoder has to read."""


cdef class Stamps:
    def __init__(self, tuple clocks not None, str place not None):
        self.clocks, self.place = clocks, place


@cython.final
cdef class PlainVisit:
    def stamp(self, Stamps stamps not None, str publisher not None, int64_t moment):
        self.stamps, self.publisher, self.moment = stamps, publisher, moment

    cdef int read_into(self, CompiledCatalog catalog, Visit* visit) except -1:
        cdef const char* text = PyBytes_AS_STRING(self.body)
        cdef Cursor cursor = Cursor(text + self.start, text + self.end)
        cdef const CatalogTable* table = &catalog.table
        cdef Py_ssize_t length = 0
        cdef uint32_t attribute, stamped = 0
        if self.stamps is not None:
            for name in self.stamps.clocks:
                attribute = find_name(catalog, name)
                if attribute != NOTHING:
                    set_integer(table, visit, attribute, self.moment)
            attribute = find_name(catalog, self.stamps.place)
            if attribute != NOTHING:
                text = PyUnicode_AsUTF8AndSize(self.publisher, &length)
                set_text(table, visit, attribute, text, length)
        stamped = <uint32_t>visit.carried.size()
        if not read_object(table, visit, stamped, &cursor):
            raise NotPlainError
        return 0


cdef uint32_t find_name(CompiledCatalog catalog, object name) except? 0:
    cdef PyObject* number = PyDict_GetItem(catalog.numbers, name)
    return NOTHING if number == NULL else <uint32_t><object>number


cdef class PlainRequest:
    pass


def read_plain_request(bytes body not None):
    """(publisher or None, limit or None, PlainVisit), or None where the general decoder is needed."""
    cdef PlainRequest request = read_request(body)
    if request is None:
        return None
    return request.publisher, request.limit if request.has_limit else None, request.visit


cdef PlainRequest read_request(bytes body):
    cdef Cursor cursor = Cursor(
        PyBytes_AS_STRING(body), PyBytes_AS_STRING(body) + PyBytes_GET_SIZE(body)
    )
    cdef PlainRequest request = PlainRequest.__new__(PlainRequest)
    if not take(&cursor, b"{"):
        return None
    while True:
        if not read_member(body, request, &cursor):
            return None
        if not take(&cursor, b","):
            break
    if not take(&cursor, b"}") or request.visit is None:
        return None
    skip_space(&cursor)
    return None if cursor.at != cursor.end else request


cdef bint read_member(bytes body, PlainRequest request, Cursor* cursor) except -1:
    """One of the three that plain requests have, once."""
    cdef const char* text = NULL
    cdef size_t length = 0
    cdef double fraction = 0
    if not (take_text(cursor, &text, &length) and take(cursor, b":")):
        return False
    if request.visit is None and length == 5 and memcmp(text, b"visit", 5) == 0:
        request.visit = take_visit(body, cursor)
        return request.visit is not None
    if request.publisher is None and length == 9 and memcmp(text, b"publisher", 9) == 0:
        if not take_text(cursor, &text, &length):
            return False
        request.publisher = PyUnicode_DecodeUTF8(text, length, NULL)
        return True
    if not request.has_limit and length == 5 and memcmp(text, b"limit", 5) == 0:
        request.has_limit = take_number(cursor, &request.limit, &fraction) == WHOLE
        return request.has_limit
    return False


cdef PlainVisit take_visit(bytes body, Cursor* cursor):
    """An object without objects in it. Its texts are read later: one with an escape, whose end may
    be missed here, is refused then."""
    cdef PlainVisit visit = PlainVisit.__new__(PlainVisit)
    skip_space(cursor)
    if cursor.at == cursor.end or cursor.at[0] != b"{":
        return None
    visit.body = body
    visit.start = cursor.at - PyBytes_AS_STRING(body)
    cursor.at += 1
    while cursor.at < cursor.end and cursor.at[0] != b"{":
        if cursor.at[0] == b"}":
            cursor.at += 1
            visit.end = cursor.at - PyBytes_AS_STRING(body)
            return visit
        if cursor.at[0] == b'"':
            cursor.at = <const char*>memchr(cursor.at + 1, b'"', cursor.end - cursor.at - 1)
            if cursor.at == NULL:
                return None
        cursor.at += 1
    return None


cdef bint read_object(
    const CatalogTable* table, Visit* visit, uint32_t stamped, Cursor* cursor
) except -1:
    """The first `stamped` of what the visit carries is there already, and stays."""
    cdef const char* name = NULL
    cdef size_t length = 0
    cdef uint32_t attribute
    if not take(cursor, b"{"):
        return False
    if take(cursor, b"}"):
        return cursor.at == cursor.end
    while True:
        if not (take_text(cursor, &name, &length) and take(cursor, b":")):
            return False
        attribute = find_attribute(table, name, length)
        if attribute == NOTHING:
            return False
        if holds(&visit.carried, stamped, attribute):
            if not skip_value(cursor):
                return False
        elif visit.values[attribute].known or (
            holds(&visit.malformed, visit.malformed.size(), attribute)
        ):
            return False                # a second time: the general decoder takes the last
        elif not read_value(table, visit, attribute, cursor):
            return False
        if not take(cursor, b","):
            return take(cursor, b"}") and cursor.at == cursor.end


cdef bint holds(
    const vector[uint32_t]* numbers, size_t count, uint32_t wanted
) noexcept nogil:
    cdef size_t i
    for i in range(count):
        if numbers[0][i] == wanted:
            return True
    return False


cdef bint skip_value(Cursor* cursor) except -1:
    """A text or a whole number, which is what people write where the exchange stamps."""
    cdef const char* text = NULL
    cdef size_t length = 0
    cdef int64_t whole = 0
    cdef double fraction = 0
    return take_text(cursor, &text, &length) or take_number(cursor, &whole, &fraction) == WHOLE


cdef bint read_value(
    const CatalogTable* table, Visit* visit, uint32_t attribute, Cursor* cursor
) except -1:
    cdef const char* text = NULL
    cdef size_t length = 0
    cdef int64_t whole = 0
    cdef double fraction = 0
    cdef Number number
    skip_space(cursor)
    if cursor.at == cursor.end:
        return False
    if cursor.at[0] == b'"':
        if not take_text(cursor, &text, &length):
            return False
        set_text(table, visit, attribute, text, length)
        return True
    if cursor.at[0] == b"[":
        return read_list(table, visit, attribute, cursor)
    if take_word(cursor, b"true", 4):
        set_boolean(table, visit, attribute, True)
        return True
    if take_word(cursor, b"false", 5):
        set_boolean(table, visit, attribute, False)
        return True
    if take_word(cursor, b"null", 4):
        return True
    number = take_number(cursor, &whole, &fraction)
    if number == WHOLE:
        set_integer(table, visit, attribute, whole)
    elif number == FRACTION:
        set_float(table, visit, attribute, fraction)
    return number != NO_NUMBER


cdef bint read_list(
    const CatalogTable* table, Visit* visit, uint32_t attribute, Cursor* cursor
) except -1:
    """Of the set's own kind; any other is left to the general decoder, with its warning."""
    cdef bint textual = table.attributes[attribute].type == STRING_SET
    cdef const char* text = NULL
    cdef size_t length = 0
    cdef int64_t whole = 0
    cdef double fraction = 0
    cdef int count
    if not textual and table.attributes[attribute].type != INTEGER_SET:
        return False
    cursor.at += 1
    begin_set(visit, attribute)
    if take(cursor, b"]"):
        end_set(table, visit, attribute)
        return True
    for count in range(MOST_ELEMENTS):
        if textual:
            if not take_text(cursor, &text, &length):
                return False
            add_text(visit, attribute, text, length)
        else:
            if take_number(cursor, &whole, &fraction) != WHOLE:
                return False
            add_integer(visit, attribute, whole)
        if not take(cursor, b","):
            if not take(cursor, b"]"):
                return False
            end_set(table, visit, attribute)
            return True
    return False


cdef inline void skip_space(Cursor* cursor) noexcept nogil:
    while cursor.at < cursor.end and (
        cursor.at[0] == b" " or cursor.at[0] == b"\n" or cursor.at[0] == b"\r"
        or cursor.at[0] == b"\t"
    ):
        cursor.at += 1


cdef inline bint take(Cursor* cursor, char wanted) noexcept nogil:
    skip_space(cursor)
    if cursor.at == cursor.end or cursor.at[0] != wanted:
        return False
    cursor.at += 1
    return True


cdef inline bint take_word(Cursor* cursor, const char* word, size_t length) noexcept nogil:
    if <size_t>(cursor.end - cursor.at) < length or memcmp(cursor.at, word, length) != 0:
        return False
    cursor.at += length
    return True


cdef bint take_text(Cursor* cursor, const char** text, size_t* length) except -1:
    """What stands between quotes, without escapes and control characters, in UTF-8."""
    cdef const unsigned char* at
    cdef const unsigned char* end = <const unsigned char*>cursor.end
    cdef unsigned char all_bits = 0
    if not take(cursor, b'"'):
        return False
    at = <const unsigned char*>cursor.at
    while at < end and at[0] != b'"':
        if at[0] < 0x20 or at[0] == b"\\":
            return False
        all_bits |= at[0]
        at += 1
    if at == end:
        return False
    text[0] = cursor.at
    length[0] = <const char*>at - cursor.at
    cursor.at = <const char*>at + 1
    return all_bits < 0x80 or is_utf8(text[0], length[0])


cdef bint is_utf8(const char* text, size_t length) except -1:
    try:
        PyUnicode_DecodeUTF8(text, length, NULL)
    except UnicodeDecodeError:
        return False
    return True


cdef Number take_number(Cursor* cursor, int64_t* whole, double* fraction) except *:
    """As JSON writes them; NO_NUMBER also for those that may be more than 64 bits, and for -0."""
    cdef const char* start
    cdef const char* digits
    cdef int64_t found = 0
    cdef char* end = NULL
    skip_space(cursor)
    start = cursor.at
    if cursor.at < cursor.end and cursor.at[0] == b"-":
        cursor.at += 1
    digits = cursor.at
    while is_digit(cursor):
        if cursor.at - digits < MOST_DIGITS:
            found = found * 10 + (cursor.at[0] - c"0")
        cursor.at += 1
    if cursor.at == digits or (digits[0] == b"0" and cursor.at > digits + 1):
        return NO_NUMBER
    if cursor.at == cursor.end or cursor.at[0] not in (c".", c"e", c"E"):
        if cursor.at - digits > MOST_DIGITS or (digits > start and found == 0):
            return NO_NUMBER
        whole[0] = -found if digits > start else found
        return WHOLE
    if not take_tail(cursor):
        return NO_NUMBER
    fraction[0] = PyOS_string_to_double(start, &end, NULL)
    return FRACTION if end == cursor.at and isfinite(fraction[0]) else NO_NUMBER


cdef inline bint is_digit(const Cursor* cursor) noexcept nogil:
    return cursor.at < cursor.end and c"0" <= cursor.at[0] <= c"9"


cdef bint take_tail(Cursor* cursor) noexcept nogil:
    """`.5`, `e-3`, or both."""
    if cursor.at[0] == b".":
        cursor.at += 1
        if not take_digits(cursor):
            return False
    if cursor.at < cursor.end and (cursor.at[0] == b"e" or cursor.at[0] == b"E"):
        cursor.at += 1
        if cursor.at < cursor.end and (cursor.at[0] == b"+" or cursor.at[0] == b"-"):
            cursor.at += 1
        return take_digits(cursor)
    return True


cdef bint take_digits(Cursor* cursor) noexcept nogil:
    if not is_digit(cursor):
        return False
    while is_digit(cursor):
        cursor.at += 1
    return True
