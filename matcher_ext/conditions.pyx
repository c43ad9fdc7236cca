"""One condition of a text: attribute, operator, typed operands.

A wrong name, operator or value is reported and reading goes on; only a broken shape gives up.
"""
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp
from libcpp.vector cimport vector

from matcher_ext.arena cimport *
from matcher_ext.catalog cimport Attribute, CatalogTable, List, find_attribute, find_list
from matcher_ext.lexer cimport *
from matcher_ext.literals cimport (
    READ_BAD, READ_HOST_BITS, Address, Reading, fold, host_length, is_digit, is_host,
    read_address, read_float, read_integer, read_network, read_schedule, read_timestamp,
)
from matcher_ext.parser cimport MAX_LIST, MAX_VALUES
from matcher_ext.problems cimport *

# What is known about a condition while it is read.
cdef struct Draft:
    Condition condition
    uint8_t type        # Type of one operand, or UNKNOWN
    uint32_t operator_start
    uint32_t operator_end

cdef enum:
    UNKNOWN = 255       # the attribute or operator was wrong: operands are only skipped


cdef inline uint32_t bit(uint32_t op) noexcept nogil:
    return <uint32_t>1 << op


cdef inline uint32_t always_allowed() noexcept nogil:
    return bit(OP_IS_PRESENT) | bit(OP_IS_MISSING)


cdef uint32_t allowed_operators(uint8_t type) noexcept nogil:
    """The table of language and types, as one bit per operator."""
    cdef uint32_t equality = always_allowed() | bit(OP_EQUAL) | bit(OP_NOT_EQUAL)
    cdef uint32_t ordered = equality | bit(OP_LESS) | bit(OP_LESS_EQUAL) | bit(OP_GREATER) | (
        bit(OP_GREATER_EQUAL) | bit(OP_BETWEEN) | bit(OP_IN)
    )
    if type == BOOLEAN:
        return equality | bit(OP_BARE)
    if type == INTEGER or type == FLOAT:
        return ordered
    if type == TIMESTAMP or type == TIMESTAMP_LOCAL:
        return ordered | bit(OP_DURING)
    if type == STRING:
        return equality | bit(OP_IN) | bit(OP_STARTS_WITH) | bit(OP_ENDS_WITH) | (
            bit(OP_CONTAINS) | bit(OP_LIKE) | bit(OP_UNDER)
        )
    if type == STRING_SET or type == INTEGER_SET:
        return always_allowed() | bit(OP_ONE_OF) | bit(OP_ALL_OF) | bit(OP_NONE_OF) | (
            bit(OP_ONLY_OF) | bit(OP_IS_EMPTY)
        )
    if type == IP:
        return equality | bit(OP_IN_NETWORK)
    return always_allowed() | bit(OP_WITHIN) | bit(OP_INSIDE)


cdef bint expect_word(Cursor* cursor, uint8_t word) noexcept nogil:
    if at_keyword(cursor, word):
        advance(cursor)
        return True
    if cursor.token.kind != TOKEN_INVALID:
        add_problem(cursor, EXPECTED_WORD, cursor.token.start, cursor.token.end, NOTHING, word)
    return False


cdef uint32_t parse_condition(Cursor* cursor) noexcept nogil:
    cdef Draft draft
    cdef bint readable
    draft.condition.attribute = NOTHING
    draft.condition.list_name = NOTHING
    draft.condition.first = <uint32_t>cursor.tree.words.size()
    draft.condition.count = 0
    draft.condition.raw_first = <uint32_t>cursor.tree.raw.size()
    draft.condition.negated = 0
    draft.condition.counted = 0
    draft.type = UNKNOWN
    if cursor.token.kind == TOKEN_KEYWORD:
        readable = parse_count(cursor, &draft)
    else:
        read_attribute(cursor, &draft)
        readable = parse_operator(cursor, &draft) and parse_operands(cursor, &draft)
    if not readable:
        return NOTHING
    draft.condition.count = <uint32_t>cursor.tree.words.size() - draft.condition.first
    draft.condition.raw_count = <uint32_t>cursor.tree.raw.size() - draft.condition.raw_first
    cursor.tree.conditions.push_back(draft.condition)
    return <uint32_t>(cursor.tree.conditions.size() - 1)


cdef void read_attribute(Cursor* cursor, Draft* draft) noexcept nogil:
    cdef const Token* token = &cursor.token
    cdef uint32_t attribute = find_attribute(
        cursor.table, cursor.text + token.start, token.end - token.start
    )
    draft.condition.attribute = attribute
    if attribute == NOTHING:
        add_problem(cursor, UNKNOWN_ATTRIBUTE, token.start, token.end, NOTHING, 0)
    else:
        draft.type = cursor.table.attributes[attribute].type
    advance(cursor)


cdef bint parse_count(Cursor* cursor, Draft* draft) noexcept nogil:
    """`count(attribute) <op> n`"""
    draft.operator_start = cursor.token.start
    draft.operator_end = cursor.token.end
    draft.condition.counted = 1
    advance(cursor)
    if cursor.token.kind != TOKEN_OPEN:
        add_problem(cursor, EXPECTED_LIST, cursor.token.start, cursor.token.end, NOTHING, 1)
        return False
    advance(cursor)
    if cursor.token.kind != TOKEN_NAME:
        add_problem(cursor, UNKNOWN_ATTRIBUTE, cursor.token.start, cursor.token.end, NOTHING, 1)
        return False
    read_attribute(cursor, draft)
    if draft.type != UNKNOWN and draft.type != STRING_SET and draft.type != INTEGER_SET:
        refuse_operator(cursor, draft)
    if cursor.token.kind != TOKEN_CLOSE:
        add_problem(cursor, EXPECTED_LIST, cursor.token.start, cursor.token.end, NOTHING, 2)
        return False
    advance(cursor)
    if cursor.token.kind != TOKEN_COMPARE:
        add_problem(
            cursor, EXPECTED_OPERATOR, cursor.token.start, cursor.token.end,
            draft.condition.attribute, 1,
        )
        return False
    draft.condition.op = cursor.token.word
    advance(cursor)
    return parse_count_value(cursor)


cdef bint parse_count_value(Cursor* cursor) noexcept nogil:
    cdef Token token = cursor.token
    cdef int64_t number = 0
    if token.kind != TOKEN_INTEGER:
        if token.kind != TOKEN_INVALID:
            add_problem(cursor, BAD_COUNT, token.start, token.end, NOTHING, 0)
        if token.kind != TOKEN_FLOAT and token.kind != TOKEN_STRING:
            return False
    elif not read_integer(cursor.text + token.start, token.end - token.start, &number):
        add_problem(cursor, INTEGER_TOO_LARGE, token.start, token.end, NOTHING, 0)
    elif number < 0:
        add_problem(cursor, BAD_COUNT, token.start, token.end, NOTHING, 0)
    cursor.tree.words.push_back(number)
    advance(cursor)
    return True


cdef void refuse_operator(Cursor* cursor, Draft* draft) noexcept nogil:
    """The operator does not fit the attribute's type: say so, then only skip the operands."""
    add_problem(
        cursor, WRONG_OPERATOR, draft.operator_start, draft.operator_end,
        draft.condition.attribute,
        100 if draft.condition.counted else draft.condition.op,
    )
    draft.type = UNKNOWN


cdef bint parse_operator(Cursor* cursor, Draft* draft) noexcept nogil:
    cdef Token token = cursor.token
    draft.operator_start = token.start
    if token.kind == TOKEN_COMPARE:
        draft.condition.op = token.word
        advance(cursor)
    else:
        if at_keyword(cursor, KEY_NOT):
            token = peek(cursor)
            if token.kind == TOKEN_COMPARE:
                add_problem(
                    cursor, EXPECTED_OPERATOR, draft.operator_start, token.end,
                    draft.condition.attribute, 2 + token.word,
                )
                return False
            if not is_word_operator(&token):
                return end_bare(cursor, draft)
            draft.condition.negated = 1
            advance(cursor)
        if cursor.token.kind != TOKEN_KEYWORD:
            return end_bare(cursor, draft)
        if not parse_word_operator(cursor, draft, cursor.token.word):
            return False
    draft.operator_end = cursor.last_end
    if draft.type != UNKNOWN and (
        draft.condition.op != OP_BARE
        and not allowed_operators(draft.type) & bit(draft.condition.op)
    ):
        refuse_operator(cursor, draft)
    return True


cdef Token peek(const Cursor* cursor) noexcept nogil:
    """The token after the current one, without moving the cursor."""
    cdef Cursor ahead = cursor[0]
    cdef size_t notes = ahead.tree.notes.size()
    cdef size_t problems = ahead.tree.problems.size()
    advance(&ahead)
    ahead.tree.notes.resize(notes)
    ahead.tree.problems.resize(problems)
    return ahead.token


cdef bint is_word_operator(const Token* token) noexcept nogil:
    """Whether an infix `not` may stand before it."""
    return token.kind == TOKEN_KEYWORD and token.word >= KEY_IN and token.word != KEY_COUNT


cdef bint end_bare(Cursor* cursor, Draft* draft) noexcept nogil:
    """No operator: a Boolean attribute alone, or a mistake."""
    cdef uint8_t kind = cursor.token.kind
    draft.condition.op = OP_BARE
    if draft.type == BOOLEAN or kind == TOKEN_INVALID:
        return kind != TOKEN_INVALID
    if draft.type == UNKNOWN and (
        kind == TOKEN_END or kind == TOKEN_CLOSE or kind == TOKEN_KEYWORD
    ):
        return True
    if kind == TOKEN_END or kind == TOKEN_CLOSE or kind == TOKEN_KEYWORD:
        add_problem(
            cursor, BARE_ATTRIBUTE, cursor.last_end - attribute_length(cursor, draft),
            cursor.last_end, draft.condition.attribute, 0,
        )
        return True
    add_problem(
        cursor, EXPECTED_OPERATOR, cursor.token.start, cursor.token.end,
        draft.condition.attribute, 0,
    )
    return False


cdef uint32_t attribute_length(const Cursor* cursor, const Draft* draft) noexcept nogil:
    return cursor.table.attributes[draft.condition.attribute].name.length


cdef bint parse_word_operator(Cursor* cursor, Draft* draft, uint8_t word) noexcept nogil:
    """Operators of one word or more; those that a bare attribute is followed by end it."""
    cdef Condition* condition = &draft.condition
    if word < KEY_IN:                       # and, or, xor, xnor, true, false
        return end_bare(cursor, draft)
    advance(cursor)
    if word == KEY_IN:
        condition.op = OP_IN
        if at_keyword(cursor, KEY_NETWORK):
            condition.op = OP_IN_NETWORK
            advance(cursor)
    elif word == KEY_IS:
        return parse_is(cursor, draft)
    elif word == KEY_BETWEEN:
        condition.op = OP_BETWEEN
    elif word == KEY_CONTAINS:
        condition.op = OP_CONTAINS
    elif word == KEY_LIKE:
        condition.op = OP_LIKE
    elif word == KEY_UNDER:
        condition.op = OP_UNDER
    elif word == KEY_DURING:
        condition.op = OP_DURING
    elif word == KEY_WITHIN:
        condition.op = OP_WITHIN
    elif word == KEY_STARTS or word == KEY_ENDS:
        condition.op = OP_STARTS_WITH if word == KEY_STARTS else OP_ENDS_WITH
        return expect_word(cursor, KEY_WITH)
    elif word == KEY_INSIDE:
        condition.op = OP_INSIDE
        return expect_word(cursor, KEY_POLYGON)
    elif word == KEY_ONE or word == KEY_ALL or word == KEY_NONE_OF or word == KEY_ONLY:
        condition.op = (
            OP_ONE_OF if word == KEY_ONE else OP_ALL_OF if word == KEY_ALL
            else OP_NONE_OF if word == KEY_NONE_OF else OP_ONLY_OF
        )
        return expect_word(cursor, KEY_OF)
    else:
        add_problem(
            cursor, EXPECTED_OPERATOR, draft.operator_start, cursor.last_end,
            condition.attribute, 0,
        )
        return False
    return True


cdef bint parse_is(Cursor* cursor, Draft* draft) noexcept nogil:
    """`is [not] present | missing | empty`; `not is ..` means the same as `is not ..`."""
    if at_keyword(cursor, KEY_NOT):
        draft.condition.negated = not draft.condition.negated
        advance(cursor)
    if at_keyword(cursor, KEY_PRESENT):
        draft.condition.op = OP_IS_PRESENT
    elif at_keyword(cursor, KEY_MISSING):
        draft.condition.op = OP_IS_MISSING
    else:
        draft.condition.op = OP_IS_EMPTY
        return expect_word(cursor, KEY_EMPTY)
    advance(cursor)
    return True


cdef bint parse_operands(Cursor* cursor, Draft* draft) noexcept nogil:
    cdef uint8_t op = draft.condition.op
    if op == OP_BARE or op == OP_IS_PRESENT or op == OP_IS_MISSING or (
        op == OP_IS_EMPTY
    ):
        return True
    if op == OP_BETWEEN:
        return parse_range(cursor, draft)
    if op == OP_WITHIN:
        return parse_circle(cursor, draft)
    if op == OP_INSIDE:
        return parse_polygon(cursor, draft)
    if op == OP_IN or op == OP_IN_NETWORK or op == OP_UNDER or (
        op >= OP_ONE_OF and op <= OP_ONLY_OF
    ):
        return parse_list(cursor, draft)
    return parse_value(cursor, draft)


cdef bint parse_range(Cursor* cursor, Draft* draft) noexcept nogil:
    cdef uint32_t start = cursor.token.start
    cdef size_t at = cursor.tree.words.size()
    cdef size_t problems = cursor.tree.problems.size()
    if not parse_value(cursor, draft):
        return False
    if not expect_word(cursor, KEY_AND):
        return False
    if not parse_value(cursor, draft):
        return False
    if draft.type == UNKNOWN or cursor.tree.problems.size() > problems:
        return True
    cdef int64_t low = cursor.tree.words[at]
    cdef int64_t high = cursor.tree.words[at + 1]
    if float_of(low) > float_of(high) if draft.type == FLOAT else low > high:
        add_problem(
            cursor, REVERSED_RANGE, start, cursor.last_end, draft.condition.attribute, 0
        )
    return True


cdef bint parse_list(Cursor* cursor, Draft* draft) noexcept nogil:
    cdef uint32_t opening = cursor.token.start
    if cursor.token.kind == TOKEN_LIST:
        return parse_managed_list(cursor, draft)
    if cursor.token.kind != TOKEN_OPEN:
        if cursor.token.kind != TOKEN_INVALID:
            add_problem(
                cursor, EXPECTED_LIST, cursor.token.start, cursor.token.end,
                draft.condition.attribute, 0,
            )
        return skip_value(cursor)
    advance(cursor)
    if cursor.token.kind == TOKEN_CLOSE:
        add_problem(
            cursor, EMPTY_LIST, opening, cursor.token.end, draft.condition.attribute, 0
        )
        advance(cursor)
        return True
    while True:
        if not parse_value(cursor, draft):
            return close_brackets(cursor, 1)
        count_value(cursor)
        if cursor.token.kind == TOKEN_COMMA:
            advance(cursor)
        elif cursor.token.kind == TOKEN_CLOSE:
            advance(cursor)
            return True
        elif is_value(cursor):
            add_problem(
                cursor, EXPECTED_COMMA, cursor.token.start, cursor.token.end, NOTHING, 0
            )
        else:
            add_problem(cursor, UNCLOSED_LIST, opening, opening + 1, NOTHING, 0)
            return False


cdef bint is_value(const Cursor* cursor) noexcept nogil:
    cdef uint8_t kind = cursor.token.kind
    return kind == TOKEN_STRING or kind == TOKEN_INTEGER or kind == TOKEN_FLOAT


cdef bint skip_value(Cursor* cursor) noexcept nogil:
    """After a complaint about a missing bracket: a single value can be read over."""
    if not is_value(cursor):
        return False
    advance(cursor)
    return True


cdef void count_value(Cursor* cursor) noexcept nogil:
    cursor.values += 1
    if cursor.values == MAX_VALUES + 1 and not cursor.composed:
        add_problem(
            cursor, TOO_MANY_VALUES, cursor.last_end - 1, cursor.last_end, NOTHING, MAX_VALUES
        )


cdef bint close_brackets(Cursor* cursor, uint32_t open_brackets) noexcept nogil:
    """After a problem inside brackets: skips behind them. False if they are never closed."""
    while cursor.token.kind != TOKEN_END:
        if cursor.token.kind == TOKEN_OPEN:
            open_brackets += 1
        elif cursor.token.kind == TOKEN_CLOSE:
            open_brackets -= 1
        elif cursor.token.kind == TOKEN_KEYWORD and cursor.token.word <= KEY_XNOR:
            return False
        advance(cursor)
        if open_brackets == 0:
            return True
    return False


cdef bint parse_managed_list(Cursor* cursor, Draft* draft) noexcept nogil:
    """`$name`: the values come from the catalogue's lists and are checked like inline ones."""
    cdef Token token = cursor.token
    cdef const char* name = cursor.text + token.start + 1
    cdef uint32_t found
    draft.condition.list_name = <uint32_t>cursor.tree.names.size()
    cursor.tree.names.push_back(Span(token.start + 1, token.end - token.start - 1))
    advance(cursor)
    if not cursor.table.knows_lists:
        return True
    found = find_list(cursor.table, name, token.end - token.start - 1)
    if found == NOTHING:
        add_problem(cursor, UNKNOWN_LIST, token.start, token.end, NOTHING, 0)
    elif draft.type != UNKNOWN:
        take_list(cursor, draft, &cursor.table.lists[found], &token)
    return True


cdef void take_list(
    Cursor* cursor, Draft* draft, const List* managed, const Token* token
) noexcept nogil:
    cdef const int64_t* words = cursor.table.words.data() + managed.first
    cdef const char* bytes = cursor.table.bytes.data()
    cdef uint32_t i
    cdef uint32_t problem
    if managed.count > MAX_LIST:
        add_problem(cursor, LIST_TOO_LONG, token.start, token.end, NOTHING, MAX_LIST)
        return
    for i in range(managed.count):
        if managed.textual:
            problem = take_text(
                cursor, draft, bytes + text_offset(words[i]), text_length(words[i])
            )
        else:
            problem = take_number(cursor, draft, words[i])
        if problem != NOTHING:
            add_problem(
                cursor, WRONG_LIST, token.start, token.end, draft.condition.attribute, i
            )
            return


cdef uint32_t take_number(Cursor* cursor, Draft* draft, int64_t number) noexcept nogil:
    if draft.type == INTEGER or draft.type == INTEGER_SET:
        cursor.tree.words.push_back(number)
    elif draft.type == FLOAT:
        cursor.tree.words.push_back(word_of(<double>number))
    else:
        return WRONG_VALUE
    return NOTHING


cdef uint32_t take_text(
    Cursor* cursor, Draft* draft, const char* text, uint32_t length
) noexcept nogil:
    """Appends a text operand in its typed form, or returns the problem with it."""
    cdef Tree* tree = cursor.tree
    cdef int64_t ms = 0
    cdef uint32_t offset
    if draft.type == TIMESTAMP or draft.type == TIMESTAMP_LOCAL:
        if draft.condition.op == OP_DURING:
            return take_schedule(cursor, draft, text, length)
        if not read_timestamp(text, length, &ms):
            return BAD_TIMESTAMP
        tree.words.push_back(ms)
        return NOTHING
    if draft.type == IP:
        return take_network(cursor, draft, text, length)
    if draft.type != STRING and draft.type != STRING_SET:
        return WRONG_VALUE
    if draft.condition.op == OP_UNDER:
        return take_host(tree, text, length)
    if length == 0 and draft.condition.op >= OP_STARTS_WITH and (
        draft.condition.op <= OP_LIKE
    ):
        return EMPTY_STRING
    offset = <uint32_t>tree.bytes.size()
    tree.bytes.insert(tree.bytes.end(), text, text + length)
    tree.words.push_back(text_word(offset, length))
    return NOTHING


cdef uint32_t take_schedule(
    Cursor* cursor, Draft* draft, const char* text, uint32_t length
) noexcept nogil:
    cdef vector[int64_t] pairs
    cdef uint32_t offset = <uint32_t>cursor.tree.bytes.size()
    if draft.type == TIMESTAMP_LOCAL and cursor.table.utc_offset == NOTHING:
        return NO_UTC_OFFSET
    if not read_schedule(text, length, &pairs):
        return BAD_SCHEDULE
    cursor.tree.bytes.insert(cursor.tree.bytes.end(), text, text + length)
    cursor.tree.words.push_back(text_word(offset, length))
    return NOTHING


cdef uint32_t take_network(
    Cursor* cursor, Draft* draft, const char* text, uint32_t length
) noexcept nogil:
    cdef Address address
    cdef int64_t prefix = 128
    cdef Reading reading
    if draft.condition.op == OP_IN_NETWORK:
        reading = read_network(text, length, &address, &prefix)
        if reading == READ_HOST_BITS:
            return HOST_BITS
        if reading == READ_BAD:
            return BAD_NETWORK
    elif not read_address(text, length, &address):
        return BAD_ADDRESS
    cursor.tree.words.push_back(<int64_t>address.high)
    cursor.tree.words.push_back(<int64_t>address.low)
    cursor.tree.words.push_back(prefix)
    return NOTHING


cdef uint32_t take_host(Tree* tree, const char* text, uint32_t length) noexcept nogil:
    cdef uint32_t offset = <uint32_t>tree.bytes.size()
    cdef uint32_t i
    if not is_host(text, length):
        return BAD_HOST
    length = <uint32_t>host_length(text, length)
    for i in range(length):
        tree.bytes.push_back(fold(text[i]))
    tree.words.push_back(text_word(offset, length))
    return NOTHING


cdef bint parse_value(Cursor* cursor, Draft* draft) noexcept nogil:
    """One literal of the draft's type. False only where reading cannot go on."""
    cdef Token token = cursor.token
    cdef uint32_t problem = NOTHING
    if token.kind == TOKEN_STRING:
        problem = parse_string(cursor, draft, &token)
    elif token.kind == TOKEN_INTEGER or token.kind == TOKEN_FLOAT:
        problem = parse_number(cursor, draft, &token)
    elif at_keyword(cursor, KEY_TRUE) or at_keyword(cursor, KEY_FALSE):
        if draft.type == BOOLEAN:
            cursor.tree.words.push_back(token.word == KEY_TRUE)
        elif draft.type != UNKNOWN:
            problem = WRONG_VALUE
    elif token.kind == TOKEN_NAME:
        problem = UNQUOTED_TEXT
    else:
        if token.kind != TOKEN_INVALID:
            add_problem(
                cursor, EXPECTED_VALUE, token.start, token.end, draft.condition.attribute,
                draft.condition.op,
            )
            return False
    if problem != NOTHING:
        add_problem(
            cursor, problem, token.start, token.end, draft.condition.attribute,
            draft.condition.op,
        )
    elif draft.type != UNKNOWN and token.kind != TOKEN_INVALID:
        check_domain(cursor, draft, &token)
    advance(cursor)
    return True


cdef uint32_t parse_number(Cursor* cursor, Draft* draft, const Token* token) noexcept nogil:
    cdef const char* text = cursor.text + token.start
    cdef uint32_t length = token.end - token.start
    cdef int64_t number = 0
    cdef double value = 0.0
    if draft.type == INTEGER or draft.type == INTEGER_SET:
        if token.kind == TOKEN_INTEGER:
            if not read_integer(text, length, &number):
                return INTEGER_TOO_LARGE
        else:
            if not read_float(text, length, &value):
                return INTEGER_TOO_LARGE
            if fabs(value) >= 9223372036854775808.0:
                return INTEGER_TOO_LARGE
            number = <int64_t>value
            if <double>number != value:
                return WRONG_VALUE
        cursor.tree.words.push_back(number)
        return NOTHING
    if draft.type == FLOAT:
        if not read_float(text, length, &value):
            return FLOAT_NOT_FINITE
        cursor.tree.words.push_back(word_of(value))
        return NOTHING
    return NOTHING if draft.type == UNKNOWN else WRONG_VALUE


cdef uint32_t parse_string(Cursor* cursor, Draft* draft, const Token* token) noexcept nogil:
    cdef const char* text = cursor.text + token.start + 1
    cdef uint32_t length = token.end - token.start - 2
    cdef vector[char] decoded
    if token.escaped:
        if not decode_string(cursor, token, &decoded):
            return NOTHING                  # reported at the escape itself
        text = decoded.data()
        length = <uint32_t>decoded.size()
    if draft.type == UNKNOWN:
        return NOTHING
    if draft.type == IP or draft.type == TIMESTAMP or draft.type == TIMESTAMP_LOCAL or (
        draft.condition.op == OP_UNDER
    ):
        keep_raw(cursor.tree, text, length)
    return take_text(cursor, draft, text, length)


cdef void keep_raw(Tree* tree, const char* text, uint32_t length) noexcept nogil:
    cdef uint32_t offset = <uint32_t>tree.bytes.size()
    tree.bytes.insert(tree.bytes.end(), text, text + length)
    tree.raw.push_back(text_word(offset, length))


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
    """Four hex digits after a `\\u` at `at`, or -1."""
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
    """One `\\uXXXX` or a surrogate pair as UTF-8; returns where it ends, 0 if it is none."""
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


cdef void check_domain(Cursor* cursor, const Draft* draft, const Token* token) noexcept nogil:
    """A closed domain binds the operators that name whole values."""
    cdef const Attribute* attribute = &cursor.table.attributes[draft.condition.attribute]
    cdef uint8_t op = draft.condition.op
    if attribute.domain_count == 0 or (
        op != OP_EQUAL and op != OP_NOT_EQUAL and op != OP_IN
        and not (op >= OP_ONE_OF and op <= OP_ONLY_OF)
    ):
        return
    if cursor.tree.words.size() > draft.condition.first and not in_domain(
        cursor.table, attribute, cursor.tree.bytes.data(), cursor.tree.words.back()
    ):
        add_problem(
            cursor, NOT_IN_DOMAIN, token.start, token.end, draft.condition.attribute, 0
        )


cdef bint in_domain(
    const CatalogTable* table, const Attribute* attribute, const char* bytes, int64_t word
) noexcept nogil:
    cdef const int64_t* domain = table.words.data() + attribute.domain_first
    cdef bint textual = attribute.type == STRING or attribute.type == STRING_SET
    cdef uint32_t i
    for i in range(attribute.domain_count):
        if textual:
            if compare_text(table.bytes.data(), domain[i], bytes, word) == 0:
                return True
        elif domain[i] == word:
            return True
    return False


cdef bint parse_coordinate(Cursor* cursor, double limit, uint32_t problem) noexcept nogil:
    """A number in [-limit, limit], appended as a word."""
    cdef Token token = cursor.token
    cdef double value = 0.0
    if token.kind != TOKEN_INTEGER and token.kind != TOKEN_FLOAT:
        if token.kind != TOKEN_INVALID:
            add_problem(cursor, problem, token.start, token.end, NOTHING, 0)
        return False
    if not read_float(cursor.text + token.start, token.end - token.start, &value) or (
        fabs(value) > limit
    ):
        add_problem(cursor, problem, token.start, token.end, NOTHING, 1)
        value = 0.0
    cursor.tree.words.push_back(word_of(value))
    advance(cursor)
    return True


cdef bint expect_token(Cursor* cursor, uint8_t kind, uint32_t problem) noexcept nogil:
    if cursor.token.kind == kind:
        advance(cursor)
        return True
    if cursor.token.kind != TOKEN_INVALID:
        add_problem(cursor, problem, cursor.token.start, cursor.token.end, NOTHING, 0)
    return False


cdef bint parse_point(Cursor* cursor) noexcept nogil:
    """`(latitude, longitude)`"""
    if not expect_token(cursor, TOKEN_OPEN, BAD_POINT):
        return False
    return (
        parse_coordinate(cursor, 90.0, BAD_POINT)
        and expect_token(cursor, TOKEN_COMMA, BAD_POINT)
        and parse_coordinate(cursor, 180.0, BAD_POINT)
        and expect_token(cursor, TOKEN_CLOSE, BAD_POINT)
    ) or close_brackets(cursor, 1)


cdef bint parse_circle(Cursor* cursor, Draft* draft) noexcept nogil:
    """`within 5 km of (lat, lon)`; the words are (lat, lon, km)."""
    cdef Token distance = cursor.token
    cdef int64_t km
    if not parse_coordinate(cursor, 20100.0, BAD_DISTANCE):
        return False
    km = cursor.tree.words.back()
    cursor.tree.words.pop_back()
    if float_of(km) <= 0.0 and cursor.text[distance.start] in b"-0":
        if cursor.tree.problems.empty() or cursor.tree.problems.back().start != distance.start:
            add_problem(cursor, BAD_DISTANCE, distance.start, distance.end, NOTHING, 1)
    if not expect_word(cursor, KEY_KM) or not expect_word(cursor, KEY_OF):
        return False
    if not parse_point(cursor):
        return False
    cursor.tree.words.push_back(km)
    return True


cdef bint parse_polygon(Cursor* cursor, Draft* draft) noexcept nogil:
    """`inside polygon ((lat, lon), ..)`, without the closing point if it is repeated."""
    cdef uint32_t opening = cursor.token.start
    cdef Tree* tree = cursor.tree
    cdef size_t first = tree.words.size()
    cdef size_t problems = tree.problems.size()
    cdef size_t size
    if not expect_token(cursor, TOKEN_OPEN, BAD_POINT):
        return False
    while True:
        if not parse_point(cursor):
            return close_brackets(cursor, 1)
        count_value(cursor)
        if cursor.token.kind != TOKEN_COMMA:
            break
        advance(cursor)
    if cursor.token.kind != TOKEN_CLOSE:
        add_problem(cursor, UNCLOSED_LIST, opening, opening + 1, NOTHING, 0)
        return False
    advance(cursor)
    size = tree.words.size()
    if size - first >= 4 and tree.words[first] == tree.words[size - 2] and (
        tree.words[first + 1] == tree.words[size - 1]
    ):
        tree.words.resize(size - 2)
    if tree.problems.size() == problems:
        check_polygon(cursor, opening, first)
    return True


cdef void check_polygon(Cursor* cursor, uint32_t opening, size_t first) noexcept nogil:
    cdef Tree* tree = cursor.tree
    cdef size_t points = (tree.words.size() - first) // 2
    cdef size_t i
    cdef double here, there
    if points < 3:
        add_problem(cursor, TOO_FEW_POINTS, opening, cursor.last_end, NOTHING, 0)
        return
    for i in range(points):
        here = float_of(tree.words[first + 2 * i + 1])
        there = float_of(tree.words[first + 2 * ((i + 1) % points) + 1])
        if fabs(here - there) > 180.0:
            add_problem(cursor, ANTIMERIDIAN, opening, cursor.last_end, NOTHING, 0)
            return
