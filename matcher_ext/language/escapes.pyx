"""Decodes JSON's escapes, and `\\'` (escapes.pxd)."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.language.lexer cimport Cursor, Token, add_problem
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.literals cimport fold, is_digit
from matcher_ext.values.problems cimport BAD_ESCAPE


cdef bint decode_string(Cursor* cursor, const Token* token, vector[char]* out) noexcept nogil:
    """JSON's escapes and `\\'`."""
    cdef const char* text = cursor.text
    cdef const char* plain = b"\"\"''\\\\//b\bf\fn\nr\rt\t"
    cdef uint32_t at = token.start + 1
    cdef uint32_t end = token.end - 1
    cdef uint32_t escape
    cdef int i
    while at < end:
        if text[at] != c'\\':
            out.push_back(text[at])
            at += 1
            continue
        escape = at
        at += 2
        if text[escape + 1] == c'u':
            at = decode_unicode(text, escape, end, out)
        else:
            i = 0
            while i < 18 and plain[i] != text[escape + 1]:
                i += 2
            if i < 18:
                out.push_back(plain[i + 1])
            else:
                at = 0
        if at == 0:
            i = 6 if text[escape + 1] == c'u' else 2
            add_problem(
                cursor, BAD_ESCAPE, escape, min(escape + <uint32_t>i, end), NOTHING, 0
            )
            return False
    return True


cdef int64_t read_hex(const char* text, uint32_t at, uint32_t end) noexcept nogil:
    """Reads four hex digits after a `\\u` at `at`; -1 if they are none."""
    cdef int64_t value = 0
    cdef uint32_t i
    cdef char c
    if at + 6 > end or text[at] != c'\\' or text[at + 1] != c'u':
        return -1
    for i in range(at + 2, at + 6):
        c = fold(text[i])
        if is_digit(c):
            value = value * 16 + (c - c'0')
        elif c >= c'a' and c <= c'f':
            value = value * 16 + (c - c'a' + 10)
        else:
            return -1
    return value


cdef uint32_t decode_unicode(
    const char* text, uint32_t at, uint32_t end, vector[char]* out
) noexcept nogil:
    """Writes one `\\uXXXX` or a surrogate pair as UTF-8; returns where it ends, 0 if it is none."""
    cdef int64_t code = read_hex(text, at, end)
    cdef int64_t low
    at += 6
    if code < 0 or (code >= 0xDC00 and code < 0xE000):
        return 0
    if code >= 0xD800 and code < 0xDC00:
        low = read_hex(text, at, end)
        if low < 0xDC00 or low >= 0xE000:
            return 0
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        at += 6
    if code < 0x80:
        out.push_back(<char>code)
        return at
    if code < 0x800:
        out.push_back(<char>(0xC0 | code >> 6))
    else:
        if code < 0x10000:
            out.push_back(<char>(0xE0 | code >> 12))
        else:
            out.push_back(<char>(0xF0 | code >> 18))
            out.push_back(<char>(0x80 | (code >> 12 & 0x3F)))
        out.push_back(<char>(0x80 | (code >> 6 & 0x3F)))
    out.push_back(<char>(0x80 | (code & 0x3F)))
    return at
