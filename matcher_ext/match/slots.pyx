"""Evaluates lazy leaves and slots, each at most once per visit (slots.pxd)."""
from libc.stdint cimport uint8_t, uint32_t

from matcher_ext.machine.bitmaps cimport get_bit
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.scratch cimport Answerer, Meaning, Reached, Scratch
from matcher_ext.plan.graph cimport evaluate_node
from matcher_ext.plan.plan cimport Plan, lazy_test
from matcher_ext.plan.record_format cimport count_tests, program_of, sense_of, tests_of, wide_jump
from matcher_ext.routes.route_section cimport Reach, find_source
from matcher_ext.routes.routes cimport find_last_hop, walk_from
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport FALSE, TRUE, Truth
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport Value


cdef inline bint note_asked(Scratch* scratch, uint32_t memo, bint truth) noexcept nogil:
    scratch.memos[memo] = <uint8_t>(IS_FALSE + truth)
    scratch.asked.push_back(memo)
    return truth


cdef bint ask_leaf(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t leaf
) noexcept nogil:
    cdef bint truth = TRUE == test_predicate(
        plan.tests, lazy_test(plan, leaf), table, &scratch.visit
    )
    scratch.tested += 1
    return note_asked(scratch, leaf - plan.totals.filled, truth)


cdef bint ask_slot(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t atom
) noexcept nogil:
    cdef uint32_t memo = atom - plan.totals.filled
    cdef uint32_t slot = atom - plan.totals.leaves
    cdef bint truth
    scratch.answered += 1
    if scratch.memos[memo] == IS_REPLACED:      # and so among those asked already
        truth = ask_meaning(table, scratch, slot)
        scratch.memos[memo] = IS_TRUE if truth else IS_FALSE
        return truth
    if slot - plan.routes.first_reach < plan.routes.reach_count:
        truth = ask_reach(plan, table, scratch, slot - plan.routes.first_reach)
    elif scratch.answered_by != NULL and scratch.answered_by[slot]:
        truth = ask_answerer(plan, table, scratch, slot)
    else:
        truth = run_program(plan, table, scratch, program_of(plan.records + plan.slots[slot]))
    return note_asked(scratch, memo, truth)


cdef bint ask_meaning(
    const CatalogTable* table, Scratch* scratch, uint32_t slot
) noexcept nogil:
    cdef const Meaning* meaning = &scratch.meanings[scratch.meaning_of[slot] - 1]
    return evaluate_node(
        scratch.definitions, table, &scratch.visit, scratch.graph, meaning.root
    ) == (FALSE if meaning.negated else TRUE)


cdef bint ask_answerer(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t slot
) noexcept nogil:
    """Asks the code behind a slot. What it left open, or is still about to say, is not true."""
    cdef Answerer* answerer = &scratch.answerers[scratch.answered_by[slot] - 1]
    cdef Match match = Match(plan, table, scratch)
    if not answerer.was_asked:
        answerer.was_asked = True
        answerer.answer(answerer.context, &match)
    return scratch.memos[plan.totals.leaves - plan.totals.filled + slot] == IS_TRUE


cdef bint ask_definition(const Match* match, uint32_t definition) noexcept nogil:
    cdef uint32_t slot = match.plan.definition_slots[2 * definition]
    if slot == NOTHING:
        return False
    return ask(match.plan, match.table, match.scratch, match.plan.totals.leaves + slot)


cdef void answer_definition(
    const Match* match, uint32_t definition, Truth truth
) noexcept nogil:
    cdef uint32_t slot
    cdef int negated
    for negated in range(2):
        slot = match.plan.definition_slots[2 * definition + negated]
        if slot != NOTHING:
            preset_slot(
                match.plan, match.scratch, slot, truth == (FALSE if negated else TRUE)
            )


cdef bint ask_edge(void* match, uint32_t atom) noexcept nogil:
    cdef Match* asking = <Match*>match
    return ask(asking.plan, asking.table, asking.scratch, atom)


cdef uint32_t find_publisher(const Plan* plan, const Scratch* scratch) noexcept nogil:
    cdef const Value* value = &scratch.visit.values[plan.routes.attribute]
    if not value.known:
        return NOTHING
    return find_source(
        &plan.routes, scratch.visit.bytes.data() + text_offset(value.word), text_length(value.word)
    )


cdef bint set_out(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil:
    cdef Match asker = Match(plan, table, scratch)
    cdef uint32_t source
    if scratch.walk.ways.empty():
        source = find_publisher(plan, scratch)
        if source == NOTHING:
            return False
        walk_from(&plan.routes.routes, &scratch.walk, source, ask_edge, &asker)
    return True


cdef bint ask_reach(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t number
) noexcept nogil:
    """Asks a reach: the first of a visit sets out on the walk, the others find it done."""
    cdef const Reach* reach = &plan.routes.reaches[number]
    cdef Match asker = Match(plan, table, scratch)
    cdef Reached found
    if not set_out(plan, table, scratch):
        return False
    found.reach = number
    found.way = find_last_hop(
        &plan.routes.routes, &scratch.walk, reach.node, reach.hops, ask_edge, &asker
    )
    scratch.reached.push_back(found)
    return found.way != NOTHING


cdef bint run_wide(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* program,
    uint32_t without,
) noexcept nogil:
    cdef uint32_t count = count_tests(program) - without
    cdef const uint32_t* tests = tests_of(program)
    cdef uint32_t at = 0, atom, second
    cdef bint truth
    while at < count:
        atom = tests[2 * at]
        second = tests[2 * at + 1]
        truth = (
            get_bit(scratch.bits.data(), atom) if atom < plan.totals.filled
            else ask(plan, table, scratch, atom)
        )
        at += wide_jump(second) if truth == sense_of(second) else 1
    return at == count


cdef void forget_asked(Scratch* scratch) noexcept nogil:
    cdef size_t i
    for i in range(scratch.asked.size()):
        scratch.memos[scratch.asked[i]] = UNASKED
    scratch.asked.clear()


cdef void preset_slot(
    const Plan* plan, Scratch* scratch, uint32_t slot, bint truth
) noexcept nogil:
    cdef uint32_t memo = plan.totals.leaves - plan.totals.filled + slot
    scratch.memos[memo] = IS_TRUE if truth else IS_FALSE
    scratch.asked.push_back(memo)


cdef void replace_slot(const Plan* plan, Scratch* scratch, uint32_t slot) noexcept nogil:
    cdef uint32_t memo = plan.totals.leaves - plan.totals.filled + slot
    scratch.memos[memo] = IS_REPLACED
    scratch.asked.push_back(memo)
