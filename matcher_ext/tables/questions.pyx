"""Copies graphs into a question, and takes entries apart (questions.pxd)."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport Plan, PlanNode
from matcher_ext.tables.binding cimport BY_RUNS, Bound, bind_predicate
from matcher_ext.tables.table_format cimport Table
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
    """
    void order_by_truth(uint32_t* first, uint32_t* last, const Asked* nodes, bint rarest)


cdef uint32_t add_asked(
    Question* question, uint8_t kind, uint32_t first, uint32_t count
) noexcept nogil:
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
) noexcept nogil:
    cdef uint32_t first = <uint32_t>question.children.size()
    cdef uint32_t i
    for i in range(count):
        question.children.push_back(base + children[i])
    return first


cdef uint32_t add_plan(
    Question* question, const Table* table, const uint32_t* columns, const Plan* plan,
    const uint32_t* targets, const uint8_t* is_edge,
) noexcept nogil:
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
) noexcept nogil:
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
        node.needs_code |= question.nodes[children[i]].needs_code
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
            node.needs_code = question.nodes[node.first].needs_code
            if node.negated:
                node.truth = 1 - node.truth
        elif node.kind == ASKED_REACH:
            node.truth = 0.5
        elif node.kind == ASKED_CODE:
            node.needs_code = 1
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


cdef uint32_t share_path(Question* question, vector[uint32_t]* edges) noexcept nogil:
    """Finds or makes the node of a path: one for all entries that have it."""
    cdef uint32_t made, first
    cdef size_t i
    if question.paths.count(edges[0]):
        return question.paths[edges[0]]
    first = <uint32_t>question.children.size()
    for i in range(edges.size()):
        question.children.push_back(edges[0][i])
    made = add_asked(question, ASKED_AND, first, <uint32_t>edges.size())
    estimate_inner(question, &question.nodes[made])
    question.paths[edges[0]] = made
    return made


cdef void add_entry(
    Question* question, const Table* table, uint32_t root, uint8_t plan, uint32_t source
) noexcept nogil:
    cdef Entry entry
    cdef vector[uint32_t] parts, edges, rest
    cdef size_t i
    memset(&entry, 0, sizeof(entry))
    entry.gate = NOTHING
    entry.path = NOTHING
    entry.plan = plan
    entry.source = source
    entry.needs_code = question.nodes[root].needs_code
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
        sort(edges.begin(), edges.end())
        entry.path = share_path(question, &edges)
    entry.edges = <uint32_t>question.children.size()
    entry.edge_count = <uint32_t>edges.size()
    question.children.insert(question.children.end(), edges.begin(), edges.end())
    entry.first = <uint32_t>question.children.size()
    entry.count = <uint32_t>rest.size()
    question.children.insert(question.children.end(), rest.begin(), rest.end())
    question.entries.push_back(entry)


cdef void index_gates(Question* question, const Table* table) noexcept nogil:
    cdef uint32_t values = 0
    cdef uint32_t i, gate
    cdef vector[uint32_t] at
    if table.header.by != NOTHING:
        values = table.columns[table.header.by].values
    question.gate_starts.assign(values + 1, 0)
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
    at = question.gate_starts
    question.gated.resize(question.gate_starts[values])
    for i in range(<uint32_t>question.entries.size()):
        gate = question.entries[i].gate
        if gate != NOTHING and not question.entries[i].is_never:
            question.gated[at[gate]] = i
            at[gate] += 1
