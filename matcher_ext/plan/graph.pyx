"""Evaluates, copies, explains and draws nodes of a plan's graph (graph.pxd)."""
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from matcher_ext.machine.hashing cimport hash_bytes, mix, sort_by_hash
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport NAMES, Plan, PlanNode, section_count
from matcher_ext.values.catalog cimport CatalogTable, CompiledCatalog
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE,
    NormalForm, NormalNode,
)
from matcher_ext.values.predicate cimport (
    FALSE, FLOAT, GEO, TRUE, UNDEFINED, Predicate, Truth, float_of, holds_text, predicate_copy,
    predicate_hash,
)
from matcher_ext.values.spans cimport Span, text_length, text_offset
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport Visit

from matcher_ext.language.wording import word_predicate


# Truths.

cdef void begin_graph_visit(const Plan* plan, GraphScratch* scratch) noexcept nogil:
    scratch.signature += 1
    scratch.answers.clear()
    if scratch.truths.size() != plan.node_count or scratch.signature >= 1 << 30:
        scratch.truths.assign(plan.node_count, 0)
        scratch.signature = 1


cdef Truth combine(
    const Plan* plan,
    const CatalogTable* table,
    const Visit* visit,
    GraphScratch* scratch,
    const PlanNode* node,
) noexcept nogil:
    """Evaluates an and / or by Kleene's tables: one child may settle it, else undefined wins."""
    cdef Truth settles = FALSE if node.kind == NORMAL_AND else TRUE
    cdef Truth result = TRUE if node.kind == NORMAL_AND else FALSE
    cdef Truth truth
    cdef uint32_t i
    for i in range(node.count):
        truth = evaluate_node(plan, table, visit, scratch, plan.edges[node.first + i])
        if truth == settles:
            return settles
        if truth == UNDEFINED:
            result = UNDEFINED
    return result


cdef Truth evaluate_node(
    const Plan* plan,
    const CatalogTable* table,
    const Visit* visit,
    GraphScratch* scratch,
    uint32_t number,
) noexcept nogil:
    cdef const PlanNode* node = &plan.nodes[number]
    cdef Truth truth
    if scratch.truths[number] >> 2 == scratch.signature:
        return <Truth>(scratch.truths[number] & 3)
    if node.kind == NORMAL_PREDICATE:
        truth = test_predicate(
            plan.predicates, &plan.predicates.predicates[node.first], table, visit
        )
    elif node.kind == NORMAL_REFERENCE and is_reach(plan, node.first):
        truth = TRUE if scratch.reached.size() and scratch.reached[
            reach_of(plan, node.first)
        ] else FALSE
    elif node.kind == NORMAL_REFERENCE:
        if scratch.answers.size() and scratch.answers[node.first]:
            truth = <Truth>(scratch.answers[node.first] - 1)
        else:
            truth = evaluate_node(plan, table, visit, scratch, plan.definitions[node.first].root)
        if node.negated and truth != UNDEFINED:
            truth = FALSE if truth == TRUE else TRUE
    elif node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        truth = combine(plan, table, visit, scratch, node)
    else:
        truth = TRUE if node.kind == NORMAL_TRUE else FALSE
    scratch.truths[number] = scratch.signature << 2 | <uint32_t>truth
    return truth


# Copies.

cdef uint32_t find_plan_definition(const Plan* plan, bytes name):
    cdef const char* wanted = name
    cdef size_t length = len(name)
    cdef uint32_t i
    for i in range(<uint32_t>section_count(plan, NAMES)):
        if plan.names[i].length == length and (
            memcmp(plan.name_bytes + plan.names[i].offset, wanted, length) == 0
        ):
            return i
    return NOTHING


cdef uint32_t copy_reference(
    const Plan* plan, const PlanNode* node, NormalNode* made, NormalForm* form
) noexcept nogil:
    cdef Span name = plan.names[node.first]
    cdef const char* start = plan.name_bytes + name.offset
    cdef Span copied
    made.negated = node.negated
    made.hash = mix(hash_bytes(start, name.length), 2 + node.negated)
    copied.offset = <uint32_t>form.bytes.size()
    copied.length = name.length
    form.bytes.insert(form.bytes.end(), start, start + name.length)
    form.names.push_back(copied)
    return <uint32_t>(form.names.size() - 1)


cdef uint32_t copy_node(
    const Plan* plan, uint32_t number, vector[uint32_t]* copies, NormalForm* form
) noexcept nogil:
    """Copies a node with the hash that normal.pyx gives it, so that it meets what is there
    already."""
    cdef const PlanNode* node = &plan.nodes[number]
    cdef vector[uint32_t] children
    cdef NormalNode made
    cdef uint32_t i
    if copies[0][number] != NOTHING:
        return copies[0][number]
    made.kind = node.kind
    made.negated = 0
    made.count = node.count
    made.first = 0
    made.part = NOTHING
    if node.kind == NORMAL_PREDICATE:
        made.hash = predicate_hash(plan.predicates, &plan.predicates.predicates[node.first])
        made.first = predicate_copy(
            plan.predicates, &plan.predicates.predicates[node.first],
            &form.predicates, &form.words, &form.bytes,
        )
    elif node.kind == NORMAL_REFERENCE:
        made.first = copy_reference(plan, node, &made, form)
    elif node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        made.hash = mix(1, node.kind)
        for i in range(node.count):
            children.push_back(copy_node(plan, plan.edges[node.first + i], copies, form))
        sort_by_hash(children.data(), children.data() + node.count, form.nodes.data())
        for i in range(node.count):
            made.hash = mix(made.hash, form.nodes[children[i]].hash)
        made.first = <uint32_t>form.edges.size()
        form.edges.insert(form.edges.end(), children.begin(), children.end())
    else:
        made.hash = mix(0, node.kind)
    form.nodes.push_back(made)
    copies[0][number] = <uint32_t>(form.nodes.size() - 1)
    return copies[0][number]


cdef str name_of(const Plan* plan, uint32_t definition):
    cdef Span name = plan.names[definition]
    cdef const char* start = plan.name_bytes + name.offset
    return start[:name.length].decode()


cdef list names_below(const Plan* plan, uint32_t node):
    cdef uint32_t number, i
    names = []
    waiting = [node]
    seen = {node}
    while waiting:
        number = waiting.pop()
        if plan.nodes[number].kind == NORMAL_REFERENCE:
            names.append(name_of(plan, plan.nodes[number].first))
        elif plan.nodes[number].kind in (NORMAL_AND, NORMAL_OR):
            for i in range(plan.nodes[number].count):
                child = plan.edges[plan.nodes[number].first + i]
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return names


# Words.

cdef object value_of(const Plan* plan, const Predicate* predicate, uint32_t i):
    cdef int64_t word = plan.predicates.words[predicate.first + i]
    cdef const char* text
    if holds_text(predicate.type, predicate.test):
        text = plan.predicates.bytes + text_offset(word)
        return text[:text_length(word)].decode()
    if predicate.type == GEO or predicate.type == FLOAT:
        return float_of(word)
    return word


cdef str word_leaf(const Plan* plan, CompiledCatalog catalog, uint32_t leaf):
    cdef const Predicate* predicate = &plan.predicates.predicates[leaf]
    cdef uint32_t i
    return word_predicate(
        catalog.names[<Py_ssize_t>predicate.attribute],
        catalog.types[<Py_ssize_t>predicate.attribute],
        predicate.test,
        bool(predicate.negated),
        [value_of(plan, predicate, i) for i in range(predicate.count)],
    )


cdef int find_reasons(
    const Plan* plan,
    CompiledCatalog catalog,
    const Visit* visit,
    GraphScratch* scratch,
    uint32_t number,
    str within,
    dict found,
) except -1:
    cdef const PlanNode* node = &plan.nodes[number]
    cdef Truth truth = evaluate_node(plan, &catalog.table, visit, scratch, number)
    cdef uint32_t i
    if truth == TRUE or (number, within) in found:
        return 0
    found[number, within] = None        # visited; only conditions get a line
    if node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        for i in range(node.count):
            find_reasons(
                plan, catalog, visit, scratch, plan.edges[node.first + i], within, found
            )
    elif node.kind == NORMAL_REFERENCE and not node.negated and not is_reach(plan, node.first):
        find_reasons(
            plan, catalog, visit, scratch, plan.definitions[node.first].root,
            name_of(plan, node.first), found,
        )
    else:
        if node.kind == NORMAL_REFERENCE:
            text = ("not @" if node.negated else "@") + name_of(plan, node.first)
        elif node.kind == NORMAL_PREDICATE:
            text = word_leaf(plan, catalog, node.first)
        else:
            text = "false"
        found[number, within] = (within, text, None if truth == UNDEFINED else False)
    return 0


# Pictures.

cdef str draw_node(const Plan* plan, CompiledCatalog catalog, uint32_t root, str title):
    """Draws the graph below a node; a definition is drawn by its name."""
    cdef uint32_t number, i
    cdef const PlanNode* node
    lines = ["digraph expression {", f"  label={quote(title)};", "  node [shape=box];"]
    waiting = [root]
    seen = {root}
    while waiting:
        number = waiting.pop()
        node = &plan.nodes[number]
        shape = ""
        if node.kind == NORMAL_PREDICATE:
            text = word_leaf(plan, catalog, node.first)
        elif node.kind == NORMAL_REFERENCE:
            text = ("not @" if node.negated else "@") + name_of(plan, node.first)
            shape = ", style=dashed"
        else:
            text = {
                NORMAL_AND: "and", NORMAL_OR: "or", NORMAL_TRUE: "true", NORMAL_FALSE: "false"
            }[node.kind]
            shape = ", shape=ellipse"
        lines.append(f"  n{number} [label={quote(text)}{shape}];")
        if node.kind == NORMAL_AND or node.kind == NORMAL_OR:
            for i in range(node.count):
                child = plan.edges[node.first + i]
                lines.append(f"  n{number} -> n{child};")
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return "\n".join([*lines, "}\n"])


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
