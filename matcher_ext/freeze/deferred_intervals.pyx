"""Passes expected tests from parents to children, then decides by attribute
(deferred_intervals.pxd)."""
from libc.stdint cimport uint32_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport BY_ALL, BY_CHILD, BY_PARTITION, PULLED, Draft, Partitioned
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport PlanNode
from matcher_ext.plan.predicate_index cimport G_BETWEEN, G_MEMBER, G_OUTSIDE, G_STRANGER, group_of
from matcher_ext.routes.route_section cimport RouteSpec
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE,
)
from matcher_ext.values.predicate cimport Predicate

cdef enum:
    MARKED = 64             # intervals that are marked in the time of one test by itself
    DEFERRED_COST = 10      # of such a test, in tests of a bit

cdef float WALKED = 1.0 / 16    # of the graph's edges, those that a walk asks
cdef float HALFWAY = 0.5        # of the tests of a program, those before one ends it
cdef float LEAST_RATE = 0.2     # of definitions: those of reaches look as if they never held


cdef void start_demand(Draft* draft, const RouteSpec* spec, vector[float]* demand) noexcept nogil:
    """Starts with how often the records of ANDs are run, in the place of their own demand."""
    cdef uint32_t number, definition
    cdef size_t i
    demand.assign(draft.nodes.size(), 0)
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.pushed[number] == BY_CHILD and draft.nodes[number].kind == NORMAL_AND:
            demand[0][number] = draft.rates[draft.access[number]]
        elif draft.pushed[number] == BY_ALL:
            demand[0][number] = 1
    for i in range(draft.pairs.size()):
        demand[0][draft.pairs[i].node] = (
            draft.rates[draft.pairs[i].partition] * draft.rates[draft.pairs[i].other]
        )
    for i in range(draft.partitioned.size()):
        demand[0][draft.partitioned[i].node] = draft.rates[draft.partitioned[i].value]
    if spec != NULL and spec.reaches.size():
        for i in range(spec.edge_definitions.size()):
            definition = draft.definition_numbers[spec.edge_definitions[i]]
            demand[0][draft.definitions[definition].root] += WALKED


cdef void hand_down(Draft* draft, uint32_t number, vector[float]* demand) noexcept nogil:
    """Passes a node's expected tests on to its children."""
    cdef const PlanNode* node = &draft.nodes[number]
    cdef float asked = demand[0][number]
    cdef uint32_t i, child
    if draft.is_slot[number]:
        asked = min(<float>1, asked)
    if node.kind == NORMAL_REFERENCE:
        ask_definition(draft, number, asked, demand)
    elif node.kind == NORMAL_AND:
        hand_down_and(draft, number, asked, demand)
    elif node.kind == NORMAL_OR and draft.pushed[number] == PULLED:
        for i in range(node.count):
            child = draft.edges[node.first + i]
            demand[0][child] += asked * HALFWAY


cdef void ask_definition(
    Draft* draft, uint32_t number, float asked, vector[float]* demand
) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t root = draft.definitions[node.first].root
    if node.negated:
        root = draft.definition_duals[node.first]
    demand[0][root] = min(<float>1, demand[0][root] + asked)


cdef void hand_down_and(
    Draft* draft, uint32_t number, float asked, vector[float]* demand
) noexcept nogil:
    """Passes an AND's tests on: first to definitions, as guards are asked; then, as far as those
    hold, to the others."""
    cdef const PlanNode* node = &draft.nodes[number]
    cdef float passes = 1
    cdef uint32_t i, child
    for i in range(node.count):
        child = draft.edges[node.first + i]
        if draft.nodes[child].kind == NORMAL_REFERENCE:
            passes *= max(LEAST_RATE, draft.rates[child])
            if draft.pushed[number] != BY_PARTITION:
                demand[0][child] += asked * HALFWAY
    for i in range(node.count):
        child = draft.edges[node.first + i]
        if draft.nodes[child].kind != NORMAL_REFERENCE and child != draft.access[number]:
            demand[0][child] += asked * passes * (1 if draft.is_part[child] else HALFWAY)


cdef bint comes_before(const Partitioned& a, const Partitioned& b) noexcept nogil:
    return a.value < b.value


cdef void ask_guards(Draft* draft, vector[float]* demand) noexcept nogil:
    """Adds each definition's tests once for each value of the partition: that is what guards are
    for."""
    cdef vector[Partitioned] sorted_ = draft.partitioned
    cdef vector[uint32_t] last
    cdef const PlanNode* node
    cdef uint32_t child, k
    cdef size_t i
    sort(sorted_.begin(), sorted_.end(), comes_before)
    last.assign(draft.nodes.size(), NOTHING)
    for i in range(sorted_.size()):
        node = &draft.nodes[sorted_[i].node]
        for k in range(node.count):
            child = draft.edges[node.first + k]
            if draft.nodes[child].kind == NORMAL_REFERENCE and last[child] != sorted_[i].value:
                last[child] = sorted_[i].value
                demand[0][child] += draft.rates[sorted_[i].value] * HALFWAY


cdef void sum_demand(
    Draft* draft, const vector[float]* demand, vector[float]* asked
) noexcept nogil:
    """Sums up by attribute the tests of intervals that nobody pushes, less what marking them
    takes."""
    cdef uint32_t predicate
    cdef size_t i
    for i in range(draft.nodes.size()):
        if draft.nodes[i].kind == NORMAL_PREDICATE and is_interval(draft, <uint32_t>i):
            predicate = draft.nodes[i].first
            asked[0][draft.predicates[predicate].attribute] += (
                MARKED * min(<float>1, demand[0][i]) - 1
            )


cdef bint is_interval(const Draft* draft, uint32_t number) noexcept nogil:
    cdef int group = group_of(&draft.predicates[draft.nodes[number].first])
    return draft.pushed[number] == PULLED and (group == G_BETWEEN or group == G_OUTSIDE)


cdef bint is_long_list(const Draft* draft, uint32_t number) noexcept nogil:
    cdef const Predicate* predicate = &draft.predicates[draft.nodes[number].first]
    cdef int group = group_of(predicate)
    return draft.pushed[number] == PULLED and predicate.count >= LONG_LIST and (
        group == G_MEMBER or group == G_STRANGER
    )


cdef void defer_test(Draft* draft, uint32_t number) noexcept nogil:
    draft.is_deferred[draft.nodes[number].first] = 1
    draft.test_costs[number] = DEFERRED_COST


cdef void defer_intervals(Draft* draft, const RouteSpec* spec) noexcept nogil:
    cdef vector[float] demand, asked
    cdef uint32_t number
    start_demand(draft, spec, &demand)
    ask_guards(draft, &demand)
    for number in range(<uint32_t>draft.nodes.size(), 0, -1):
        if demand[number - 1] > 0:
            hand_down(draft, number - 1, &demand)
    asked.assign(draft.table.attributes.size(), 0)
    sum_demand(draft, &demand, &asked)
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.nodes[number].kind == NORMAL_PREDICATE and is_interval(draft, number) and (
            asked[draft.predicates[draft.nodes[number].first].attribute] < 0
        ):
            defer_test(draft, number)


cdef void defer_tests(Draft* draft, const RouteSpec* spec) noexcept nogil:
    cdef uint32_t number
    draft.is_deferred.assign(draft.predicates.size(), 0)
    defer_intervals(draft, spec)
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.nodes[number].kind == NORMAL_PREDICATE and is_long_list(draft, number):
            defer_test(draft, number)
