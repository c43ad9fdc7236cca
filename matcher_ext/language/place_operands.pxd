"""Parses the operands of conditions on places: circles and polygons."""
from matcher_ext.language.lexer cimport Cursor

# Each returns False where reading cannot go on.
cdef bint parse_circle(Cursor* cursor) noexcept nogil
cdef bint parse_polygon(Cursor* cursor) noexcept nogil
