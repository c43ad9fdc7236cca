"""Reads literals in the attribute's type and checks them against its domain (operands.pxd)."""
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.language.escapes cimport decode_string
from matcher_ext.language.lexer cimport (
    KEY_AND, KEY_FALSE, KEY_TRUE, KEY_XNOR, TOKEN_CLOSE, TOKEN_COMMA, TOKEN_END, TOKEN_FLOAT,
    TOKEN_INTEGER, TOKEN_INVALID, TOKEN_KEYWORD, TOKEN_LIST, TOKEN_NAME, TOKEN_OPEN, TOKEN_STRING,
    Cursor, Token, add_problem, advance, at_keyword,
)
from matcher_ext.language.limits cimport MAX_LIST, MAX_VALUES
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.addresses cimport (
    READ_BAD, READ_HOST_BITS, Address, Reading, read_address, read_network,
)
from matcher_ext.values.catalog cimport Attribute, CatalogTable, List, find_list
from matcher_ext.values.literals cimport (
    fold, host_length, is_host, read_float, read_integer, read_schedule, read_timestamp,
)
from matcher_ext.values.predicate cimport (
    BOOLEAN, FLOAT, INTEGER, INTEGER_SET, IP, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL,
    float_of, word_of,
)
from matcher_ext.values.problems cimport (
    BAD_ADDRESS, BAD_HOST, BAD_NETWORK, BAD_SCHEDULE, BAD_TIMESTAMP, EMPTY_LIST, EMPTY_STRING,
    EXPECTED_COMMA, EXPECTED_LIST, EXPECTED_VALUE, EXPECTED_WORD, FLOAT_NOT_FINITE, HOST_BITS,
    INTEGER_TOO_LARGE, LIST_TOO_LONG, NO_UTC_OFFSET, NOT_IN_DOMAIN, REVERSED_RANGE, TOO_MANY_VALUES,
    UNCLOSED_LIST, UNKNOWN_LIST, UNQUOTED_TEXT, WRONG_LIST, WRONG_VALUE,
)
from matcher_ext.values.spans cimport Span, compare_text, text_length, text_offset, text_word
from matcher_ext.values.tree cimport (
    OP_DURING, OP_EQUAL, OP_IN, OP_IN_NETWORK, OP_LIKE, OP_NOT_EQUAL, OP_ONE_OF, OP_ONLY_OF,
    OP_STARTS_WITH, OP_UNDER, Tree,
)


cdef bint expect_word(Cursor* cursor, uint8_t word) noexcept nogil:
    if at_keyword(cursor, word):
        advance(cursor)
        return True
    if cursor.token.kind != TOKEN_INVALID:
        add_problem(cursor, EXPECTED_WORD, cursor.token.start, cursor.token.end, NOTHING, word)
    return False


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
    """Reads over a single value, after a complaint about a missing bracket."""
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
    """Skips behind brackets that have a problem inside; False if they are never closed."""
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
    """Parses `$name`: takes the catalogue's values and checks them like inline ones."""
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
    """Parses one literal of the draft's type; False only where reading cannot go on."""
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


cdef void check_domain(Cursor* cursor, const Draft* draft, const Token* token) noexcept nogil:
    """Checks a value against a closed domain, which binds the operators that name whole values."""
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
