"""Finds the attribute, the operator that its type allows, and the operands (conditions.pxd).

A wrong name, operator or value is reported and reading goes on; only a broken shape gives up.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t

from matcher_ext.language.lexer cimport (
    KEY_ALL, KEY_BETWEEN, KEY_CONTAINS, KEY_COUNT, KEY_DURING, KEY_EMPTY, KEY_ENDS, KEY_IN,
    KEY_INSIDE, KEY_IS, KEY_LIKE, KEY_MISSING, KEY_NETWORK, KEY_NONE_OF, KEY_NOT, KEY_OF, KEY_ONE,
    KEY_ONLY, KEY_POLYGON, KEY_PRESENT, KEY_STARTS, KEY_UNDER, KEY_WITH, KEY_WITHIN, TOKEN_CLOSE,
    TOKEN_COMPARE, TOKEN_END, TOKEN_FLOAT, TOKEN_INTEGER, TOKEN_INVALID, TOKEN_KEYWORD, TOKEN_NAME,
    TOKEN_OPEN, TOKEN_STRING, Cursor, Token, add_problem, advance, at_keyword,
)
from matcher_ext.language.operands cimport (
    UNKNOWN, Draft, expect_word, parse_list, parse_range, parse_value,
)
from matcher_ext.language.place_operands cimport parse_circle, parse_polygon
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport find_attribute
from matcher_ext.values.literals cimport read_integer
from matcher_ext.values.predicate cimport (
    BOOLEAN, FLOAT, INTEGER, INTEGER_SET, IP, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL,
)
from matcher_ext.values.problems cimport (
    BAD_COUNT, BARE_ATTRIBUTE, EXPECTED_LIST, EXPECTED_OPERATOR, INTEGER_TOO_LARGE,
    UNKNOWN_ATTRIBUTE, WRONG_OPERATOR,
)
from matcher_ext.values.tree cimport (
    OP_ALL_OF, OP_BARE, OP_BETWEEN, OP_CONTAINS, OP_DURING, OP_ENDS_WITH, OP_EQUAL, OP_GREATER,
    OP_GREATER_EQUAL, OP_IN, OP_IN_NETWORK, OP_INSIDE, OP_IS_EMPTY, OP_IS_MISSING, OP_IS_PRESENT,
    OP_LESS, OP_LESS_EQUAL, OP_LIKE, OP_NONE_OF, OP_NOT_EQUAL, OP_ONE_OF, OP_ONLY_OF,
    OP_STARTS_WITH, OP_UNDER, OP_WITHIN, Condition,
)


cdef inline uint32_t bit(uint32_t op) noexcept nogil:
    return <uint32_t>1 << op


cdef inline uint32_t always_allowed() noexcept nogil:
    return bit(OP_IS_PRESENT) | bit(OP_IS_MISSING)


cdef uint32_t allowed_operators(uint8_t type) noexcept nogil:
    """Returns a type's operators, one bit each: the table of language and types."""
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
    """Parses `count(attribute) <op> n`."""
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
    """Says that the operator does not fit the attribute's type; the operands are then only
    skipped."""
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
    """Returns the token after the current one, without moving the cursor."""
    cdef Cursor ahead = cursor[0]
    cdef size_t notes = ahead.tree.notes.size()
    cdef size_t problems = ahead.tree.problems.size()
    advance(&ahead)
    ahead.tree.notes.resize(notes)
    ahead.tree.problems.resize(problems)
    return ahead.token


cdef bint is_word_operator(const Token* token) noexcept nogil:
    """Says whether an infix `not` may stand before a token."""
    return token.kind == TOKEN_KEYWORD and token.word >= KEY_IN and token.word != KEY_COUNT


cdef bint end_bare(Cursor* cursor, Draft* draft) noexcept nogil:
    """Ends a condition without an operator: a Boolean attribute alone, or a mistake."""
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
    """Parses operators of one word or more; a connective ends a bare attribute."""
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
    """Parses `is [not] present | missing | empty`; `not is ..` means the same as `is not ..`."""
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
        return parse_circle(cursor)
    if op == OP_INSIDE:
        return parse_polygon(cursor)
    if op == OP_IN or op == OP_IN_NETWORK or op == OP_UNDER or (
        op >= OP_ONE_OF and op <= OP_ONLY_OF
    ):
        return parse_list(cursor, draft)
    return parse_value(cursor, draft)
