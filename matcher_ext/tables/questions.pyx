"""Copies graphs into a question, and takes entries apart (questions.pxd)."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.machine.keeping cimport copy_value, fill_vector, put_number
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport Plan, PlanNode
from matcher_ext.tables.binding cimport BY_RUNS, Bound, bind_predicate
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE, NormalForm, NormalNode,
    view_predicates,
)

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <cstdint>
    // Puts the rarest first, or the commonest.
    template <class Node>
    static inline void order_by_truth(
        uint32_t* first, uint32_t* last, const Node* nodes, bool rarest
    ) {
        std::stable_sort(first, last, [=](uint32_t a, uint32_t b) {
            return rarest ? nodes[a].truth < nodes[b].truth : nodes[a].truth > nodes[b].truth;
        });
    }
    // Puts links into the order of their definitions.
    template <class Node>
    static inline void order_links(uint32_t* first, uint32_t* last, const Node* nodes) {
        std::sort(first, last, [=](uint32_t a, uint32_t b) {
            return nodes[a].count != nodes[b].count ? nodes[a].count < nodes[b].count : a < b;
        });
    }
    // Puts entries into the order of their paths, edge by edge.
    template <class Entry>
    static inline void order_by_path(
        uint32_t* first, uint32_t* last, const Entry* entries, const uint32_t* children
    ) {
        std::stable_sort(first, last, [=](uint32_t a, uint32_t b) {
            const uint32_t* x = children + entries[a].edges;
            const uint32_t* y = children + entries[b].edges;
            return std::lexicographical_compare(
                x, x + entries[a].edge_count, y, y + entries[b].edge_count
            );
        });
    }
    """
    void order_by_truth(uint32_t* first, uint32_t* last, const Asked* nodes, bint rarest)
    void order_links(uint32_t* first, uint32_t* last, const Asked* nodes)
    void order_by_path(
        uint32_t* first, uint32_t* last, const Entry* entries, const uint32_t* children
    )

cdef double AGAIN = 1.2     # asked so often a gate, or more: worth keeping


cdef uint32_t add_asked(
    Question* question, uint8_t kind, uint32_t first, uint32_t count
) except 0xFFFFFFFF nogil:
    cdef Asked made
    memset(&made, 0, sizeof(made))
    made.kind = kind
    made.first = first
    made.count = count
    question.nodes.push_back(made)
    return <uint32_t>(question.nodes.size() - 1)


cdef uint8_t asked_kind(uint8_t kind) noexcept nogil:
    if kind == NORMAL_PREDICATE:
        return ASKED_LEAF
    if kind == NORMAL_REFERENCE:
        return ASKED_LINK
    if kind == NORMAL_AND:
        return ASKED_AND
    if kind == NORMAL_OR:
        return ASKED_OR
    return ASKED_TRUE if kind == NORMAL_TRUE else ASKED_FALSE


cdef uint32_t add_children(
    Question* question, const uint32_t* children, uint32_t count, uint32_t base
) except 0xFFFFFFFF nogil:
    cdef uint32_t first = <uint32_t>question.children.size()
    cdef uint32_t i
    for i in range(count):
        question.children.push_back(base + children[i])
    return first


cdef uint32_t add_plan(
    Question* question, const Table* table, const uint32_t* columns, const Plan* plan,
    const uint32_t* targets, const uint8_t* is_edge,
) except 0xFFFFFFFF nogil:
    cdef uint32_t base = <uint32_t>question.nodes.size()
    cdef uint32_t bounds = <uint32_t>question.binding.bounds.size()
    cdef const PlanNode* node
    cdef uint32_t i, made
    for i in range(plan.totals.leaves):
        bind_predicate(
            table, columns, plan.predicates, &plan.predicates.predicates[i], &question.binding
        )
    for i in range(plan.node_count):
        node = &plan.nodes[i]
        made = add_asked(question, asked_kind(node.kind), node.first, node.count)
        if node.kind == NORMAL_PREDICATE:
            question.nodes[made].first += bounds
        elif node.kind == NORMAL_REFERENCE:
            question.nodes[made].first = targets[node.first]
            if targets[node.first] == NOTHING:
                question.nodes[made].first = base + plan.definitions[node.first].root
            question.nodes[made].count = node.first
            question.nodes[made].negated = node.negated
            question.nodes[made].is_edge = is_edge[node.first] and not node.negated
        elif node.count:
            question.nodes[made].first = add_children(
                question, plan.edges + node.first, node.count, base
            )
    return base


cdef uint32_t add_form(
    Question* question, const Table* table, const uint32_t* columns, const NormalForm* form,
    const uint32_t* targets, const uint8_t* is_edge,
) except 0xFFFFFFFF nogil:
    cdef uint32_t base = <uint32_t>question.nodes.size()
    cdef uint32_t bounds = <uint32_t>question.binding.bounds.size()
    cdef const NormalNode* node
    cdef uint32_t i, made
    for i in range(<uint32_t>form.predicates.size()):
        bind_predicate(
            table, columns, view_predicates(form), &form.predicates[i], &question.binding
        )
    for i in range(<uint32_t>form.nodes.size()):
        node = &form.nodes[i]
        made = add_asked(question, asked_kind(node.kind), node.first, node.count)
        if node.kind == NORMAL_PREDICATE:
            question.nodes[made].first += bounds
        elif node.kind == NORMAL_REFERENCE:
            question.nodes[made].first = targets[node.first]
            question.nodes[made].count = node.first
            question.nodes[made].negated = node.negated
            question.nodes[made].is_edge = is_edge[node.first] and not node.negated
        elif node.count:
            question.nodes[made].first = add_children(
                question, form.edges.data() + node.first, node.count, base
            )
    return base


# Estimates.

cdef void estimate_inner(Question* question, Asked* node) noexcept nogil:
    cdef uint32_t* children = question.children.data() + node.first
    cdef bint is_and = node.kind == ASKED_AND
    cdef float truth = 1 if is_and else 0
    cdef uint32_t i
    for i in range(node.count):
        if is_and:
            truth = min(truth, question.nodes[children[i]].truth)
        else:
            truth = min(<float>1, truth + question.nodes[children[i]].truth)
    node.truth = truth
    order_by_truth(children, children + node.count, question.nodes.data(), is_and)


cdef void order_children(Question* question, uint32_t first) noexcept nogil:
    cdef Asked* node
    cdef uint32_t i
    for i in range(first, <uint32_t>question.nodes.size()):
        node = &question.nodes[i]
        if node.kind == ASKED_LEAF:
            node.truth = question.binding.bounds[node.first].truth
        elif node.kind == ASKED_AND or node.kind == ASKED_OR:
            estimate_inner(question, node)
        elif node.kind == ASKED_LINK:
            node.truth = question.nodes[node.first].truth
            if node.negated:
                node.truth = 1 - node.truth
        elif node.kind == ASKED_REACH:
            node.truth = 0.5
        elif node.kind == ASKED_CODE:
            node.truth = 1          # an `and` asks for it last
        else:
            node.truth = node.kind == ASKED_TRUE


# Entries.

cdef bint read_gate(
    const Question* question, const Table* table, uint32_t node, Entry* entry
) noexcept nogil:
    """Says whether a part asks for one publisher, and for which."""
    cdef const Bound* bound
    if question.nodes[node].kind != ASKED_LEAF or entry.gate != NOTHING:
        return False
    bound = &question.binding.bounds[question.nodes[node].first]
    if bound.how != BY_RUNS or bound.negated or bound.column != table.header.by:
        return False
    if bound.count == 0:
        entry.is_never = 1
        return True
    if bound.count > 1:
        return False
    if question.binding.runs[bound.first].end != question.binding.runs[bound.first].first + 1:
        return False
    entry.gate = question.binding.runs[bound.first].first
    return True


cdef uint32_t join_path(Question* question, uint32_t before, uint32_t edge) except 0xFFFFFFFF nogil:
    """Finds or makes the path that goes on from another by one edge."""
    cdef uint64_t key = <uint64_t>before << 32 | edge
    cdef uint32_t made
    if question.paths.count(key):
        return question.paths[key]
    made = add_asked(question, ASKED_AND, <uint32_t>question.children.size(), 2)
    question.children.push_back(before)
    question.children.push_back(edge)
    question.nodes[made].truth = min(question.nodes[before].truth, question.nodes[edge].truth)
    put_number(question.paths, key, made)
    return made


cdef uint32_t share_path(Question* question, const vector[uint32_t]* edges) except 0xFFFFFFFF nogil:
    """Finds or makes the node of a path: one for all entries that have it."""
    cdef uint32_t path = edges[0][0]
    cdef size_t i
    for i in range(1, edges.size()):
        path = join_path(question, path, edges[0][i])
    return path


cdef int add_entry(
    Question* question, const Table* table, uint32_t root, uint8_t plan, uint32_t source
) except -1 nogil:
    cdef Entry entry
    cdef vector[uint32_t] parts, edges, rest
    cdef size_t i
    memset(&entry, 0, sizeof(entry))
    entry.gate = NOTHING
    entry.path = NOTHING
    entry.plan = plan
    entry.source = source
    if question.nodes[root].kind == ASKED_AND:
        for i in range(question.nodes[root].count):
            parts.push_back(question.children[question.nodes[root].first + i])
    else:
        parts.push_back(root)
    for i in range(parts.size()):
        if question.nodes[parts[i]].is_edge:
            edges.push_back(parts[i])
        elif not read_gate(question, table, parts[i], &entry):
            rest.push_back(parts[i])
    if not edges.empty():
        order_links(edges.data(), edges.data() + edges.size(), question.nodes.data())
        entry.path = share_path(question, &edges)
    entry.edges = <uint32_t>question.children.size()
    entry.edge_count = <uint32_t>edges.size()
    question.children.insert(question.children.end(), edges.begin(), edges.end())
    entry.first = <uint32_t>question.children.size()
    entry.count = <uint32_t>rest.size()
    question.children.insert(question.children.end(), rest.begin(), rest.end())
    question.entries.push_back(entry)
    return 0


cdef int index_gates(Question* question, const Table* table) except -1 nogil:
    cdef uint32_t values = 0
    cdef uint32_t i, gate
    cdef vector[uint32_t] at
    if table.header.by != NOTHING:
        values = table.columns[table.header.by].values
    fill_vector(question.gate_starts, values + 1, 0)
    for i in range(<uint32_t>question.entries.size()):
        if question.entries[i].is_never:
            continue
        gate = question.entries[i].gate
        if gate == NOTHING:
            question.ungated.push_back(i)
        else:
            question.gate_starts[gate + 1] += 1
    for i in range(values):
        question.gate_starts[i + 1] += question.gate_starts[i]
    copy_value(at, question.gate_starts)
    question.gated.resize(question.gate_starts[values])
    for i in range(<uint32_t>question.entries.size()):
        gate = question.entries[i].gate
        if gate != NOTHING and not question.entries[i].is_never:
            question.gated[at[gate]] = i
            at[gate] += 1
    for gate in range(values):
        order_by_path(
            question.gated.data() + question.gate_starts[gate],
            question.gated.data() + question.gate_starts[gate + 1],
            question.entries.data(), question.children.data(),
        )
    question.paths.clear()
    return 0


# Choosing what is kept.

cdef cppclass Use:
    """How often entries of one gate ask for a node, over all gates."""
    vector[uint32_t] asked
    vector[uint32_t] gates
    vector[uint32_t] last
    uint32_t gate


cdef void use_node(const Question* question, Use* use, uint32_t number) noexcept nogil:
    cdef const Asked* node = &question.nodes[number]
    cdef uint32_t i
    use.asked[number] += 1
    if use.last[number] == use.gate:
        return
    use.last[number] = use.gate
    use.gates[number] += 1
    if node.kind == ASKED_LINK:
        use_node(question, use, node.first)
    elif node.kind == ASKED_AND or node.kind == ASKED_OR:
        for i in range(node.first, node.first + node.count):
            use_node(question, use, question.children[i])


cdef void use_entry(const Question* question, Use* use, const Entry* entry) noexcept nogil:
    cdef uint32_t i
    if entry.path != NOTHING:
        use_node(question, use, entry.path)
    for i in range(entry.first, entry.first + entry.count):
        use_node(question, use, question.children[i])


cdef int mark_kept(Question* question) except -1 nogil:
    cdef size_t nodes = question.nodes.size()
    cdef Use use
    cdef size_t gate, i
    fill_vector(use.asked, nodes, 0)
    fill_vector(use.gates, nodes, 0)
    fill_vector(use.last, nodes, 0)
    use.gate = 1
    for i in range(question.ungated.size()):
        use_entry(question, &use, &question.entries[question.ungated[i]])
    for gate in range(question.gate_starts.size() - 1):
        use.gate += 1
        for i in range(question.gate_starts[gate], question.gate_starts[gate + 1]):
            use_entry(question, &use, &question.entries[question.gated[i]])
    for i in range(nodes):
        question.nodes[i].is_kept = use.asked[i] > AGAIN * use.gates[i]
    for i in range(question.slots.size()):
        if question.slots[i] != NOTHING:
            question.nodes[question.slots[i]].is_kept = 1       # the walk asks for edges
    return 0
