"""Parses one condition of a text: attribute, operator, typed operands."""
from libc.stdint cimport uint32_t

from matcher_ext.language.lexer cimport Cursor

# Parses from a name or `count` on. Returns the index of the new condition, or NOTHING after a
# syntax
# error (the caller skips to the next connective).
cdef uint32_t parse_condition(Cursor* cursor) noexcept nogil
