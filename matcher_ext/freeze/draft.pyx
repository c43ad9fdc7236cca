"""Copies what is alive out of a store, children first, with the duals that references need."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport find_empty, first_place, next_place
from matcher_ext.nodes.store cimport NodeStore, StoredNode, view_store
from matcher_ext.plan.plan cimport Expression, PlanNode
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE,
)
from matcher_ext.values.predicate cimport (
    Predicate, PredicateView, holds_text, predicate_copy, predicate_equal, predicate_hash,
)
from matcher_ext.values.spans cimport text_length


cdef PredicateView view_draft(const Draft* draft) noexcept nogil:
    cdef PredicateView view
    view.predicates = draft.predicates.data()
    view.words = draft.words.data()
    view.bytes = draft.bytes.data()
    return view


cdef uint32_t keep_predicate(
    Draft* draft, PredicateView view, const Predicate* predicate, float rate
) noexcept nogil:
    """Returns a predicate's number here, one for equal ones: a dual may equal one of the store."""
    cdef size_t mask = draft.predicate_table.size() - 1
    cdef size_t slot = first_place(predicate_hash(view, predicate), mask)
    cdef uint32_t number
    while draft.predicate_table[slot] != NOTHING:
        number = draft.predicate_table[slot]
        if predicate_equal(view, predicate, view_draft(draft), &draft.predicates[number]):
            return number
        slot = next_place(slot, mask)
    number = predicate_copy(view, predicate, &draft.predicates, &draft.words, &draft.bytes)
    draft.predicate_rates.push_back(rate)
    draft.predicate_table[slot] = number
    if draft.predicates.size() * 2 > draft.predicate_table.size():
        grow_predicate_table(draft)
    return number


cdef void grow_predicate_table(Draft* draft) noexcept nogil:
    cdef size_t mask = draft.predicate_table.size() * 2 - 1
    cdef uint64_t hash
    cdef uint32_t i
    draft.predicate_table.assign(mask + 1, NOTHING)
    for i in range(<uint32_t>draft.predicates.size()):
        hash = predicate_hash(view_draft(draft), &draft.predicates[i])
        draft.predicate_table[find_empty(draft.predicate_table.data(), hash, mask)] = i


cdef uint32_t add_node(Draft* draft, const PlanNode* node) noexcept nogil:
    draft.nodes.push_back(node[0])
    draft.duals.push_back(NOTHING)
    return <uint32_t>(draft.nodes.size() - 1)


cdef uint32_t add_children(Draft* draft, const vector[uint32_t]* children) noexcept nogil:
    draft.edges.insert(draft.edges.end(), children.begin(), children.end())
    return <uint32_t>(draft.edges.size() - children.size())


cdef void place_children(
    Draft* draft, const StoredNode* source, bint nests, vector[uint32_t]* children
) noexcept nogil:
    """Places a node's children; a part that nobody else uses is no node of its own."""
    cdef const StoredNode* child
    cdef uint32_t number, i
    for i in range(source.count):
        number = draft.store.links[source.first + i]
        child = &draft.store.nodes[number]
        if nests and child.kind == source.kind and child.uses == 1:
            place_children(draft, child, child.nesting, children)
        else:
            children.push_back(place_node(draft, number))


cdef uint32_t place_node(Draft* draft, uint32_t old) noexcept nogil:
    cdef const StoredNode* source = &draft.store.nodes[old]
    cdef PlanNode made
    cdef vector[uint32_t] children
    if draft.numbers[old] != NOTHING:
        return draft.numbers[old]
    memset(&made, 0, sizeof(made))
    made.kind = source.kind
    made.negated = source.negated
    made.count = source.count
    if source.kind == NORMAL_PREDICATE:
        made.first = keep_predicate(
            draft, view_store(draft.store), &draft.store.predicates[source.first],
            draft.store.rates[source.first],
        )
    elif source.kind == NORMAL_REFERENCE:
        made.first = place_definition(draft, source.first)
        if made.negated:
            place_definition_dual(draft, made.first)
    elif source.kind == NORMAL_AND or source.kind == NORMAL_OR:
        place_children(draft, source, source.nesting, &children)
        made.first = add_children(draft, &children)
        made.count = <uint32_t>children.size()
    draft.numbers[old] = add_node(draft, &made)
    return draft.numbers[old]


cdef uint32_t place_definition(Draft* draft, uint32_t old) noexcept nogil:
    cdef DraftDefinition made
    if draft.definition_numbers[old] == NOTHING:
        made.name = draft.store.definitions[old].name
        made.root = place_node(draft, draft.store.definitions[old].root)
        draft.definition_numbers[old] = <uint32_t>draft.definitions.size()
        draft.definitions.push_back(made)
        draft.definition_duals.push_back(NOTHING)
    return draft.definition_numbers[old]


cdef void place_definition_dual(Draft* draft, uint32_t definition) noexcept nogil:
    cdef uint32_t dual
    if draft.definition_duals[definition] == NOTHING:
        dual = place_dual(draft, draft.definitions[definition].root)
        draft.definition_duals[definition] = dual


cdef uint32_t place_dual(Draft* draft, uint32_t number) noexcept nogil:
    cdef PlanNode made = draft.nodes[number]
    cdef vector[uint32_t] children
    cdef Predicate predicate
    cdef uint32_t i, dual
    if draft.duals[number] != NOTHING:
        return draft.duals[number]
    if made.kind == NORMAL_PREDICATE:
        predicate = draft.predicates[made.first]
        predicate.negated = not predicate.negated
        made.first = keep_predicate(draft, copy_view(draft, &predicate), &predicate, -1)
    elif made.kind == NORMAL_REFERENCE:
        made.negated = not made.negated
        if made.negated:
            place_definition_dual(draft, made.first)
    elif made.kind == NORMAL_AND or made.kind == NORMAL_OR:
        for i in range(made.count):
            children.push_back(place_dual(draft, draft.edges[made.first + i]))
        made.first = add_children(draft, &children)
        made.kind = NORMAL_OR if made.kind == NORMAL_AND else NORMAL_AND
    else:
        made.kind = NORMAL_FALSE if made.kind == NORMAL_TRUE else NORMAL_TRUE
    dual = add_node(draft, &made)
    draft.duals[number] = dual
    return dual


cdef PredicateView copy_view(Draft* draft, const Predicate* predicate) noexcept nogil:
    """Views the draft as a source for itself; makes room first, so that copying does not move
    it."""
    cdef size_t length = 0
    cdef uint32_t i
    if holds_text(predicate.type, predicate.test):
        for i in range(predicate.count):
            length += text_length(draft.words[predicate.first + i])
    if draft.words.capacity() - draft.words.size() < predicate.count:
        draft.words.reserve(2 * draft.words.size() + predicate.count)
    if draft.bytes.capacity() - draft.bytes.size() < length:
        draft.bytes.reserve(2 * draft.bytes.size() + length)
    return view_draft(draft)


cdef bint comes_before(const Entry& a, const Entry& b) noexcept nogil:
    return a.root < b.root or (a.root == b.root and a.id < b.id)


cdef void place_entries(Draft* draft, vector[Entry]* entries) noexcept nogil:
    cdef Expression expression
    cdef size_t i = 0
    cdef uint32_t root
    sort(entries.begin(), entries.end(), comes_before)
    while i < entries.size():
        root = entries[0][i].root
        expression.node = place_node(draft, root)
        expression.first = <uint32_t>draft.ids.size()
        while i < entries.size() and entries[0][i].root == root:
            draft.ids.push_back(entries[0][i].id)
            i += 1
        expression.count = <uint32_t>draft.ids.size() - expression.first
        draft.expressions.push_back(expression)


cdef void fill_draft(
    Draft* draft,
    const NodeStore* store,
    const CatalogTable* table,
    vector[Entry]* entries,
    const vector[uint32_t]* definitions,
) noexcept nogil:
    cdef uint32_t i
    draft.store = store
    draft.table = table
    draft.numbers.assign(store.nodes.size(), NOTHING)
    draft.definition_numbers.assign(store.definitions.size(), NOTHING)
    draft.predicate_table.assign(1024, NOTHING)
    if definitions == NULL:
        for i in range(<uint32_t>store.definitions.size()):
            place_definition(draft, i)
    else:
        for i in range(<uint32_t>definitions.size()):
            place_definition(draft, definitions[0][i])
    place_entries(draft, entries)
    draft.expression_of.assign(draft.nodes.size(), NOTHING)
    for i in range(<uint32_t>draft.expressions.size()):
        draft.expression_of[draft.expressions[i].node] = i
