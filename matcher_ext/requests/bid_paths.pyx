"""Finds the values at the end of paths through a tape (bid_paths.pxd)."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.json_tape cimport (
    FALSE_WORD, FRACTION, LIST, NULL_WORD, OBJECT, TRUE_WORD, WHOLE, Text, Token, is_text,
    read_fraction, read_whole, text_of,
)


cdef uint32_t get(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil:
    """Finds the member of an object, the last of this name, or NOTHING."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at = place + 1, found = NOTHING, _
    cdef Text said
    for _ in range(tokens[place].length):
        said = text_of(tape, &tokens[at])
        if said.length == length and memcmp(said.bytes, name, length) == 0:
            found = at + 1
        at = tokens[at + 1].next
    return found


cdef uint32_t get_said(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil:
    """Finds a member that is not null, or NOTHING."""
    cdef uint32_t found = get(tape, place, name, length)
    if found != NOTHING and tape.tokens[found].kind == NULL_WORD:
        return NOTHING
    return found


cdef uint32_t get_object(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil:
    cdef uint32_t found = get(tape, place, name, length)
    if found == NOTHING or tape.tokens[found].kind != OBJECT:
        return NOTHING
    return found


cdef void walk(
    const Tape* tape, uint32_t place, const vector[string]* path, size_t step,
    vector[uint32_t]* found
) noexcept nogil:
    """Finds the values at the end of a path, through lists. Looks into `ext` too: senders may still
    put there what OpenRTB 2.6 moved out of it."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at, below, extended
    if tokens[place].kind == LIST:
        at = place + 1
        while at < tokens[place].next:
            if tokens[at].kind != LIST:
                walk(tape, at, path, step, found)
            at = tokens[at].next
    elif step == path.size():
        if tokens[place].kind != NULL_WORD:
            found.push_back(place)
    elif tokens[place].kind == OBJECT:
        below = get_said(tape, place, path[0][step].data(), path[0][step].size())
        if below == NOTHING:
            extended = get_object(tape, place, b"ext", 3)
            if extended != NOTHING:
                below = get_said(tape, extended, path[0][step].data(), path[0][step].size())
        if below != NOTHING:
            walk(tape, below, path, step + 1, found)


cdef bint add_said(
    const Tape* tape, uint32_t place, string* text, bytes absent
) except -1:
    """Writes a value as Python's str() does; False where only Python knows how."""
    cdef const Token* token
    cdef Text said
    if place == NOTHING:
        text.append(<string>absent)
        return True
    token = &tape.tokens[place]
    if is_text(token):
        said = text_of(tape, token)
        text.append(said.bytes, said.length)
        return True
    if token.kind == NULL_WORD:
        text.append(b"None")
        return True
    return add_whole(tape, token, text)


cdef bint add_whole(const Tape* tape, const Token* token, string* text) except -1:
    cdef const char* digits = tape.text + token.at
    if token.kind != WHOLE or (digits[0] == b"-" and digits[1] == b"0"):
        return False
    text.append(digits, token.length)
    return True


cdef bint is_truthy(const Tape* tape, const Token* token) except -1:
    cdef uint32_t i
    if token.kind == WHOLE:
        for i in range(token.length):
            if c"1" <= tape.text[token.at + i] <= c"9":
                return True
        return False
    if token.kind == FRACTION:
        return read_fraction(tape, token) != 0
    return token.kind == TRUE_WORD or (
        token.kind not in (FALSE_WORD, NULL_WORD) and token.length > 0
    )


cdef bint is_bit(const Tape* tape, const Token* token) except -1:
    cdef int64_t whole = 0
    cdef double fraction
    if token.kind == WHOLE:
        return read_whole(tape, token, &whole) and (whole == 0 or whole == 1)
    fraction = read_fraction(tape, token)
    return fraction == 0 or fraction == 1


cdef bint is_said(
    const Tape* tape, const Token* token, const char* wanted, size_t length
) noexcept nogil:
    cdef Text said
    if not is_text(token):
        return False
    said = text_of(tape, token)
    return said.length == length and memcmp(said.bytes, wanted, length) == 0


cdef bint is_ascii(Text text) noexcept nogil:
    cdef size_t i
    cdef char bits = 0
    for i in range(text.length):
        bits |= text.bytes[i]
    return bits >= 0


cdef int set_lowered(string* target, Text text) except -1:
    cdef Py_ssize_t length = 0
    cdef const char* lowered
    cdef size_t i
    cdef char letter
    target.clear()
    if is_ascii(text):
        for i in range(text.length):
            letter = text.bytes[i]
            target.push_back(letter + 32 if c"A" <= letter <= c"Z" else letter)
        return 0
    said = PyUnicode_DecodeUTF8(text.bytes, text.length, NULL).lower()
    lowered = PyUnicode_AsUTF8AndSize(said, &length)
    target.assign(lowered, length)
    return 0
