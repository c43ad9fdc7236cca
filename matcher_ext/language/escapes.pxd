"""Decodes the escapes of a string."""
from libcpp.vector cimport vector

from matcher_ext.language.lexer cimport Cursor, Token

# Appends the decoded content of a string token; reports a wrong escape and returns False.
cdef bint decode_string(Cursor* cursor, const Token* token, vector[char]* out) noexcept nogil
