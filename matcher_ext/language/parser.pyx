"""Descends through or, xor / xnor, and, not, condition (parser.pxd).

After a broken condition it skips to the next connective and reads on, so that one look shows all
problems. Notes are given to the unit (condition, group, `not`) that follows them, or that they
stand behind on the same line.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.language.conditions cimport parse_condition
from matcher_ext.language.lexer cimport (
    KEY_AND, KEY_COUNT, KEY_FALSE, KEY_NOT, KEY_OR, KEY_TRUE, KEY_XNOR, KEY_XOR, TOKEN_CLOSE,
    TOKEN_END, TOKEN_INVALID, TOKEN_KEYWORD, TOKEN_NAME, TOKEN_OPEN, TOKEN_REFERENCE, Cursor, Token,
    add_problem, advance, at_keyword,
)
from matcher_ext.language.limits cimport MAX_COMPOSED, MAX_LEVELS, MAX_PREDICATES, MAX_TEXT
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.problems cimport (
    EMPTY_GROUP, EMPTY_TEXT, EXPECTED_CONDITION, EXPECTED_CONNECTIVE, TEXT_TOO_LONG, TOO_DEEP,
    TOO_MANY_PREDICATES, UNCLOSED_GROUP, UNEXPECTED_CLOSING,
)
from matcher_ext.values.spans cimport Span
from matcher_ext.values.tree cimport (
    NODE_AND, NODE_CONDITION, NODE_FALSE, NODE_INVALID, NODE_NOT, NODE_OR, NODE_REFERENCE,
    NODE_TRUE, NODE_XNOR, NODE_XOR, Node, Tree, clear_tree,
)


cdef void parse_text(
    const CatalogTable* table, const char* text, size_t length, bint composed, Tree* tree
) noexcept nogil:
    cdef Cursor cursor
    cdef uint32_t root
    clear_tree(tree)
    start_cursor(&cursor, table, text, composed, tree)
    if length > <size_t>(MAX_COMPOSED if composed else MAX_TEXT):
        add_problem(&cursor, TEXT_TOO_LONG, 0, 0, NOTHING, MAX_TEXT)
        return
    cursor.length = <uint32_t>length
    advance(&cursor)
    if cursor.token.kind == TOKEN_END and tree.problems.empty():
        add_problem(&cursor, EMPTY_TEXT, 0, cursor.length, NOTHING, <uint32_t>tree.notes.size())
        return
    root = parse_or(&cursor)
    while cursor.token.kind == TOKEN_CLOSE and not cursor.stopped:
        add_problem(
            &cursor, UNEXPECTED_CLOSING, cursor.token.start, cursor.token.end, NOTHING, 0
        )
        advance(&cursor)
        if cursor.token.kind != TOKEN_END and cursor.token.kind != TOKEN_CLOSE:
            skip_connective(&cursor)
            parse_or(&cursor)
    if tree.conditions.size() > MAX_PREDICATES and not composed:
        add_problem(&cursor, TOO_MANY_PREDICATES, 0, cursor.length, NOTHING, MAX_PREDICATES)
    claim_rest(&cursor, root)
    if tree.problems.empty():
        tree.root = root


cdef void start_cursor(
    Cursor* cursor, const CatalogTable* table, const char* text, bint composed, Tree* tree
) noexcept nogil:
    cursor.table = table
    cursor.text = text
    cursor.length = 0
    cursor.position = 0
    cursor.token.end = 0
    cursor.last_end = 0
    cursor.tree = tree
    cursor.notes_claimed = 0
    cursor.level = 0
    cursor.values = 0
    cursor.composed = composed
    cursor.stopped = False


cdef void skip_connective(Cursor* cursor) noexcept nogil:
    if is_connective(cursor):
        advance(cursor)


cdef bint is_connective(const Cursor* cursor) noexcept nogil:
    return cursor.token.kind == TOKEN_KEYWORD and (
        cursor.token.word == KEY_AND or cursor.token.word == KEY_OR
        or cursor.token.word == KEY_XOR or cursor.token.word == KEY_XNOR
    )


cdef uint32_t add_node(
    Cursor* cursor, uint8_t kind, uint32_t first, uint32_t count, uint32_t start
) noexcept nogil:
    cdef Node node
    node.first = first
    node.count = count
    node.start = start
    node.end = cursor.last_end
    node.kind = kind
    node.depth = 0
    node.noted = 0
    cursor.tree.nodes.push_back(node)
    return <uint32_t>(cursor.tree.nodes.size() - 1)


cdef void claim_notes(
    Cursor* cursor, uint32_t first, uint32_t end, uint32_t node
) noexcept nogil:
    cdef uint32_t i
    for i in range(first, end):
        if cursor.tree.notes[i].owner == NOTHING:
            cursor.tree.notes[i].owner = node
            cursor.tree.nodes[node].noted = 1


cdef void claim_rest(Cursor* cursor, uint32_t node) noexcept nogil:
    """Gives the notes at the end of a group, which no unit followed, to the group's last unit."""
    cdef Tree* tree = cursor.tree
    while tree.nodes[node].kind < NODE_NOT and not tree.nodes[node].noted:
        node = tree.edges[tree.nodes[node].first + tree.nodes[node].count - 1]
    claim_notes(cursor, cursor.notes_claimed, <uint32_t>tree.notes.size(), node)
    cursor.notes_claimed = <uint32_t>tree.notes.size()


cdef void stop_too_deep(Cursor* cursor, uint32_t start, uint32_t end) noexcept nogil:
    add_problem(cursor, TOO_DEEP, start, end, NOTHING, MAX_LEVELS)
    cursor.stopped = True
    cursor.token.kind = TOKEN_END


cdef inline bint keeps_nested_and(const Cursor* cursor, uint8_t kind) noexcept nogil:
    """Says whether an AND in an AND stays a node, as the campaign of a composed text does: others
    may share it (note_part in normal.pyx)."""
    return cursor.composed and cursor.level == 0 and kind == NODE_AND


cdef uint32_t join(
    Cursor* cursor, uint8_t kind, const vector[uint32_t]* children, uint32_t start
) noexcept nogil:
    """Makes one n-ary node; takes in children of the same kind, unless notes hold them together."""
    cdef Tree* tree = cursor.tree
    cdef uint32_t first = <uint32_t>tree.edges.size()
    cdef uint32_t i, j, child, node
    cdef uint32_t depth = 0
    for i in range(<uint32_t>children.size()):
        child = children[0][i]
        if tree.nodes[child].kind == kind and kind < NODE_NOT and not (
            tree.nodes[child].noted or keeps_nested_and(cursor, kind)
        ):
            for j in range(tree.nodes[child].count):
                tree.edges.push_back(tree.edges[tree.nodes[child].first + j])
            depth = max(depth, tree.nodes[child].depth)
        elif tree.nodes[child].kind == kind and keeps_nested_and(cursor, kind):
            tree.edges.push_back(child)
            depth = max(depth, tree.nodes[child].depth)     # no deeper than taken in
        else:
            tree.edges.push_back(child)
            depth = max(depth, <uint32_t>tree.nodes[child].depth + 1)
    node = add_node(cursor, kind, first, <uint32_t>tree.edges.size() - first, start)
    if depth > MAX_LEVELS:
        stop_too_deep(cursor, start, cursor.last_end)
        depth = MAX_LEVELS
    tree.nodes[node].depth = <uint8_t>depth
    return node


cdef uint32_t parse_or(Cursor* cursor) noexcept nogil:
    cdef uint32_t start = cursor.token.start
    cdef uint32_t node = parse_xor(cursor)
    cdef vector[uint32_t] children
    if not at_keyword(cursor, KEY_OR):
        return node
    children.push_back(node)
    while at_keyword(cursor, KEY_OR):
        advance(cursor)
        children.push_back(parse_xor(cursor))
    return join(cursor, NODE_OR, &children, start)


cdef uint32_t parse_xor(Cursor* cursor) noexcept nogil:
    """Parses left to right; a run of one operator is one n-ary node."""
    cdef uint32_t start = cursor.token.start
    cdef uint32_t node = parse_and(cursor)
    cdef vector[uint32_t] children
    cdef uint8_t word
    while at_keyword(cursor, KEY_XOR) or at_keyword(cursor, KEY_XNOR):
        word = cursor.token.word
        children.clear()
        children.push_back(node)
        while at_keyword(cursor, word):
            advance(cursor)
            children.push_back(parse_and(cursor))
        node = join(cursor, NODE_XOR if word == KEY_XOR else NODE_XNOR, &children, start)
    return node


cdef uint32_t parse_and(Cursor* cursor) noexcept nogil:
    cdef uint32_t start = cursor.token.start
    cdef uint32_t node = parse_unit(cursor)
    cdef vector[uint32_t] children
    while not ends_conjunction(cursor):
        if children.empty():
            children.reserve(12)
            children.push_back(node)
        if at_keyword(cursor, KEY_AND):
            advance(cursor)
        elif cursor.token.kind != TOKEN_INVALID:
            add_problem(
                cursor, EXPECTED_CONNECTIVE, cursor.token.start, cursor.token.end, NOTHING, 0
            )
            if not begins_unit(cursor):
                skip_broken(cursor, cursor.token.start)
                continue
        children.push_back(parse_unit(cursor))
    return node if children.empty() else join(cursor, NODE_AND, &children, start)


cdef bint ends_conjunction(const Cursor* cursor) noexcept nogil:
    return cursor.token.kind == TOKEN_END or cursor.token.kind == TOKEN_CLOSE or (
        is_connective(cursor) and cursor.token.word != KEY_AND
    )


cdef bint begins_unit(const Cursor* cursor) noexcept nogil:
    """Says whether a condition can begin here, though no connective stands before it."""
    cdef uint8_t kind = cursor.token.kind
    return kind == TOKEN_NAME or kind == TOKEN_OPEN or kind == TOKEN_REFERENCE or (
        kind == TOKEN_KEYWORD and (
            cursor.token.word == KEY_NOT or cursor.token.word == KEY_TRUE
            or cursor.token.word == KEY_FALSE or cursor.token.word == KEY_COUNT
        )
    )


cdef uint32_t parse_unit(Cursor* cursor) noexcept nogil:
    """Parses a condition, a group or a negation, with the notes before and behind it on its
    line."""
    cdef uint32_t first = cursor.notes_claimed
    cdef uint32_t end = <uint32_t>cursor.tree.notes.size()
    cdef uint32_t node
    cursor.notes_claimed = end
    if at_keyword(cursor, KEY_NOT):
        node = parse_not(cursor)
    else:
        node = parse_primary(cursor)
    claim_notes(cursor, first, end, node)
    claim_same_line(cursor, node)
    return node


cdef void claim_same_line(Cursor* cursor, uint32_t node) noexcept nogil:
    cdef Tree* tree = cursor.tree
    cdef uint32_t at = cursor.last_end
    cdef uint32_t size = <uint32_t>tree.notes.size()
    if cursor.notes_claimed == size:
        return
    # Notes inside the unit itself (between the parts of a condition) are its own as well.
    while cursor.notes_claimed < size:
        while at < tree.notes[cursor.notes_claimed].span.offset:
            if cursor.text[at] == c'\n':
                return
            at += 1
        claim_notes(cursor, cursor.notes_claimed, cursor.notes_claimed + 1, node)
        cursor.notes_claimed += 1


cdef uint32_t parse_not(Cursor* cursor) noexcept nogil:
    """Parses a negation; notes between the `not` and its operand are those of the `not`."""
    cdef uint32_t start = cursor.token.start
    cdef uint32_t first, end, node
    cdef vector[uint32_t] children
    cursor.level += 1
    if cursor.level > MAX_LEVELS:
        stop_too_deep(cursor, start, cursor.token.end)
        return add_node(cursor, NODE_INVALID, 0, 0, start)
    advance(cursor)
    first = cursor.notes_claimed
    end = <uint32_t>cursor.tree.notes.size()
    cursor.notes_claimed = end
    if at_keyword(cursor, KEY_NOT):
        children.push_back(parse_not(cursor))
    else:
        children.push_back(parse_primary(cursor))
    cursor.level -= 1
    node = join(cursor, NODE_NOT, &children, start)
    claim_notes(cursor, first, end, node)
    return node


cdef uint32_t parse_primary(Cursor* cursor) noexcept nogil:
    cdef Token token = cursor.token
    cdef uint32_t payload
    if token.kind == TOKEN_OPEN:
        return parse_group(cursor)
    if token.kind == TOKEN_NAME or at_keyword(cursor, KEY_COUNT):
        payload = parse_condition(cursor)
        if payload == NOTHING:
            return skip_broken(cursor, token.start)
        return add_node(cursor, NODE_CONDITION, payload, 0, token.start)
    if token.kind == TOKEN_REFERENCE:
        payload = <uint32_t>cursor.tree.names.size()
        cursor.tree.names.push_back(Span(token.start + 1, token.end - token.start - 1))
        advance(cursor)
        return add_node(cursor, NODE_REFERENCE, payload, 0, token.start)
    if at_keyword(cursor, KEY_TRUE) or at_keyword(cursor, KEY_FALSE):
        advance(cursor)
        return add_node(
            cursor, NODE_TRUE if token.word == KEY_TRUE else NODE_FALSE, 0, 0, token.start
        )
    if token.kind != TOKEN_INVALID:
        add_problem(cursor, EXPECTED_CONDITION, token.start, token.end, NOTHING, 0)
    return skip_broken(cursor, token.start)


cdef uint32_t skip_broken(Cursor* cursor, uint32_t start) noexcept nogil:
    """Skips to where the next condition can begin: a connective, a closing bracket, the end."""
    cdef uint32_t open_brackets = 0
    while cursor.token.kind != TOKEN_END:
        if cursor.token.kind == TOKEN_OPEN:
            open_brackets += 1
        elif cursor.token.kind == TOKEN_CLOSE:
            if open_brackets == 0:
                break
            open_brackets -= 1
        elif open_brackets == 0 and is_connective(cursor):
            break
        advance(cursor)
    return add_node(cursor, NODE_INVALID, 0, 0, start)


cdef uint32_t parse_group(Cursor* cursor) noexcept nogil:
    cdef Token opening = cursor.token
    cdef uint32_t node
    cursor.level += 1
    if cursor.level > MAX_LEVELS:
        stop_too_deep(cursor, opening.start, opening.end)
        return add_node(cursor, NODE_INVALID, 0, 0, opening.start)
    advance(cursor)
    if cursor.token.kind == TOKEN_CLOSE:
        add_problem(cursor, EMPTY_GROUP, opening.start, cursor.token.end, NOTHING, 0)
        node = add_node(cursor, NODE_INVALID, 0, 0, opening.start)
    else:
        node = parse_or(cursor)
    cursor.level -= 1
    claim_rest(cursor, node)
    if cursor.token.kind == TOKEN_CLOSE:
        advance(cursor)
    elif not cursor.stopped:
        add_problem(cursor, UNCLOSED_GROUP, opening.start, opening.end, NOTHING, 0)
    return node
