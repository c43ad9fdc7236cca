"""Writes circuits (circuit.pxd) in three steps, survey, leaves and nodes: see write_circuit."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort, unique
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.leaf_bits cimport find_number, find_text
from matcher_ext.plan.plan cimport Expression, Plan, PlanNode
from matcher_ext.plan.predicate_index cimport (
    G_ABOVE, G_BELOW, G_BETWEEN, G_FROM, G_LAZY, G_MEMBER, G_OUTSIDE, G_PRESENT, G_STRANGER,
    G_UNEQUAL, G_UP_TO, GROUPS, AttributeIndex, group_of, order_float,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NORMAL_REFERENCE, NORMAL_TRUE
from matcher_ext.values.predicate cimport FLOAT, STRING, STRING_SET, Predicate
from matcher_ext.values.spans cimport text_length, text_offset

cdef enum:
    MOST_SIZE = 0xFFFF
    OTHER_CLASS = 4

cdef cppclass Survey:
    """What is known of each node of the plan before it is written."""
    vector[uint8_t] uses            # 2 stands for more
    vector[uint16_t] sizes          # as a tree, up to MOST_SIZE
    vector[uint8_t] depths
    vector[uint32_t] numbers        # of nodes of the circuit, or NOTHING
    vector[uint32_t] waiting        # numbered, not written yet
    vector[pair[uint64_t, uint32_t]] order  # children of the nodes being written
    # By leaf, written once: a leaf has many uses, and finding its positions takes a search.
    vector[uint32_t] leaf_starts    # into leaf_words, and the end
    vector[uint32_t] leaf_words
    vector[uint8_t] leaf_is_kept


cdef inline bint is_leaf(const Plan* plan, uint32_t number) noexcept nogil:
    """Says whether a node is a leaf, without a look at it: leaves come first, under their
    numbers."""
    return number < plan.totals.leaves


cdef uint32_t resolve(const Plan* plan, uint32_t number) noexcept nogil:
    """Follows a chain of references to what it stands for; NOTHING is false."""
    cdef const PlanNode* node
    while number != NOTHING and not is_leaf(plan, number):
        node = &plan.nodes[number]
        if node.kind != NORMAL_REFERENCE:
            return number
        number = (
            plan.definitions[node.first].dual if node.negated
            else plan.definitions[node.first].root
        )
    return number


# 1. Survey.

cdef void add_use(Survey* survey, uint32_t number) noexcept nogil:
    if number != NOTHING and survey.uses[number] < 2:
        survey.uses[number] += 1


cdef void survey_children(const Plan* plan, Survey* survey, uint32_t number) noexcept nogil:
    cdef const PlanNode* node = &plan.nodes[number]
    cdef uint32_t size = 1, depth = 0, child, i
    for i in range(node.count):
        child = resolve(plan, plan.edges[node.first + i])
        add_use(survey, child)
        if child != NOTHING:
            size = min(<uint32_t>MOST_SIZE, size + survey.sizes[child])
            depth = max(depth, <uint32_t>survey.depths[child] + 1)
    survey.sizes[number] = <uint16_t>size
    # An early node is at hand when anything above it is evaluated.
    survey.depths[number] = <uint8_t>(0 if depth >= DEEPEST else depth)
    if depth >= DEEPEST:
        survey.sizes[number] = MOST_SIZE


cdef void survey_nodes(const Plan* plan, Survey* survey) noexcept nogil:
    cdef uint32_t count = <uint32_t>plan.node_count
    cdef uint32_t number
    cdef uint64_t i
    survey.uses.assign(count, 0)
    survey.sizes.assign(count, 1)
    survey.depths.assign(count, 0)
    survey.numbers.assign(count, NOTHING)
    for number in range(count):         # children come before their parents
        if plan.nodes[number].kind == NORMAL_AND or plan.nodes[number].kind == NORMAL_OR:
            survey_children(plan, survey, number)
    for i in range(plan.expression_count):
        add_use(survey, resolve(plan, plan.expressions[i].node))


# 2. Leaves.

cdef uint32_t position_of(
    const Plan* plan, const CatalogTable* table, const Predicate* predicate, uint32_t value
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[predicate.attribute]
    cdef int64_t word = plan.predicates.words[predicate.first + value]
    if not attribute.key_count:
        return 1
    if predicate.type == STRING or predicate.type == STRING_SET:
        return 2 * find_text(
            plan, attribute, plan.predicates.bytes + text_offset(word), text_length(word)
        ) + 1
    return 2 * find_number(
        plan, attribute, order_float(word) if predicate.type == FLOAT else word
    ) + 1


cdef void write_positions(
    const Plan* plan, const CatalogTable* table, const Predicate* predicate, uint32_t kind,
    vector[uint32_t]* code,
) noexcept nogil:
    cdef size_t first
    cdef uint32_t i
    code.push_back(kind | predicate.attribute << KIND_BITS)
    code.push_back(predicate.count)
    first = code.size()
    for i in range(predicate.count):
        code.push_back(position_of(plan, table, predicate, i))
    sort(code.begin() + first, code.end())
    code.resize(unique(code.begin() + first, code.end()) - code.begin())
    code[0][first - 1] = <uint32_t>(code.size() - first)


cdef void write_range(
    uint32_t attribute, bint is_outside, uint32_t first, uint32_t end, vector[uint32_t]* code
) noexcept nogil:
    if end < first:
        end = first
    if end <= 0xFFFF:
        code.push_back((C_OUTSIDE if is_outside else C_RANGE) | attribute << KIND_BITS)
        code.push_back(first | end << 16)
        return
    code.push_back((C_WIDE_OUTSIDE if is_outside else C_WIDE) | attribute << KIND_BITS)
    code.push_back(first)
    code.push_back(end)


cdef void write_bounds(
    const Plan* plan, const CatalogTable* table, const Predicate* predicate, int group,
    vector[uint32_t]* code,
) noexcept nogil:
    """Writes a leaf of a group up to G_OUTSIDE: one or two values of a scalar."""
    cdef uint32_t all_end = 2 * plan.attributes[predicate.attribute].key_count + 1
    cdef uint32_t low = position_of(plan, table, predicate, 0)
    cdef uint32_t first = low, end = low + 1
    if group == G_UP_TO or group == G_BELOW:
        first = 0
        end = low + (group == G_UP_TO)
    elif group == G_ABOVE or group == G_FROM:
        first = low + (group == G_ABOVE)
        end = all_end
    elif group == G_BETWEEN or group == G_OUTSIDE:
        end = position_of(plan, table, predicate, 1) + 1
    write_range(
        predicate.attribute, group == G_UNEQUAL or group == G_OUTSIDE, first, end, code
    )


cdef void write_leaf(
    const Plan* plan, const CatalogTable* table, uint32_t leaf, vector[uint32_t]* code
) noexcept nogil:
    cdef const Predicate* predicate = &plan.predicates.predicates[leaf]
    cdef int group = group_of(predicate)
    cdef uint32_t presence = presence_of(table, predicate.attribute)
    cdef bint of_set = is_set(table.attributes[predicate.attribute].type)
    cdef uint32_t ends
    if group == G_PRESENT:
        ends = 1 if of_set else 2 * plan.attributes[predicate.attribute].key_count + 1
        write_range(presence, False, 0, ends, code)
    elif group == GROUPS:
        code.push_back(C_MISSING | presence << KIND_BITS)
    elif (group == G_MEMBER or group == G_STRANGER) and leaf < plan.totals.filled:
        write_positions(
            plan, table, predicate,
            (C_ANY_OF if of_set else C_MEMBER) + (group == G_STRANGER), code,
        )
    elif group < G_MEMBER and not of_set:
        write_bounds(plan, table, predicate, group, code)
    else:
        code.push_back(C_LAZY | leaf << KIND_BITS)


cdef bint is_leaf_kept(
    const Plan* plan, const CatalogTable* table, uint32_t leaf
) noexcept nogil:
    cdef const Predicate* predicate = &plan.predicates.predicates[leaf]
    cdef int group = group_of(predicate)
    if group == G_MEMBER or group == G_STRANGER:
        return predicate.count > SHORT_LIST or is_set(table.attributes[predicate.attribute].type)
    return group >= G_LAZY


cdef void write_leaves(const Plan* plan, const CatalogTable* table, Survey* survey) noexcept nogil:
    cdef uint32_t leaf
    for leaf in range(plan.totals.leaves):
        survey.leaf_starts.push_back(<uint32_t>survey.leaf_words.size())
        survey.leaf_is_kept.push_back(is_leaf_kept(plan, table, leaf))
        write_leaf(plan, table, leaf, &survey.leaf_words)
    survey.leaf_starts.push_back(<uint32_t>survey.leaf_words.size())


cdef void copy_leaf(const Survey* survey, uint32_t leaf, Circuit* circuit) noexcept nogil:
    cdef uint32_t first = survey.leaf_starts[leaf], i
    if survey.leaf_words[first] & KIND_MASK == C_LAZY:
        circuit.is_lazy = True
    for i in range(first, survey.leaf_starts[leaf + 1]):
        circuit.code.push_back(survey.leaf_words[i])


# 3. Nodes.

cdef bint is_kept(const Plan* plan, const Survey* survey, uint32_t number) noexcept nogil:
    """Says whether a node's answer is worth a number."""
    cdef uint8_t kind
    if is_leaf(plan, number):
        return survey.leaf_is_kept[number]
    kind = plan.nodes[number].kind
    return (kind == NORMAL_AND or kind == NORMAL_OR) and (
        survey.uses[number] > 1 or survey.sizes[number] > HEAVY
    )


cdef void write_use(
    const Plan* plan, Survey* survey, uint32_t number, Circuit* circuit
) noexcept nogil:
    """Writes a node where it is used: its number, or itself."""
    if number == NOTHING or not is_kept(plan, survey, number):
        write_node(plan, survey, number, circuit)
        return
    if survey.numbers[number] == NOTHING:
        survey.numbers[number] = <uint32_t>circuit.starts.size()
        survey.waiting.push_back(number)
        circuit.starts.push_back(NOTHING)
        circuit.heavy.push_back(survey.sizes[number] > HEAVY)
    circuit.code.push_back(C_NODE | survey.numbers[number] << KIND_BITS)


cdef uint32_t class_of(const Plan* plan, const Survey* survey, uint32_t number) noexcept nogil:
    """Says which loop a child belongs to: the byte of its count, or OTHER_CLASS."""
    cdef uint32_t kind
    if not is_leaf(plan, number) or survey.leaf_is_kept[number]:
        return OTHER_CLASS
    kind = survey.leaf_words[survey.leaf_starts[number]] & KIND_MASK
    if kind == C_RANGE or kind == C_OUTSIDE:
        return kind
    if kind == C_MEMBER or kind == C_STRANGER:
        return kind - C_MEMBER + 2
    return OTHER_CLASS


cdef uint32_t width_of(const Survey* survey, uint32_t leaf) noexcept nogil:
    """Counts the positions of a C_RANGE."""
    cdef uint32_t bounds = survey.leaf_words[survey.leaf_starts[leaf] + 1]
    return (bounds >> 16) - (bounds & 0xFFFF)


cdef uint32_t order_children(
    const Plan* plan, Survey* survey, const PlanNode* node
) noexcept nogil:
    """Puts the children on survey.order, by class and width; returns the word of leaves."""
    cdef size_t first = survey.order.size()
    cdef uint32_t counts[OTHER_CLASS + 1]
    cdef uint32_t i, child, number
    cdef pair[uint64_t, uint32_t] item
    for i in range(OTHER_CLASS + 1):
        counts[i] = 0
    for i in range(node.count):
        child = resolve(plan, plan.edges[node.first + i])
        number = OTHER_CLASS if child == NOTHING else class_of(plan, survey, child)
        if counts[number] == MOST_COUNTED:
            number = OTHER_CLASS
        counts[number] += 1
        item.first = <uint64_t>number << 48
        if number == 0:
            item.first |= <uint64_t>width_of(survey, child) << 32
        item.first |= i
        item.second = child
        survey.order.push_back(item)
    sort(survey.order.begin() + first, survey.order.end())
    return counts[0] | counts[1] << 8 | counts[2] << 16 | counts[3] << 24


cdef void write_children(
    const Plan* plan, Survey* survey, const PlanNode* node, Circuit* circuit
) noexcept nogil:
    cdef size_t start = circuit.code.size()
    cdef size_t first = survey.order.size()
    cdef uint32_t leaves = order_children(plan, survey, node)
    cdef uint32_t i
    circuit.code.push_back(
        (C_AND if node.kind == NORMAL_AND else C_OR) | node.count << KIND_BITS
    )
    circuit.code.push_back(0)
    circuit.code.push_back(leaves)
    for i in range(node.count):
        write_use(plan, survey, survey.order[first + i].second, circuit)
    survey.order.resize(first)
    circuit.code[start + 1] = <uint32_t>(circuit.code.size() - start - 2)


cdef void write_node(
    const Plan* plan, Survey* survey, uint32_t number, Circuit* circuit
) noexcept nogil:
    cdef uint8_t kind = 0
    if is_leaf(plan, number):
        copy_leaf(survey, number, circuit)
        return
    if number != NOTHING:
        kind = plan.nodes[number].kind
    if number != NOTHING and (kind == NORMAL_AND or kind == NORMAL_OR) and (
        plan.nodes[number].count
    ):
        write_children(plan, survey, &plan.nodes[number], circuit)
    elif number != NOTHING and kind == NORMAL_TRUE:
        circuit.code.push_back(C_TRUE)
    else:
        circuit.code.push_back(C_OR)
        circuit.code.push_back(1)
        circuit.code.push_back(0)


cdef void write_waiting(
    const Plan* plan, Survey* survey, vector[pair[uint32_t, uint32_t]]* early, Circuit* circuit
) noexcept nogil:
    """Writes what an expression uses for the first time behind it, the innermost last."""
    cdef pair[uint32_t, uint32_t] item
    cdef size_t i = 0
    while i < survey.waiting.size():
        item.first = survey.waiting[i]
        item.second = survey.numbers[item.first]
        if survey.sizes[item.first] == MOST_SIZE and survey.depths[item.first] == 0:
            early.push_back(item)
        circuit.starts[item.second] = <uint32_t>circuit.code.size()
        write_node(plan, survey, item.first, circuit)
        i += 1
    survey.waiting.clear()


cdef void order_expressions(
    const Plan* plan, vector[pair[uint32_t, uint32_t]]* order
) noexcept nogil:
    """Orders expressions by their first children: by id, neighbours would have nothing in
    common."""
    cdef pair[uint32_t, uint32_t] item
    cdef uint32_t i
    order.reserve(plan.expression_count)
    for i in range(plan.expression_count):
        item.first = resolve(plan, plan.expressions[i].node)
        item.second = i
        if item.first != NOTHING and not is_leaf(plan, item.first) and plan.nodes[item.first].count:
            item.first = plan.edges[plan.nodes[item.first].first]
        order.push_back(item)
    sort(order.begin(), order.end())


cdef void write_circuit(
    const Plan* plan,
    const CatalogTable* table,
    uint32_t first_expression,
    size_t most_words,
    Circuit* circuit,
) noexcept nogil:
    cdef vector[pair[uint32_t, uint32_t]] early, order
    cdef const Expression* expression
    cdef Survey survey
    cdef uint32_t i = first_expression
    cdef size_t k
    survey_nodes(plan, &survey)
    write_leaves(plan, table, &survey)
    order_expressions(plan, &order)
    circuit.first_expression = first_expression
    circuit.is_lazy = False
    while i < plan.expression_count and (
        circuit.code.size() < most_words or i == first_expression
    ):
        circuit.roots.push_back(<uint32_t>circuit.code.size())
        expression = &plan.expressions[order[i].second]
        circuit.expressions.push_back(expression[0])
        write_use(plan, &survey, resolve(plan, expression.node), circuit)
        write_waiting(plan, &survey, &early, circuit)
        i += 1
    circuit.end_expression = i
    circuit.code.resize(circuit.code.size() + 64)       # may be read ahead, never run
    sort(early.begin(), early.end())    # inner ones first
    for k in range(early.size()):
        circuit.early.push_back(early[k].second)
