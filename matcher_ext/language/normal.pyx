"""Pushes negation down, flattens, sorts and shares, from the root on (normal.pxd).

All steps are exact in Kleene's logic. Duplicates are found by hash and then full comparison.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.language.canonical cimport make_predicate
from matcher_ext.language.parser cimport parse_text
from matcher_ext.machine.hashing cimport hash_bytes, mix, sort_by_hash
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place, size_table
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE,
    NormalForm, NormalNode, node_equal, view_predicates,
)
from matcher_ext.values.predicate cimport predicate_hash
from matcher_ext.values.spans cimport Span
from matcher_ext.values.tree cimport (
    NODE_AND, NODE_CONDITION, NODE_FALSE, NODE_NOT, NODE_OR, NODE_REFERENCE, NODE_TRUE, NODE_XNOR,
    NODE_XOR, Condition, Node, Tree,
)

cdef extern from * nogil:
    """
    #include <cstdint>
    // Constants are not nodes until they reach the root.
    static const uint32_t TRUE_NODE = 0xFFFFFFFEu;
    static const uint32_t FALSE_NODE = 0xFFFFFFFDu;
    """
    const uint32_t TRUE_NODE
    const uint32_t FALSE_NODE

cdef struct Halves:         # of an xor: each half true, each half false
    uint32_t left
    uint32_t left_not
    uint32_t right
    uint32_t right_not

# The work on one expression. `slots` shares equal nodes within it; it is used only where an xor
# makes the tree a DAG, since comparing DAGs as trees can take exponential time.
cdef cppclass Work:
    const CatalogTable* table
    const char* text
    const Tree* tree
    NormalForm* form
    vector[uint32_t] memo       # by 2 * node + negated
    vector[uint32_t] slots      # open addressing by hash
    vector[Halves] halves       # of xors
    vector[uint32_t] halves_of  # by node, NOTHING where not made
    bint shares
    bint unresolved             # a managed list was not known


cdef uint32_t normalise(
    const CatalogTable* table, const char* text, const Tree* tree, NormalForm* form
) noexcept nogil:
    cdef Work work
    return normalise_with(&work, table, text, tree, form)


cdef uint32_t normalise_with(
    Work* work, const CatalogTable* table, const char* text, const Tree* tree, NormalForm* form
) noexcept nogil:
    cdef uint32_t root = NOTHING
    if tree.root != NOTHING:
        start_work(work, table, text, tree, form)
        root = normalise_node(work, tree.root, False)
        if work.unresolved:
            root = NOTHING
        elif root == TRUE_NODE or root == FALSE_NODE:
            root = add_constant(form, root == TRUE_NODE)
    form.roots.push_back(root)
    return root


cdef void start_work(
    Work* work, const CatalogTable* table, const char* text, const Tree* tree, NormalForm* form
) noexcept nogil:
    cdef uint32_t i
    work.table = table
    work.text = text
    work.tree = tree
    work.form = form
    work.unresolved = False
    work.shares = False
    for i in range(<uint32_t>tree.nodes.size()):
        if tree.nodes[i].kind == NODE_XOR or tree.nodes[i].kind == NODE_XNOR:
            work.shares = True
    if work.shares:
        work.memo.assign(2 * tree.nodes.size(), NOTHING)
        work.slots.assign(size_table(6 * tree.nodes.size(), 16), NOTHING)   # an xor makes up to six
        work.halves.clear()
        work.halves_of.assign(tree.nodes.size(), NOTHING)


cdef uint32_t add_constant(NormalForm* form, bint value) noexcept nogil:
    cdef NormalNode node
    node.kind = NORMAL_TRUE if value else NORMAL_FALSE
    node.hash = mix(0, node.kind)
    node.first = 0
    node.count = 0
    node.negated = 0
    node.part = NOTHING
    form.nodes.push_back(node)
    return <uint32_t>(form.nodes.size() - 1)


cdef uint32_t normalise_node(Work* work, uint32_t number, bint negated) noexcept nogil:
    """Brings a node, or its negation, into normal form."""
    cdef const Node* node = &work.tree.nodes[number]
    cdef uint32_t result
    if work.shares and work.memo[2 * number + negated] != NOTHING:
        return work.memo[2 * number + negated]
    if node.kind == NODE_AND or node.kind == NODE_OR:
        result = normalise_group(work, node, negated)
    elif node.kind == NODE_NOT:
        result = normalise_node(work, work.tree.edges[node.first], not negated)
    elif node.kind == NODE_CONDITION:
        result = normalise_condition(work, node, negated)
    elif node.kind == NODE_REFERENCE:
        result = normalise_reference(work, node, negated)
    elif node.kind == NODE_TRUE or node.kind == NODE_FALSE:
        result = TRUE_NODE if (node.kind == NODE_TRUE) != negated else FALSE_NODE
    else:
        result = normalise_xor(work, number, negated)
    if work.shares:
        work.memo[2 * number + negated] = result
    return result


cdef uint32_t normalise_condition(Work* work, const Node* node, bint negated) noexcept nogil:
    cdef const Condition* condition = &work.tree.conditions[node.first]
    cdef NormalForm* form = work.form
    cdef NormalNode made
    if condition.list_name != NOTHING and not work.table.knows_lists:
        work.unresolved = True
    made.first = make_predicate(work.table, work.tree, condition, negated, form)
    made.count = 0
    made.kind = NORMAL_PREDICATE
    made.negated = 0
    made.part = NOTHING
    made.hash = predicate_hash(view_predicates(form), &form.predicates[made.first])
    return add_node(work, &made)


cdef uint32_t normalise_reference(Work* work, const Node* node, bint negated) noexcept nogil:
    cdef Span name = work.tree.names[node.first]
    cdef NormalForm* form = work.form
    cdef const char* source = work.text + name.offset
    cdef NormalNode made
    made.first = <uint32_t>form.names.size()
    made.count = 0
    made.kind = NORMAL_REFERENCE
    made.negated = negated
    made.part = NOTHING
    made.hash = mix(hash_bytes(source, name.length), 2 + negated)
    form.names.push_back(Span(<uint32_t>form.bytes.size(), name.length))
    form.bytes.insert(form.bytes.end(), source, source + name.length)
    return add_node(work, &made)


cdef uint32_t normalise_group(Work* work, const Node* node, bint negated) noexcept nogil:
    cdef vector[uint32_t] children
    cdef uint32_t i, result
    cdef uint8_t kind = NORMAL_AND if (node.kind == NODE_AND) != negated else NORMAL_OR
    children.reserve(node.count)
    for i in range(node.count):
        children.push_back(normalise_node(work, work.tree.edges[node.first + i], negated))
    result = make_group(work, kind, &children)
    if kind == NORMAL_AND and node == &work.tree.nodes[work.tree.root]:
        note_part(work.form, result, &children)
    return result


cdef void note_part(
    NormalForm* form, uint32_t root, const vector[uint32_t]* children
) noexcept nogil:
    """Notes what a booking has of its campaign: the largest AND in parentheses beside
    references."""
    cdef uint32_t part = NOTHING, child
    cdef bint has_reference = False
    cdef size_t i
    if is_constant(root) or form.nodes[root].kind != NORMAL_AND:
        return
    for i in range(children.size()):
        child = children[0][i]
        if is_constant(child):
            continue
        if form.nodes[child].kind == NORMAL_REFERENCE:
            has_reference = True
        elif form.nodes[child].kind == NORMAL_AND and (
            part == NOTHING or form.nodes[child].count > form.nodes[part].count
        ):
            part = child
    if has_reference and part != NOTHING and form.nodes[part].count < form.nodes[root].count:
        form.nodes[root].part = part


cdef inline bint is_constant(uint32_t node) noexcept nogil:
    return node == TRUE_NODE or node == FALSE_NODE


cdef uint32_t make_pair(Work* work, uint8_t kind, uint32_t a, uint32_t b) noexcept nogil:
    cdef vector[uint32_t] children
    children.push_back(a)
    children.push_back(b)
    return make_group(work, kind, &children)


cdef uint32_t make_group(Work* work, uint8_t kind, vector[uint32_t]* children) noexcept nogil:
    """Makes an and/or of these; resolves constants, duplicates and nested groups of its kind."""
    cdef NormalForm* form = work.form
    cdef uint32_t neutral = TRUE_NODE if kind == NORMAL_AND else FALSE_NODE
    cdef uint32_t absorbing = FALSE_NODE if kind == NORMAL_AND else TRUE_NODE
    cdef uint32_t first = <uint32_t>form.edges.size()
    cdef uint32_t i, j, child, start
    for i in range(<uint32_t>children.size()):
        child = children[0][i]
        if child == absorbing:
            form.edges.resize(first)
            return absorbing
        if child == neutral:
            continue
        if form.nodes[child].kind == kind:
            start = form.nodes[child].first
            for j in range(form.nodes[child].count):
                form.edges.push_back(form.edges[start + j])
        else:
            form.edges.push_back(child)
    return add_group(work, kind, first)


cdef uint32_t add_group(Work* work, uint8_t kind, uint32_t first) noexcept nogil:
    """Adds the group whose children are the last edges, from `first` on."""
    cdef NormalForm* form = work.form
    cdef NormalNode made
    cdef uint32_t i
    cdef uint32_t kept = first
    sort_by_hash(
        form.edges.data() + first, form.edges.data() + form.edges.size(), form.nodes.data()
    )
    made.hash = mix(1, kind)
    for i in range(first, <uint32_t>form.edges.size()):
        if is_repeated(work, first, kept, form.edges[i]):
            continue
        form.edges[kept] = form.edges[i]
        made.hash = mix(made.hash, form.nodes[form.edges[i]].hash)
        kept += 1
    form.edges.resize(kept)
    if kept - first < 2:
        i = form.edges[first] if kept > first else (
            TRUE_NODE if kind == NORMAL_AND else FALSE_NODE
        )
        form.edges.resize(first)
        return i
    made.first = first
    made.count = kept - first
    made.kind = kind
    made.negated = 0
    made.part = NOTHING
    return add_node(work, &made)


cdef bint is_repeated(Work* work, uint32_t first, uint32_t kept, uint32_t child) noexcept nogil:
    """Says whether an equal child is among edges[first : kept]; equal hashes are neighbours."""
    cdef NormalForm* form = work.form
    while kept > first and form.nodes[form.edges[kept - 1]].hash == form.nodes[child].hash:
        kept -= 1
        if form.edges[kept] == child:
            return True
        if not work.shares and node_equal(form, form.edges[kept], form, child):
            return True
    return False


cdef uint32_t add_node(Work* work, const NormalNode* made) noexcept nogil:
    """Appends a node, or finds its equal where nodes are shared."""
    cdef NormalForm* form = work.form
    cdef uint32_t number = <uint32_t>form.nodes.size()
    cdef size_t mask, slot
    form.nodes.push_back(made[0])
    if not work.shares:
        return number
    mask = work.slots.size() - 1
    slot = first_place(made.hash, mask)
    while work.slots[slot] != NOTHING:
        if is_same(form, work.slots[slot], number):
            form.nodes.pop_back()
            return work.slots[slot]
        slot = next_place(slot, mask)
    work.slots[slot] = number
    return number


cdef bint is_same(const NormalForm* form, uint32_t a, uint32_t b) noexcept nogil:
    """Compares two nodes in full whose children are already shared."""
    cdef const NormalNode* x = &form.nodes[a]
    cdef const NormalNode* y = &form.nodes[b]
    cdef uint32_t i
    if x.hash != y.hash or x.kind != y.kind or x.count != y.count:
        return False
    if x.kind != NORMAL_AND and x.kind != NORMAL_OR:
        return node_equal(form, a, form, b)
    for i in range(x.count):
        if form.edges[x.first + i] != form.edges[y.first + i]:
            return False
    return True


cdef uint32_t normalise_xor(Work* work, uint32_t number, bint negated) noexcept nogil:
    """Makes `l xor r` (l and not r) or (not l and r); its negation (l and r) or (not l and not
    r)."""
    cdef const Node* node = &work.tree.nodes[number]
    cdef Halves halves
    if work.halves_of[number] == NOTHING:
        halves = split_xor(work, node)
        work.halves_of[number] = <uint32_t>work.halves.size()
        work.halves.push_back(halves)
    halves = work.halves[work.halves_of[number]]
    # A chain of n operands joined by xnor is the parity, negated n - 1 times.
    if node.kind == NODE_XNOR and (node.count - 1) % 2 == 1:
        negated = not negated
    return make_xor(work, &halves, negated)


cdef uint32_t make_xor(Work* work, const Halves* halves, bint negated) noexcept nogil:
    cdef uint32_t a = make_pair(
        work, NORMAL_AND, halves.left, halves.right if negated else halves.right_not
    )
    cdef uint32_t b = make_pair(
        work, NORMAL_AND, halves.left_not, halves.right_not if negated else halves.right
    )
    return make_pair(work, NORMAL_OR, a, b)


cdef Halves split_xor(Work* work, const Node* node) noexcept nogil:
    """Pairs operands as a balanced tree instead of a deep chain: parity is associative."""
    cdef vector[uint32_t] plain
    cdef vector[uint32_t] inverse
    cdef Halves halves
    cdef uint32_t i, pairs
    for i in range(node.count):
        plain.push_back(normalise_node(work, work.tree.edges[node.first + i], False))
        inverse.push_back(normalise_node(work, work.tree.edges[node.first + i], True))
    while plain.size() > 2:
        pairs = <uint32_t>plain.size() // 2
        for i in range(pairs):
            halves = Halves(
                plain[2 * i], inverse[2 * i], plain[2 * i + 1], inverse[2 * i + 1]
            )
            plain[i] = make_xor(work, &halves, False)
            inverse[i] = make_xor(work, &halves, True)
        if plain.size() % 2 == 1:
            plain[pairs] = plain.back()
            inverse[pairs] = inverse.back()
            pairs += 1
        plain.resize(pairs)
        inverse.resize(pairs)
    return Halves(plain[0], inverse[0], plain[1], inverse[1])


cdef uint32_t normalise_texts(
    const CatalogTable* table,
    const char* const* texts,
    const size_t* lengths,
    uint32_t count,
    bint composed,
    Tree* tree,
    NormalForm* form,
) noexcept nogil:
    cdef Work work
    cdef uint32_t failed = 0
    cdef uint32_t i
    for i in range(count):
        parse_text(table, texts[i], lengths[i], composed, tree)
        if normalise_with(&work, table, texts[i], tree, form) == NOTHING:
            failed += 1
    return failed
