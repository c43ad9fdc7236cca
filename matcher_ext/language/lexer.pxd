"""Cuts a text into tokens, one at a time; declares the state that the parser carries along.

A Cursor lives on the stack of one parse; its pointers never outlive it.
"""
from libc.stdint cimport uint8_t, uint32_t

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.tree cimport Tree

cdef enum TokenKind:
    TOKEN_END
    TOKEN_NAME
    TOKEN_KEYWORD       # word: Keyword
    TOKEN_STRING        # with its quotes
    TOKEN_INTEGER
    TOKEN_FLOAT
    TOKEN_REFERENCE     # with its `@`
    TOKEN_LIST          # with its `$`
    TOKEN_COMPARE       # word: Operator
    TOKEN_OPEN
    TOKEN_CLOSE
    TOKEN_COMMA
    TOKEN_INVALID       # already reported

cdef enum Keyword:
    KEY_NONE
    KEY_AND
    KEY_OR
    KEY_NOT
    KEY_XOR
    KEY_XNOR
    KEY_TRUE
    KEY_FALSE
    KEY_IN
    KEY_BETWEEN
    KEY_IS
    KEY_PRESENT
    KEY_MISSING
    KEY_EMPTY
    KEY_ONE
    KEY_ALL
    KEY_NONE_OF         # the word `none`
    KEY_ONLY
    KEY_OF
    KEY_STARTS
    KEY_ENDS
    KEY_WITH
    KEY_CONTAINS
    KEY_LIKE
    KEY_UNDER
    KEY_DURING
    KEY_NETWORK
    KEY_WITHIN
    KEY_KM
    KEY_INSIDE
    KEY_POLYGON
    KEY_COUNT

cdef struct Token:
    uint32_t start      # bytes of the text
    uint32_t end
    uint8_t kind        # TokenKind
    uint8_t word        # Keyword or Operator
    uint8_t escaped     # a string with at least one backslash

cdef struct Cursor:
    const CatalogTable* table
    const char* text
    uint32_t length
    uint32_t position       # where the next token is looked for
    Token token             # the current one
    uint32_t last_end       # where the token before it ended
    Tree* tree
    uint32_t notes_claimed  # notes[: notes_claimed] have an owner
    uint32_t level          # brackets and `not`s around the current token
    uint32_t values         # of inline lists, so far
    bint composed           # see parse_text
    bint stopped            # too deep or too many problems: read no further

# Moves to the next token and collects the notes on the way.
cdef void advance(Cursor* cursor) noexcept nogil
# Notes a problem of the text from `start` to `end`; the parser stops after MAX_PROBLEMS.
cdef void add_problem(
    Cursor* cursor, uint32_t code, uint32_t start, uint32_t end, uint32_t attribute, uint32_t other
) noexcept nogil

cdef inline bint at_keyword(const Cursor* cursor, uint8_t word) noexcept nogil:
    return cursor.token.kind == TOKEN_KEYWORD and cursor.token.word == word
