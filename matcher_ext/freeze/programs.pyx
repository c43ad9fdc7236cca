"""Compiles pulled subexpressions to programs and numbers the slots that they ask (programs.pxd)."""
from libc.math cimport sqrtf
from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport PlanNode
from matcher_ext.plan.record_format cimport (
    RECORD_NEVER, RECORD_WIDE, fits_narrow, narrow_test, wide_second,
)
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE,
)

cdef enum:
    WHEN_TRUE               # the first two labels
    WHEN_FALSE


cdef bint asks_slot(
    const Draft* draft, const Programs* programs, uint32_t number
) noexcept nogil:
    if draft.nodes[number].kind == NORMAL_REFERENCE:
        return True
    return draft.is_slot[number] and not (programs.copies_parts and draft.is_part[number])


cdef uint32_t* slot_of(const Draft* draft, Programs* programs, uint32_t number) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    if node.kind == NORMAL_REFERENCE:
        return &programs.definition_slots[2 * node.first + node.negated]
    return &programs.slot_of[number]


cdef uint32_t node_behind(const Draft* draft, uint32_t number) noexcept nogil:
    """Returns what a slot evaluates: a definition's root or its dual, or the node itself."""
    cdef const PlanNode* node = &draft.nodes[number]
    if node.kind != NORMAL_REFERENCE:
        return number
    if node.negated:
        return draft.definition_duals[node.first]
    return draft.definitions[node.first].root


cdef uint32_t atom_of(const Draft* draft, Programs* programs, uint32_t number) noexcept nogil:
    if asks_slot(draft, programs, number):
        return <uint32_t>draft.predicates.size() + slot_of(draft, programs, number)[0]
    return draft.leaf_of[draft.nodes[number].first]


cdef void begin_slots(const Draft* draft, Programs* programs) noexcept nogil:
    programs.slot_of.assign(draft.nodes.size(), NOTHING)
    programs.definition_slots.assign(2 * draft.definitions.size(), NOTHING)
    programs.copies_parts = False


cdef bint has_slots(const Draft* draft) noexcept nogil:
    cdef uint32_t number
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.nodes[number].kind == NORMAL_REFERENCE or draft.is_slot[number]:
            return True
    return False


cdef void number_below(const Draft* draft, Programs* programs, uint32_t number) noexcept nogil:
    """Numbers the slots that a slot with this content asks."""
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t i
    if node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        for i in range(node.count):
            number_slots(draft, programs, draft.edges[node.first + i])
    elif node.kind == NORMAL_REFERENCE:
        number_slots(draft, programs, number)


cdef void number_slots(const Draft* draft, Programs* programs, uint32_t number) noexcept nogil:
    cdef uint32_t behind
    if not asks_slot(draft, programs, number):
        number_below(draft, programs, number)
        return
    if slot_of(draft, programs, number)[0] != NOTHING:
        return
    behind = node_behind(draft, number)
    if draft.nodes[number].kind == NORMAL_REFERENCE:
        number_definition(draft, programs, draft.nodes[number].first)
        if not draft.nodes[number].negated:
            return
    number_below(draft, programs, behind)
    slot_of(draft, programs, number)[0] = <uint32_t>programs.slot_nodes.size()
    programs.slot_nodes.push_back(behind)


cdef void number_definition(
    const Draft* draft, Programs* programs, uint32_t definition
) noexcept nogil:
    cdef uint32_t root = draft.definitions[definition].root
    if programs.definition_slots[2 * definition] != NOTHING:
        return
    number_below(draft, programs, root)
    programs.definition_slots[2 * definition] = <uint32_t>programs.slot_nodes.size()
    programs.slot_nodes.push_back(root)


cdef void add_test(
    const Draft* draft, Programs* programs, uint32_t number, uint32_t yes, uint32_t no, bint falls
) noexcept nogil:
    """Adds a test. If it `falls`, what follows is where to go on when it is true; otherwise, when
    it is false."""
    cdef Instruction made
    made.atom = atom_of(draft, programs, number)
    made.sense = not falls
    made.label = no if falls else yes
    programs.instructions.push_back(made)


cdef void add_node(
    const Draft* draft, Programs* programs, uint32_t number, uint32_t yes, uint32_t no, bint falls
) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    if node.kind == NORMAL_PREDICATE or asks_slot(draft, programs, number):
        add_test(draft, programs, number, yes, no, falls)
        return
    add_children(
        draft, programs, draft.edges.data() + node.first, node.count, node.kind, yes, no, falls
    )


cdef void rank_children(
    const Draft* draft, Programs* programs, const uint32_t* children, uint32_t count, uint8_t kind
) noexcept nogil:
    """Puts children on the stack, in the order of their tests."""
    cdef pair[float, uint32_t] item
    cdef float ends
    cdef uint32_t i
    for i in range(count):
        item.second = children[i]
        ends = draft.rates[item.second]
        if kind == NORMAL_AND:
            ends = 1 - ends
        item.first = draft.test_costs[item.second] / max(ends, <float>1e-6)
        if asks_slot(draft, programs, item.second):
            item.first /= sqrtf(<float>max(draft.uses[item.second], <uint32_t>1))
        programs.ranked.push_back(item)
    sort(programs.ranked.end() - count, programs.ranked.end())


cdef void add_children(
    const Draft* draft,
    Programs* programs,
    const uint32_t* children,
    uint32_t count,
    uint8_t kind,
    uint32_t yes,
    uint32_t no,
    bint falls,
) noexcept nogil:
    cdef size_t first = programs.ranked.size()
    cdef uint32_t label, child, i
    rank_children(draft, programs, children, count, kind)
    for i in range(count):
        child = programs.ranked[first + i].second
        if i + 1 == count:
            add_node(draft, programs, child, yes, no, falls)
            break
        label = <uint32_t>programs.labels.size()
        programs.labels.push_back(0)
        if kind == NORMAL_AND:
            add_node(draft, programs, child, label, no, True)
        else:
            add_node(draft, programs, child, yes, label, False)
        programs.labels[label] = <uint32_t>programs.instructions.size()
    programs.ranked.resize(first)


cdef bint needs_width(const Programs* programs) noexcept nogil:
    """Says whether an instruction does not fit a narrow test."""
    cdef uint32_t i
    for i in range(<uint32_t>programs.instructions.size()):
        if not fits_narrow(
            programs.instructions[i].atom, programs.labels[programs.instructions[i].label] - i
        ):
            return True
    return False


cdef void put_program(
    Programs* programs, uint32_t flags, vector[uint32_t]* records
) noexcept nogil:
    cdef uint32_t count = <uint32_t>programs.instructions.size()
    cdef Instruction* made
    cdef bint wide
    cdef uint32_t i, jump
    programs.labels[<int>WHEN_TRUE] = count
    programs.labels[<int>WHEN_FALSE] = count + 1
    wide = needs_width(programs)
    records.push_back((count * 2 | RECORD_WIDE if wide else count) | flags)
    for i in range(count):
        made = &programs.instructions[i]
        jump = programs.labels[made.label] - i
        if wide:
            records.push_back(made.atom)
            records.push_back(wide_second(jump, made.sense))
        else:
            records.push_back(narrow_test(made.atom, jump, made.sense))


cdef void begin_program(Programs* programs) noexcept nogil:
    programs.instructions.clear()
    programs.labels.assign(2, 0)


cdef void write_program(
    const Draft* draft,
    Programs* programs,
    const vector[uint32_t]* children,
    uint32_t flags,
    vector[uint32_t]* records,
) noexcept nogil:
    cdef vector[uint32_t] tested
    cdef size_t i
    begin_program(programs)
    for i in range(children.size()):
        add_tested(draft, programs, children[0][i], &tested)
    if tested.size():
        add_children(
            draft, programs, tested.data(), <uint32_t>tested.size(), NORMAL_AND, WHEN_TRUE,
            WHEN_FALSE, True,
        )
    put_program(programs, flags, records)


cdef void add_tested(
    const Draft* draft, const Programs* programs, uint32_t number, vector[uint32_t]* tested
) noexcept nogil:
    """Adds what is tested: of a part that is copied its children, so that all are in one order."""
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t i
    if not draft.is_part[number] or asks_slot(draft, programs, number):
        tested.push_back(number)
        return
    for i in range(node.count):
        add_tested(draft, programs, draft.edges[node.first + i], tested)


cdef void write_slot(
    const Draft* draft, Programs* programs, uint32_t number, vector[uint32_t]* records
) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    begin_program(programs)
    if node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        add_children(
            draft, programs, draft.edges.data() + node.first, node.count, node.kind, WHEN_TRUE,
            WHEN_FALSE, True,
        )
    elif node.kind != NORMAL_TRUE and node.kind != NORMAL_FALSE:
        add_test(draft, programs, number, WHEN_TRUE, WHEN_FALSE, True)
    put_program(programs, RECORD_NEVER if node.kind == NORMAL_FALSE else 0, records)
