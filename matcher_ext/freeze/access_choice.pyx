"""Weighs nodes by rate and cost, children first; pushes them, parents first (access_choice.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport (
    BY_ALL, BY_CHILD, BY_PAIR, BY_PARTITION, PULLED, Draft, PairChoice, Partitioned, view_draft,
)
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.clues cimport has_clues
from matcher_ext.plan.plan cimport PlanNode
from matcher_ext.plan.predicate_index cimport G_BETWEEN, G_LAZY, GROUPS, group_of
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE,
)
from matcher_ext.values.predicate cimport (
    ALL_OF, BOOLEAN, CONTAINS, DURING, EQUAL, IN, IN_NETWORK, INSIDE, LIKE, ONE_OF, ONLY_OF,
    PRESENT, UNDER, WITHIN, Predicate,
)

cdef enum:
    LAZY_COST = 30          # tests of a bit that finding a leaf without clues is worth
    REFERENCE_COST = 12
    CANDIDATES = 2          # of a leaf that is found by clues, for each time that it is true


# Rates.

cdef void count_values(Draft* draft, vector[uint32_t]* values) noexcept nogil:
    """Counts by attribute the values that predicates ask for: the more, the rarer each is."""
    cdef const Predicate* predicate
    cdef size_t i
    values.assign(draft.table.attributes.size(), 0)
    for i in range(draft.predicates.size()):
        predicate = &draft.predicates[i]
        if predicate.test == EQUAL or predicate.test == IN or predicate.test == ONE_OF or (
            group_of(predicate) == G_LAZY
        ):
            values[0][predicate.attribute] += 1


cdef float guess_rate(const Predicate* predicate, uint32_t values) noexcept nogil:
    cdef float plain
    cdef int group = group_of(predicate)
    if group == GROUPS:
        return 0.3
    if predicate.test == PRESENT:
        return 0.7
    if predicate.test == EQUAL:
        plain = 0.35 if predicate.type == BOOLEAN else 0.7 / (values + 1)
    elif predicate.test == IN:
        plain = min(<float>0.35, <float>0.7 * predicate.count / (values + 1))
    elif predicate.test == ONE_OF:
        plain = min(<float>0.35, <float>2.8 * predicate.count / (values + 4))
    elif group == G_LAZY:
        plain = min(<float>0.1, <float>2.8 / (values + 4))
    else:
        plain = 0.15 if group == G_BETWEEN or group == G_BETWEEN + 1 else 0.35
    return <float>0.7 - plain if predicate.negated else plain


cdef void guess_rates(Draft* draft) noexcept nogil:
    cdef vector[uint32_t] values
    cdef size_t i
    count_values(draft, &values)
    for i in range(draft.predicates.size()):
        if draft.predicate_rates[i] < 0:
            draft.predicate_rates[i] = guess_rate(
                &draft.predicates[i], values[draft.predicates[i].attribute]
            )


# Costs, children first.

cdef float test_cost(const Predicate* predicate) noexcept nogil:
    """Returns what a lazy leaf's test takes, in tests of a bit."""
    if predicate.test == INSIDE or predicate.test == IN_NETWORK or predicate.test == DURING:
        return 10 + <float>0.5 * predicate.count
    if predicate.test == WITHIN:
        return 40
    if predicate.test == LIKE or predicate.test == CONTAINS or predicate.test == UNDER:
        return 40
    if predicate.test == ALL_OF or predicate.test == ONLY_OF:
        return 60
    return 10


cdef void weigh_leaf(Draft* draft, uint32_t number) noexcept nogil:
    cdef const Predicate* predicate = &draft.predicates[draft.nodes[number].first]
    cdef float rate = draft.predicate_rates[draft.nodes[number].first]
    draft.rates[number] = rate
    draft.test_costs[number] = 1
    draft.push_costs[number] = rate + <float>0.0001
    if group_of(predicate) == G_LAZY:
        draft.test_costs[number] = test_cost(predicate)
        if has_clues(view_draft(draft), predicate):
            draft.push_costs[number] = rate + <float>0.001 if predicate.negated else (
                (1 + CANDIDATES) * rate + <float>0.001
            )
        else:
            draft.push_costs[number] = rate + LAZY_COST


cdef void weigh_reference(Draft* draft, uint32_t number) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t root = draft.definitions[node.first].root
    if node.negated:
        root = draft.definition_duals[node.first]
    draft.rates[number] = draft.rates[root]
    draft.test_costs[number] = REFERENCE_COST
    draft.push_costs[number] = 2 * LAZY_COST


cdef void weigh_inner(Draft* draft, uint32_t number) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    cdef float rate = 1, cost = 0, test = 0
    cdef uint64_t size = 0
    cdef uint32_t i, child
    if node.kind == NORMAL_AND:
        cost = 1e30
    for i in range(node.count):
        child = draft.edges[node.first + i]
        test += draft.test_costs[child]
        size += 1 if draft.is_slot[child] else draft.sizes[child]
        if node.kind == NORMAL_AND:
            rate *= draft.rates[child]
            cost = min(cost, draft.push_costs[child])
        else:
            rate *= 1 - draft.rates[child]
            cost += draft.push_costs[child]
    draft.rates[number] = rate if node.kind == NORMAL_AND else 1 - rate
    draft.push_costs[number] = cost + draft.rates[number]
    draft.test_costs[number] = test * <float>0.6
    draft.sizes[number] = <uint32_t>min(size, <uint64_t>1 << 30)
    draft.is_slot[number] = draft.sizes[number] >= SLOT_SIZE and draft.uses[number] > 1


cdef void find_parts(Draft* draft) noexcept nogil:
    """Marks the ANDs that are children of ANDs."""
    cdef const PlanNode* node
    cdef uint32_t child, k
    cdef size_t i
    draft.is_part.assign(draft.nodes.size(), 0)
    for i in range(draft.nodes.size()):
        node = &draft.nodes[i]
        if node.kind == NORMAL_AND:
            for k in range(node.count):
                child = draft.edges[node.first + k]
                draft.is_part[child] = draft.nodes[child].kind == NORMAL_AND


cdef void weigh_nodes(Draft* draft) noexcept nogil:
    cdef size_t count = draft.nodes.size(), i
    draft.rates.assign(count, 0)
    draft.push_costs.assign(count, 0)
    draft.test_costs.assign(count, 1)
    draft.sizes.assign(count, 1)
    draft.is_slot.assign(count, 0)
    draft.uses.assign(count, 0)
    for i in range(draft.edges.size()):
        draft.uses[draft.edges[i]] += 1
    find_parts(draft)
    for i in range(count):
        if draft.nodes[i].kind == NORMAL_PREDICATE:
            weigh_leaf(draft, <uint32_t>i)
        elif draft.nodes[i].kind == NORMAL_REFERENCE:
            weigh_reference(draft, <uint32_t>i)
        elif draft.nodes[i].kind == NORMAL_AND or draft.nodes[i].kind == NORMAL_OR:
            weigh_inner(draft, <uint32_t>i)
        else:
            draft.rates[i] = draft.nodes[i].kind == NORMAL_TRUE


# Pairs.

cdef inline const Predicate* predicate_of(const Draft* draft, uint32_t number) noexcept nogil:
    if draft.nodes[number].kind != NORMAL_PREDICATE:
        return NULL
    return &draft.predicates[draft.nodes[number].first]


cdef void choose_partition(Draft* draft) noexcept nogil:
    """Finds the attribute that most expressions demand one value of, such as the publisher."""
    cdef vector[uint32_t] demands
    cdef const PlanNode* node
    cdef const Predicate* predicate
    cdef size_t i
    cdef uint32_t k, best = 0
    demands.assign(draft.table.attributes.size(), 0)
    draft.partition = NOTHING
    for i in range(draft.expressions.size()):
        node = &draft.nodes[draft.expressions[i].node]
        if node.kind != NORMAL_AND:
            continue
        for k in range(node.count):
            predicate = predicate_of(draft, draft.edges[node.first + k])
            if predicate != NULL and predicate.test == EQUAL and not predicate.negated:
                demands[predicate.attribute] += 1
    for k in range(<uint32_t>demands.size()):
        if demands[k] > demands[best]:
            best = k
    if demands.size() and demands[best] >= PAIR_MINIMUM and (
        demands[best] * 2 > draft.expressions.size()
    ):
        draft.partition = best


cdef void find_halves(Draft* draft, uint32_t number, PairChoice* choice) noexcept nogil:
    """Finds the two halves of a pair among an AND's children and those of its parts, which a
    campaign's bookings share."""
    cdef const PlanNode* node = &draft.nodes[number]
    cdef const Predicate* predicate
    cdef uint32_t i, child
    for i in range(node.count):
        child = draft.edges[node.first + i]
        if draft.is_part[child]:
            find_halves(draft, child, choice)
        predicate = predicate_of(draft, child)
        if predicate == NULL or predicate.negated:
            continue
        if predicate.attribute == draft.partition:
            if predicate.test == EQUAL:
                choice.partition = child
        elif predicate.count <= PAIR_VALUES and predicate.type != BOOLEAN and (
            predicate.test == EQUAL or predicate.test == IN or predicate.test == ONE_OF
        ):
            if choice.other == NOTHING or draft.rates[child] < draft.rates[choice.other]:
                choice.other = child


cdef bint choose_pair(Draft* draft, uint32_t number) noexcept nogil:
    """Takes two children as the way to an AND, if that is better than its access child."""
    cdef PairChoice choice
    choice.node = number
    choice.partition = NOTHING
    choice.other = NOTHING
    find_halves(draft, number, &choice)
    if choice.partition == NOTHING or choice.other == NOTHING:
        return False
    if draft.rates[choice.partition] * draft.rates[choice.other] * 2 > (
        draft.push_costs[draft.access[number]]
    ):
        return False
    draft.pairs.push_back(choice)
    return True


# Pushing, parents first.

cdef uint32_t cheapest_child(const Draft* draft, const PlanNode* node) noexcept nogil:
    cdef uint32_t best = draft.edges[node.first], i, child
    for i in range(1, node.count):
        child = draft.edges[node.first + i]
        if draft.push_costs[child] < draft.push_costs[best]:
            best = child
    return best


cdef bint is_partition(const Draft* draft, uint32_t number) noexcept nogil:
    cdef const Predicate* predicate = predicate_of(draft, number)
    return predicate != NULL and predicate.attribute == draft.partition and (
        predicate.test == EQUAL and not predicate.negated
    )


cdef void push_and(Draft* draft, uint32_t number) noexcept nogil:
    cdef uint32_t child = cheapest_child(draft, &draft.nodes[number])
    cdef bint is_free = draft.or_parents[number] == 0 and draft.and_parents[number] == 0
    draft.access[number] = child
    if draft.partition != NOTHING and is_free and choose_pair(draft, number):
        draft.pushed[number] = BY_PAIR
    elif draft.partition != NOTHING and is_free and is_partition(draft, child):
        draft.pushed[number] = BY_PARTITION
        draft.partitioned.push_back(Partitioned(number, child))
    elif draft.nodes[child].kind == NORMAL_REFERENCE:
        draft.pushed[number] = BY_ALL
    else:
        draft.pushed[child] = BY_CHILD
        draft.and_parents[child] += 1


cdef void push_node(Draft* draft, uint32_t number) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t i, child
    if node.kind == NORMAL_AND:
        push_and(draft, number)
    elif node.kind == NORMAL_REFERENCE or node.kind == NORMAL_TRUE:
        draft.pushed[number] = BY_ALL
    elif node.kind == NORMAL_OR:
        for i in range(node.count):
            child = draft.edges[node.first + i]
            draft.pushed[child] = BY_CHILD
            draft.or_parents[child] += 1
            draft.last_or[child] = number


cdef void choose_access(Draft* draft) noexcept nogil:
    cdef size_t count = draft.nodes.size(), i
    cdef uint32_t number
    guess_rates(draft)
    weigh_nodes(draft)
    choose_partition(draft)
    draft.pushed.assign(count, PULLED)
    draft.access.assign(count, NOTHING)
    draft.or_parents.assign(count, 0)
    draft.and_parents.assign(count, 0)
    draft.last_or.assign(count, NOTHING)
    for i in range(draft.expressions.size()):
        if draft.nodes[draft.expressions[i].node].kind != NORMAL_FALSE:
            draft.pushed[draft.expressions[i].node] = BY_CHILD
    for number in range(<uint32_t>count, 0, -1):
        if draft.pushed[number - 1]:
            push_node(draft, number - 1)
