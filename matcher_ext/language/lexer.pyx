"""Reads tokens. Names are ASCII; values may be anything that UTF-8 can carry (lexer.pxd)."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from matcher_ext.language.limits cimport MAX_PROBLEMS
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place
from matcher_ext.values.literals cimport fold, is_digit, is_high
from matcher_ext.values.problems cimport BAD_NAME, BAD_NUMBER, UNCLOSED_STRING, UNEXPECTED_CHARACTER
from matcher_ext.values.spans cimport Span
from matcher_ext.values.tree cimport (
    OP_EQUAL, OP_GREATER, OP_GREATER_EQUAL, OP_LESS, OP_LESS_EQUAL, OP_NOT_EQUAL, Note, Problem,
)

KEYWORDS = {
    "and": KEY_AND, "or": KEY_OR, "not": KEY_NOT, "xor": KEY_XOR, "xnor": KEY_XNOR,
    "true": KEY_TRUE, "false": KEY_FALSE, "in": KEY_IN, "between": KEY_BETWEEN, "is": KEY_IS,
    "present": KEY_PRESENT, "missing": KEY_MISSING, "empty": KEY_EMPTY, "one": KEY_ONE,
    "all": KEY_ALL, "none": KEY_NONE_OF, "only": KEY_ONLY, "of": KEY_OF, "starts": KEY_STARTS,
    "ends": KEY_ENDS, "with": KEY_WITH, "contains": KEY_CONTAINS, "like": KEY_LIKE,
    "under": KEY_UNDER, "during": KEY_DURING, "network": KEY_NETWORK, "within": KEY_WITHIN,
    "km": KEY_KM, "inside": KEY_INSIDE, "polygon": KEY_POLYGON, "count": KEY_COUNT,
}

cdef enum:
    KEYWORD_SLOTS = 128

# No keyword is longer than eight letters, so each is one 64-bit word. Open addressing
# (probing.pxd).
cdef uint64_t keyword_letters[KEYWORD_SLOTS]
cdef uint8_t keyword_codes[KEYWORD_SLOTS]

# Tells what a byte can begin or continue.
cdef enum CharClass:
    CHAR_OTHER
    CHAR_SPACE
    CHAR_LETTER         # and `_`
    CHAR_DIGIT

cdef uint8_t char_class[256]


cdef inline size_t keyword_slot(uint64_t letters) noexcept nogil:
    return first_place((letters * 0x9E3779B97F4A7C15ULL) >> 57, KEYWORD_SLOTS - 1)


cdef int fill_tables() except -1:
    cdef size_t slot
    cdef uint64_t letters
    for byte in range(256):
        character = chr(byte)
        if character in " \t\r\n":
            char_class[byte] = CHAR_SPACE
        elif character == "_" or (byte < 128 and character.isalpha()):
            char_class[byte] = CHAR_LETTER
        elif character in "0123456789":
            char_class[byte] = CHAR_DIGIT
    for word, code in KEYWORDS.items():
        letters = int.from_bytes(word.encode(), "big")
        slot = keyword_slot(letters)
        while keyword_codes[slot] != KEY_NONE:
            slot = next_place(slot, KEYWORD_SLOTS - 1)
        keyword_letters[slot] = letters
        keyword_codes[slot] = code
    return 0


fill_tables()


cdef uint8_t find_keyword(const char* text, uint32_t length) noexcept nogil:
    cdef uint64_t letters = 0
    cdef uint32_t i
    cdef size_t slot
    if length > 8:
        return KEY_NONE
    for i in range(length):
        letters = letters << 8 | <uint8_t>fold(text[i])
    slot = keyword_slot(letters)
    while keyword_codes[slot] != KEY_NONE:
        if keyword_letters[slot] == letters:
            return keyword_codes[slot]
        slot = next_place(slot, KEYWORD_SLOTS - 1)
    return KEY_NONE


cdef void add_problem(
    Cursor* cursor, uint32_t code, uint32_t start, uint32_t end, uint32_t attribute, uint32_t other
) noexcept nogil:
    cdef Problem problem
    if cursor.stopped:
        return
    problem.code = code
    problem.start = start
    problem.length = end - start
    problem.attribute = attribute
    problem.other = other
    cursor.tree.problems.push_back(problem)
    if cursor.tree.problems.size() >= MAX_PROBLEMS:
        cursor.stopped = True


cdef inline bint is_name_byte(char c) noexcept nogil:
    return char_class[<uint8_t>c] >= CHAR_LETTER


cdef uint32_t skip_blank(Cursor* cursor) noexcept nogil:
    """Skips spaces, collects notes; returns where the next token starts."""
    cdef const char* text = cursor.text
    cdef uint32_t at = cursor.position
    while at < cursor.length:
        if char_class[<uint8_t>text[at]] == CHAR_SPACE:
            at += 1
        elif text[at] == c'#':
            at = collect_note(cursor, at)
        else:
            break
    return at


cdef uint32_t collect_note(Cursor* cursor, uint32_t at) noexcept nogil:
    """Keeps the note that starts at a `#`, without the blanks around it; returns its end."""
    cdef const char* text = cursor.text
    cdef uint32_t end = at
    cdef Note note
    while end < cursor.length and text[end] != c'\n':
        end += 1
    cdef uint32_t first = at + 1
    cdef uint32_t last = end
    note.disabled = first < end and text[first] == c'-'
    first += note.disabled
    while first < last and char_class[<uint8_t>text[first]] == CHAR_SPACE:
        first += 1
    while last > first and char_class[<uint8_t>text[last - 1]] == CHAR_SPACE:
        last -= 1
    note.span = Span(first, last - first)
    note.owner = NOTHING
    cursor.tree.notes.push_back(note)
    return end


cdef void advance(Cursor* cursor) noexcept nogil:
    cursor.last_end = cursor.token.end
    cdef Token* token = &cursor.token
    cdef uint32_t at = skip_blank(cursor)
    token.start = at
    token.end = at
    token.word = 0
    token.escaped = 0
    if at >= cursor.length or cursor.stopped:
        token.kind = TOKEN_END
        return
    cdef char c = cursor.text[at]
    cdef uint8_t kind = char_class[<uint8_t>c]
    if kind == CHAR_LETTER:
        read_name(cursor, token)
    elif c == c"'" or c == c'"':
        read_string(cursor, token, c)
    elif kind == CHAR_DIGIT or c == c'-' or c == c'+':
        read_number(cursor, token)
    elif c == c'@' or c == c'$':
        read_reference(cursor, token, c)
    else:
        read_symbol(cursor, token, c)
    cursor.position = token.end


cdef void read_name(Cursor* cursor, Token* token) noexcept nogil:
    """Reads a keyword, or names joined by dots."""
    cdef const char* text = cursor.text
    cdef uint32_t at = token.start
    cdef bint dotted = False
    while at < cursor.length:
        if is_name_byte(text[at]):
            at += 1
        elif text[at] == c'.' and at + 1 < cursor.length and (
            char_class[<uint8_t>text[at + 1]] == CHAR_LETTER
        ):
            dotted = True
            at += 1
        else:
            break
    token.end = at
    token.kind = TOKEN_NAME
    if not dotted:
        token.word = find_keyword(text + token.start, at - token.start)
        if token.word != KEY_NONE:
            token.kind = TOKEN_KEYWORD


cdef void read_string(Cursor* cursor, Token* token, char quote) noexcept nogil:
    cdef const char* text = cursor.text
    cdef uint32_t at = token.start + 1
    token.kind = TOKEN_STRING
    while at < cursor.length and text[at] != quote and text[at] != c'\n':
        if text[at] == c'\\':
            token.escaped = 1
            at += 1
            if at >= cursor.length or text[at] == c'\n':
                break
        at += 1
    if at < cursor.length and text[at] == quote:
        token.end = at + 1
        return
    while at > token.start + 1 and text[at - 1] == c'\r':
        at -= 1
    token.end = at
    token.kind = TOKEN_INVALID
    add_problem(cursor, UNCLOSED_STRING, token.start, at, NOTHING, 0)


cdef uint32_t skip_digits(const Cursor* cursor, uint32_t at) noexcept nogil:
    while at < cursor.length and is_digit(cursor.text[at]):
        at += 1
    return at


cdef void read_number(Cursor* cursor, Token* token) noexcept nogil:
    """Reads JSON's numbers; refuses a leading `+` or zeros, and letters that stick to a number."""
    cdef const char* text = cursor.text
    cdef uint32_t first = token.start + (1 if text[token.start] == c'-' else 0)
    cdef uint32_t at = skip_digits(cursor, first)
    cdef bint good = at > first and (text[first] != c'0' or at == first + 1)
    token.kind = TOKEN_INTEGER
    if at < cursor.length and text[at] == c'.':
        token.kind = TOKEN_FLOAT
        first = at + 1
        at = skip_digits(cursor, first)
        good = good and at > first
    if at < cursor.length and fold(text[at]) == c'e':
        token.kind = TOKEN_FLOAT
        first = at + 1
        if first < cursor.length and (text[first] == c'+' or text[first] == c'-'):
            first += 1
        at = skip_digits(cursor, first)
        good = good and at > first
    while at < cursor.length and (is_name_byte(text[at]) or text[at] == c'.' or at == token.start):
        good = False
        at += 1
    token.end = at
    if not good:
        token.kind = TOKEN_INVALID
        add_problem(cursor, BAD_NUMBER, token.start, at, NOTHING, 0)


cdef void read_reference(Cursor* cursor, Token* token, char mark) noexcept nogil:
    """Reads `@name` or `$name`: letters, digits, `_` and `-`, joined by dots."""
    cdef const char* text = cursor.text
    cdef uint32_t at = token.start + 1
    while at < cursor.length and (
        is_name_byte(text[at])
        or (at > token.start + 1 and (text[at] == c'-' or text[at] == c'.')
            and at + 1 < cursor.length and is_name_byte(text[at + 1]))
    ):
        at += 1
    token.end = at
    token.kind = TOKEN_REFERENCE if mark == c'@' else TOKEN_LIST
    if at == token.start + 1:
        token.kind = TOKEN_INVALID
        add_problem(cursor, BAD_NAME, token.start, at, NOTHING, 0)


cdef void read_symbol(Cursor* cursor, Token* token, char c) noexcept nogil:
    cdef uint32_t at = token.start
    cdef char following = cursor.text[at + 1] if at + 1 < cursor.length else 0
    cdef bint equals = following == c'='
    token.kind = TOKEN_COMPARE
    token.end = at + 1
    if c == c'(':
        token.kind = TOKEN_OPEN
    elif c == c')':
        token.kind = TOKEN_CLOSE
    elif c == c',':
        token.kind = TOKEN_COMMA
    elif c == c'=':
        token.word = OP_EQUAL
        token.end += equals
    elif c == c'<' and following == c'>':
        token.word = OP_NOT_EQUAL
        token.end += 1
    elif c == c'<':
        token.word = OP_LESS_EQUAL if equals else OP_LESS
        token.end += equals
    elif c == c'>':
        token.word = OP_GREATER_EQUAL if equals else OP_GREATER
        token.end += equals
    elif c == c'!' and equals:
        token.word = OP_NOT_EQUAL
        token.end += 1
    elif c == c'!' or ((c == c'&' or c == c'|') and following == c):
        token.kind = TOKEN_KEYWORD
        token.word = KEY_NOT if c == c'!' else KEY_AND if c == c'&' else KEY_OR
        token.end += c != c'!'
    else:
        refuse_characters(cursor, token)


cdef void refuse_characters(Cursor* cursor, Token* token) noexcept nogil:
    """Notes one problem for a run of bytes that can begin no token."""
    cdef const char* text = cursor.text
    cdef uint32_t at = token.start + 1
    if is_high(text[token.start]):
        while at < cursor.length and (is_high(text[at]) or is_name_byte(text[at])):
            at += 1
    token.end = at
    token.kind = TOKEN_INVALID
    add_problem(cursor, UNEXPECTED_CHARACTER, token.start, at, NOTHING, 0)
