"""Reads JSON into a tape: one token per value, in the order of the text.

    {"a": [1, "x"], "b": null}

    OBJECT 2 | TEXT a | LIST 2 | WHOLE 1 | TEXT x | TEXT b | NULL
       '----------------------------------------------------------> next: the token behind the value

A name stands before its value. A reader steps over what it does not want by `next`, and nothing is
made of a value until somebody asks for it. A text has a tape only if it is JSON (RFC 8259) that all
readers understand alike: no half of a surrogate pair, no number beyond a double's range, nothing
nested deeper than MOST_DEEP. Whatever has none is for a decoder that can say why.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

cdef enum:
    MOST_DEEP = 64

cdef enum Kind:
    OBJECT
    LIST
    TEXT
    UNESCAPED           # a text that was written with escapes: its bytes are in `unescaped`
    WHOLE               # a number without point and exponent
    FRACTION
    TRUE_WORD
    FALSE_WORD
    NULL_WORD

cdef struct Token:
    uint32_t at         # first byte; of a text the one behind the quotation mark
    uint32_t length     # bytes of a text or number; members of an object, elements of a list
    uint32_t next
    uint32_t end        # of an object or list: the byte behind it
    Kind kind

cdef struct Text:
    const char* bytes
    size_t length

cdef cppclass Tape:
    """The memory of one tape at a time; refers to the text, which must stay."""
    const char* text
    vector[Token] tokens
    vector[char] unescaped

cdef struct Cursor:
    const char* at
    const char* end             # where a NUL stands
    const char* limit           # a list or object with more elements behind it has no tape

cdef enum Elements:
    BROKEN                      # there is no tape of it
    MORE                        # elements follow
    OVER                        # the text's end was reached

# Reads a text. False: it has no tape. A NUL stands behind the text, as in every bytes object.
cdef bint read_tape(Tape* tape, const char* text, size_t length) except -1
# Read an object with one member, a list of elements of so many bytes at most, one element at a
# time: token 2 is the list. False: it has no tape.
cdef bint begin_elements(
    Tape* tape, Cursor* cursor, const char* text, size_t length
) noexcept nogil
cdef Elements read_element(Tape* tape, Cursor* cursor, size_t most_bytes) except *
# Reads a whole number. False: it has more than 64 bits.
cdef bint read_whole(const Tape* tape, const Token* token, int64_t* whole) noexcept nogil
cdef double read_fraction(const Tape* tape, const Token* token) except? -1.0

cdef inline bint is_text(const Token* token) noexcept nogil:
    return token.kind == TEXT or token.kind == UNESCAPED


cdef inline bint is_number(const Token* token) noexcept nogil:
    return token.kind == WHOLE or token.kind == FRACTION


cdef inline Text text_of(const Tape* tape, const Token* token) noexcept nogil:
    if token.kind == UNESCAPED:
        return Text(tape.unescaped.data() + token.at, token.length)
    return Text(tape.text + token.at, token.length)
