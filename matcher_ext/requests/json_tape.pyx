"""Reads JSON into a tape: one token per value, in the order of the text (json_tape.pxd)."""
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, void* overflow) except? -1.0

cdef extern from * nogil:
    """
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif
    /* The first quotation mark, backslash or control character. There is one: the NUL at the end */
    static inline const char* treeline_end_of_plain(const char* at, const char* end) {
    #if defined(__SSE2__)
        const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\\\');
        const __m128i control = _mm_set1_epi8(0x1f);
        while (end - at >= 16) {
            const __m128i bytes = _mm_loadu_si128((const __m128i*)at);
            const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes);
            const __m128i hit = _mm_or_si128(
                low, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
            const int mask = _mm_movemask_epi8(hit);
            if (mask) return at + __builtin_ctz(mask);
            at += 16;
        }
    #endif
        while ((unsigned char)*at > 0x1f && *at != '"' && *at != '\\\\') at++;
        return at;
    }
    """
    const char* end_of_plain "treeline_end_of_plain"(const char* at, const char* end)

cdef enum:
    MOST_DIGITS = 19            # of a whole number that may fit into 64 bits
    LONGEST_NUMBER = 200        # with an exponent of two digits it is within a double's range
    EXACT_DIGITS = 15           # any whole number of so many is a double ..
    EXACT_POWER = 22            # .. and so is such a power of ten

cdef double[23] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
]


cdef bint read_tape(Tape* tape, const char* text, size_t length) except -1:
    if length >= 0x7FFFFFFF or not is_unicode(text, length):
        return False
    return write_tokens(tape, text, length)


cdef bint is_unicode(const char* text, size_t length) except -1:
    cdef uint64_t word, all_bits = 0
    cdef size_t i
    for i in range(0, length & ~<size_t>7, 8):
        memcpy(&word, text + i, 8)
        all_bits |= word
    for i in range(length & ~<size_t>7, length):
        all_bits |= <unsigned char>text[i]
    if not all_bits & 0x8080808080808080:
        return True
    try:
        PyUnicode_DecodeUTF8(text, length, NULL)
    except UnicodeDecodeError:
        return False
    return True


cdef bint write_tokens(Tape* tape, const char* text, size_t length) noexcept nogil:
    cdef Cursor cursor = Cursor(text, text + length, text + length)
    tape.text = text
    tape.tokens.clear()
    tape.unescaped.clear()
    if not write_value(tape, &cursor, MOST_DEEP):
        return False
    skip_space(&cursor)
    return cursor.at == cursor.end


cdef bint begin_elements(
    Tape* tape, Cursor* cursor, const char* text, size_t length
) noexcept nogil:
    cursor[0] = Cursor(text, text + length, text + length)
    tape.text = text
    tape.tokens.clear()
    tape.unescaped.clear()
    if length >= 0x7FFFFFFF or not take(cursor, b"{"):
        return False
    tape.tokens.reserve(length // 2 + 3)    # as many as there can be: moving millions takes a while
    add_token(tape, OBJECT, offset(tape, cursor) - 1, 1)
    skip_space(cursor)
    if cursor.at[0] != b'"' or not write_text(tape, cursor) or not take(cursor, b":"):
        return False
    if not take(cursor, b"["):
        return False
    add_token(tape, LIST, offset(tape, cursor) - 1, 0)
    skip_space(cursor)
    return cursor.at[0] != b"]"


cdef Elements read_element(Tape* tape, Cursor* cursor, size_t most_bytes) except *:
    """Reads one element. What stands between elements is ASCII, so that each is checked to be
    Unicode by itself."""
    cdef const char* start = cursor.at
    cdef uint32_t elements = tape.tokens[2].length + 1
    cursor.limit = start + min(most_bytes, <size_t>(cursor.end - start))
    if not write_value(tape, cursor, MOST_DEEP - 2) or not is_unicode(start, cursor.at - start):
        return BROKEN
    tape.tokens[2].length = elements
    if take(cursor, b","):
        return MORE
    if not take(cursor, b"]") or not close_container(tape, cursor, 2, elements):
        return BROKEN
    if not take(cursor, b"}") or not close_container(tape, cursor, 0, 1):
        return BROKEN
    skip_space(cursor)
    return OVER if cursor.at == cursor.end else BROKEN


cdef bint write_value(Tape* tape, Cursor* cursor, uint32_t deep) noexcept nogil:
    cdef char first
    skip_space(cursor)
    first = cursor.at[0]
    if first == b'"':
        return write_text(tape, cursor)
    if first == b"{":
        return deep and write_object(tape, cursor, deep - 1)
    if first == b"[":
        return deep and write_list(tape, cursor, deep - 1)
    if first == b"t":
        return write_word(tape, cursor, b"true", 4, TRUE_WORD)
    if first == b"f":
        return write_word(tape, cursor, b"false", 5, FALSE_WORD)
    if first == b"n":
        return write_word(tape, cursor, b"null", 4, NULL_WORD)
    return write_number(tape, cursor)


cdef bint write_object(Tape* tape, Cursor* cursor, uint32_t deep) noexcept nogil:
    cdef uint32_t place = add_token(tape, OBJECT, offset(tape, cursor), 0), members = 0
    cursor.at += 1
    if take(cursor, b"}"):
        return close_container(tape, cursor, place, 0)
    while True:
        skip_space(cursor)
        if cursor.at[0] != b'"' or not write_text(tape, cursor) or not take(cursor, b":"):
            return False
        if not write_value(tape, cursor, deep):
            return False
        members += 1
        if cursor.at > cursor.limit:
            return False
        if not take(cursor, b","):
            return take(cursor, b"}") and close_container(tape, cursor, place, members)


cdef bint write_list(Tape* tape, Cursor* cursor, uint32_t deep) noexcept nogil:
    cdef uint32_t place = add_token(tape, LIST, offset(tape, cursor), 0), elements = 0
    cursor.at += 1
    if take(cursor, b"]"):
        return close_container(tape, cursor, place, 0)
    while True:
        if not write_value(tape, cursor, deep):
            return False
        elements += 1
        if cursor.at > cursor.limit:
            return False
        if not take(cursor, b","):
            return take(cursor, b"]") and close_container(tape, cursor, place, elements)


cdef inline uint32_t add_token(
    Tape* tape, Kind kind, uint32_t at, uint32_t length
) noexcept nogil:
    cdef uint32_t place = <uint32_t>tape.tokens.size()
    tape.tokens.push_back(Token(at, length, place + 1, 0, kind))
    return place


cdef inline uint32_t offset(const Tape* tape, const Cursor* cursor) noexcept nogil:
    return <uint32_t>(cursor.at - tape.text)


cdef inline bint close_container(
    Tape* tape, const Cursor* cursor, uint32_t place, uint32_t length
) noexcept nogil:
    tape.tokens[place].length = length
    tape.tokens[place].next = <uint32_t>tape.tokens.size()
    tape.tokens[place].end = offset(tape, cursor)
    return True


cdef inline void skip_space(Cursor* cursor) noexcept nogil:
    """Skips white space; takes one comparison where there is none, which is most often so."""
    while <unsigned char>cursor.at[0] <= 0x20 and (
        cursor.at[0] == b" " or cursor.at[0] == b"\n" or cursor.at[0] == b"\r" or (
            cursor.at[0] == b"\t"
        )
    ):
        cursor.at += 1


cdef inline bint take(Cursor* cursor, char wanted) noexcept nogil:
    skip_space(cursor)
    if cursor.at[0] != wanted:
        return False
    cursor.at += 1
    return True


cdef bint write_word(
    Tape* tape, Cursor* cursor, const char* word, size_t length, Kind kind
) noexcept nogil:
    if <size_t>(cursor.end - cursor.at) < length or memcmp(cursor.at, word, length) != 0:
        return False
    cursor.at += length
    add_token(tape, kind, 0, 0)
    return True


cdef inline bint write_text(Tape* tape, Cursor* cursor) noexcept nogil:
    cdef const char* start = cursor.at + 1
    cursor.at = end_of_plain(start, cursor.end)
    if cursor.at[0] == b'"':
        add_token(tape, TEXT, <uint32_t>(start - tape.text), <uint32_t>(cursor.at - start))
        cursor.at += 1
        return True
    return cursor.at[0] == b"\\" and write_unescaped(tape, cursor, start)


cdef bint write_unescaped(Tape* tape, Cursor* cursor, const char* start) noexcept nogil:
    """Writes a text from its first escape on. Unescaped, it never takes more room than it did, so
    that nothing moves while the tape is read."""
    cdef uint32_t first = <uint32_t>tape.unescaped.size()
    if tape.unescaped.empty():
        tape.unescaped.reserve(cursor.end - tape.text)
    while True:
        tape.unescaped.insert(tape.unescaped.end(), start, cursor.at)
        if cursor.at[0] == b'"':
            cursor.at += 1
            add_token(tape, UNESCAPED, first, <uint32_t>tape.unescaped.size() - first)
            return True
        if cursor.at[0] != b"\\" or not take_escape(tape, cursor):
            return False
        start = cursor.at
        cursor.at = end_of_plain(start, cursor.end)


cdef bint take_escape(Tape* tape, Cursor* cursor) noexcept nogil:
    cdef char named = cursor.at[1]
    cdef uint32_t unit = 0, low = 0
    cursor.at += 2
    if named == b"u":
        if not take_unit(cursor, &unit):
            return False
        if 0xD800 <= unit < 0xDC00:
            if cursor.at[0] != b"\\" or cursor.at[1] != b"u":
                return False
            cursor.at += 2
            if not take_unit(cursor, &low) or not 0xDC00 <= low < 0xE000:
                return False
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        elif 0xDC00 <= unit < 0xE000:
            return False
        add_character(tape, unit)
        return True
    if named == b'"' or named == b"\\" or named == b"/":
        tape.unescaped.push_back(named)
    elif named == b"b":
        tape.unescaped.push_back(8)
    elif named == b"t":
        tape.unescaped.push_back(9)
    elif named == b"n":
        tape.unescaped.push_back(10)
    elif named == b"f":
        tape.unescaped.push_back(12)
    elif named == b"r":
        tape.unescaped.push_back(13)
    else:
        return False
    return True


cdef bint take_unit(Cursor* cursor, uint32_t* unit) noexcept nogil:
    """Takes four hexadecimal digits."""
    cdef char digit
    for _ in range(4):
        digit = cursor.at[0]
        if c"0" <= digit <= c"9":
            unit[0] = unit[0] << 4 | <uint32_t>(digit - c"0")
        elif c"a" <= (digit | 0x20) <= c"f":
            unit[0] = unit[0] << 4 | <uint32_t>((digit | 0x20) - c"a" + 10)
        else:
            return False
        cursor.at += 1
    return True


cdef void add_character(Tape* tape, uint32_t point) noexcept nogil:
    """Adds a character as UTF-8."""
    if point < 0x80:
        tape.unescaped.push_back(<char>point)
        return
    if point < 0x800:
        tape.unescaped.push_back(<char>(0xC0 | point >> 6))
    else:
        if point < 0x10000:
            tape.unescaped.push_back(<char>(0xE0 | point >> 12))
        else:
            tape.unescaped.push_back(<char>(0xF0 | point >> 18))
            tape.unescaped.push_back(<char>(0x80 | (point >> 12 & 0x3F)))
        tape.unescaped.push_back(<char>(0x80 | (point >> 6 & 0x3F)))
    tape.unescaped.push_back(<char>(0x80 | (point & 0x3F)))


cdef bint write_number(Tape* tape, Cursor* cursor) noexcept nogil:
    cdef const char* start = cursor.at
    cdef const char* digits
    cdef Kind kind = WHOLE
    if cursor.at[0] == b"-":
        cursor.at += 1
    digits = cursor.at
    if not take_digits(cursor) or (digits[0] == b"0" and cursor.at > digits + 1):
        return False
    if cursor.at[0] == b".":
        kind = FRACTION
        cursor.at += 1
        if not take_digits(cursor):
            return False
    if cursor.at[0] == b"e" or cursor.at[0] == b"E":
        kind = FRACTION
        if not take_exponent(cursor):
            return False
    add_token(tape, kind, <uint32_t>(start - tape.text), <uint32_t>(cursor.at - start))
    return cursor.at - start <= LONGEST_NUMBER


cdef bint take_exponent(Cursor* cursor) noexcept nogil:
    """Takes an exponent of at most two digits: with more, a number may be beyond a double's
    range."""
    cdef const char* digits
    cursor.at += 1
    if cursor.at[0] == b"+" or cursor.at[0] == b"-":
        cursor.at += 1
    digits = cursor.at
    return take_digits(cursor) and cursor.at - digits <= 2


cdef bint take_digits(Cursor* cursor) noexcept nogil:
    cdef const char* first = cursor.at
    while c"0" <= cursor.at[0] <= c"9":
        cursor.at += 1
    return cursor.at > first


cdef bint read_whole(const Tape* tape, const Token* token, int64_t* whole) noexcept nogil:
    cdef const char* at = tape.text + token.at
    cdef const char* end = at + token.length
    cdef bint is_negative = at[0] == b"-"
    cdef uint64_t found = 0
    at += is_negative
    if end - at > MOST_DIGITS:
        return False
    while at < end:
        found = found * 10 + <uint64_t>(at[0] - c"0")
        at += 1
    if found > <uint64_t>0x7FFFFFFFFFFFFFFF:
        return False
    whole[0] = -<int64_t>found if is_negative else <int64_t>found
    return True


cdef double read_fraction(const Tape* tape, const Token* token) except? -1.0:
    """Reads a number with a point or an exponent. Few digits and a small power of ten are exact
    doubles, so that their quotient is the nearest one: most numbers need no more than that."""
    cdef const char* at = tape.text + token.at
    cdef const char* end = at + token.length
    cdef const char* point = NULL
    cdef bint is_negative = at[0] == b"-"
    cdef uint64_t found = 0
    cdef int digits = 0
    cdef double value
    cdef char* stopped = NULL           # before what follows in the text
    at += is_negative
    while at < end and digits <= EXACT_DIGITS:
        if at[0] == b".":
            point = at
        elif c"0" <= at[0] <= c"9":
            found = found * 10 + <uint64_t>(at[0] - c"0")
            digits += 1
        else:
            break
        at += 1
    if at < end or digits > EXACT_DIGITS or point == NULL or end - point - 1 > EXACT_POWER:
        return PyOS_string_to_double(tape.text + token.at, &stopped, NULL)
    value = <double>found / POWERS[end - point - 1]
    return -value if is_negative else value
