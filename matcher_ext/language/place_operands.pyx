"""Reads points in degrees and distances in kilometres (place_operands.pxd)."""
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t, uint32_t

from matcher_ext.language.lexer cimport (
    KEY_KM, KEY_OF, TOKEN_CLOSE, TOKEN_COMMA, TOKEN_FLOAT, TOKEN_INTEGER, TOKEN_INVALID, TOKEN_OPEN,
    Cursor, Token, add_problem, advance,
)
from matcher_ext.language.operands cimport close_brackets, count_value, expect_word
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.literals cimport read_float
from matcher_ext.values.predicate cimport float_of, word_of
from matcher_ext.values.problems cimport (
    ANTIMERIDIAN, BAD_DISTANCE, BAD_POINT, TOO_FEW_POINTS, UNCLOSED_LIST,
)
from matcher_ext.values.tree cimport Tree


cdef bint parse_coordinate(Cursor* cursor, double limit, uint32_t problem) noexcept nogil:
    """Parses a number in [-limit, limit] and appends it as a word."""
    cdef Token token = cursor.token
    cdef double value = 0.0
    if token.kind != TOKEN_INTEGER and token.kind != TOKEN_FLOAT:
        if token.kind != TOKEN_INVALID:
            add_problem(cursor, problem, token.start, token.end, NOTHING, 0)
        return False
    if not read_float(cursor.text + token.start, token.end - token.start, &value) or (
        fabs(value) > limit
    ):
        add_problem(cursor, problem, token.start, token.end, NOTHING, 1)
        value = 0.0
    cursor.tree.words.push_back(word_of(value))
    advance(cursor)
    return True


cdef bint expect_token(Cursor* cursor, uint8_t kind, uint32_t problem) noexcept nogil:
    if cursor.token.kind == kind:
        advance(cursor)
        return True
    if cursor.token.kind != TOKEN_INVALID:
        add_problem(cursor, problem, cursor.token.start, cursor.token.end, NOTHING, 0)
    return False


cdef bint parse_point(Cursor* cursor) noexcept nogil:
    """Parses `(latitude, longitude)`."""
    if not expect_token(cursor, TOKEN_OPEN, BAD_POINT):
        return False
    return (
        parse_coordinate(cursor, 90.0, BAD_POINT)
        and expect_token(cursor, TOKEN_COMMA, BAD_POINT)
        and parse_coordinate(cursor, 180.0, BAD_POINT)
        and expect_token(cursor, TOKEN_CLOSE, BAD_POINT)
    ) or close_brackets(cursor, 1)


cdef bint parse_circle(Cursor* cursor) noexcept nogil:
    """Parses `5 km of (lat, lon)`; the words are (lat, lon, km)."""
    cdef Token distance = cursor.token
    cdef int64_t km
    if not parse_coordinate(cursor, 20100.0, BAD_DISTANCE):
        return False
    km = cursor.tree.words.back()
    cursor.tree.words.pop_back()
    if float_of(km) <= 0.0 and cursor.text[distance.start] in b"-0":
        if cursor.tree.problems.empty() or cursor.tree.problems.back().start != distance.start:
            add_problem(cursor, BAD_DISTANCE, distance.start, distance.end, NOTHING, 1)
    if not expect_word(cursor, KEY_KM) or not expect_word(cursor, KEY_OF):
        return False
    if not parse_point(cursor):
        return False
    cursor.tree.words.push_back(km)
    return True


cdef bint parse_polygon(Cursor* cursor) noexcept nogil:
    """Parses `((lat, lon), ..)`; drops the closing point if it is repeated."""
    cdef uint32_t opening = cursor.token.start
    cdef Tree* tree = cursor.tree
    cdef size_t first = tree.words.size()
    cdef size_t problems = tree.problems.size()
    cdef size_t size
    if not expect_token(cursor, TOKEN_OPEN, BAD_POINT):
        return False
    while True:
        if not parse_point(cursor):
            return close_brackets(cursor, 1)
        count_value(cursor)
        if cursor.token.kind != TOKEN_COMMA:
            break
        advance(cursor)
    if cursor.token.kind != TOKEN_CLOSE:
        add_problem(cursor, UNCLOSED_LIST, opening, opening + 1, NOTHING, 0)
        return False
    advance(cursor)
    size = tree.words.size()
    if size - first >= 4 and tree.words[first] == tree.words[size - 2] and (
        tree.words[first + 1] == tree.words[size - 1]
    ):
        tree.words.resize(size - 2)
    if tree.problems.size() == problems:
        check_polygon(cursor, opening, first)
    return True


cdef void check_polygon(Cursor* cursor, uint32_t opening, size_t first) noexcept nogil:
    cdef Tree* tree = cursor.tree
    cdef size_t points = (tree.words.size() - first) // 2
    cdef size_t i
    cdef double here, there
    if points < 3:
        add_problem(cursor, TOO_FEW_POINTS, opening, cursor.last_end, NOTHING, 0)
        return
    for i in range(points):
        here = float_of(tree.words[first + 2 * i + 1])
        there = float_of(tree.words[first + 2 * ((i + 1) % points) + 1])
        if fabs(here - there) > 180.0:
            add_problem(cursor, ANTIMERIDIAN, opening, cursor.last_end, NOTHING, 0)
            return
