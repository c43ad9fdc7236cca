"""Parses the operands of one condition: literals, ranges, lists, in the attribute's type."""
from libc.stdint cimport uint8_t, uint32_t

from matcher_ext.language.lexer cimport Cursor
from matcher_ext.values.tree cimport Condition

# What is known about a condition while it is read.
cdef struct Draft:
    Condition condition
    uint8_t type        # Type of one operand, or UNKNOWN
    uint32_t operator_start
    uint32_t operator_end

cdef enum:
    UNKNOWN = 255       # the attribute or operator was wrong: operands are only skipped

# All of them report what is wrong and read on; False where reading cannot go on.
cdef bint parse_value(Cursor* cursor, Draft* draft) noexcept nogil
cdef bint parse_range(Cursor* cursor, Draft* draft) noexcept nogil
cdef bint parse_list(Cursor* cursor, Draft* draft) noexcept nogil

cdef bint expect_word(Cursor* cursor, uint8_t word) noexcept nogil
cdef void count_value(Cursor* cursor) noexcept nogil
cdef bint close_brackets(Cursor* cursor, uint32_t open_brackets) noexcept nogil
