"""Runs programs (plan.pxd) and answers what they ask: lazy leaves, slots, code and the walk
behind."""
from libc.stdint cimport uint8_t, uint32_t

from matcher_ext.machine.bitmaps cimport fetch_line, get_bit
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan, lazy_test
from matcher_ext.plan.record_format cimport (
    RECORD_NEVER, RECORD_WIDE, is_wide, narrow_atom, narrow_jump, sense_of, test_words, tests_of,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport Truth

cdef enum Memo:
    UNASKED
    IS_FALSE
    IS_TRUE
    IS_REPLACED         # not asked yet, and another plan's definition says so

# A visit that is being matched: what an Answerer (scratch.pxd) asks and answers through.
cdef struct Match:
    const Plan* plan
    const CatalogTable* table
    Scratch* scratch

# Says whether a definition is true of the visit; it is evaluated at most once.
cdef bint ask_definition(const Match* match, uint32_t definition) noexcept nogil
# Says for the rest of the visit whether a definition is true.
cdef void answer_definition(
    const Match* match, uint32_t definition, Truth truth
) noexcept nogil
# Asks a lazy leaf that was not asked yet.
cdef bint ask_leaf(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t leaf
) noexcept nogil
# Asks a slot that was not asked yet, by its atom.
cdef bint ask_slot(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t atom
) noexcept nogil
# Sets what a slot answers for this visit instead of its program, before a match is run.
cdef void preset_slot(const Plan* plan, Scratch* scratch, uint32_t slot, bint truth) noexcept nogil
# Lets another plan's definition answer for a slot: see Scratch.definitions.
cdef void replace_slot(const Plan* plan, Scratch* scratch, uint32_t slot) noexcept nogil
# Sets out on the walk, once for a visit. False: it comes from no publisher of the graph.
cdef bint set_out(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil
cdef void forget_asked(Scratch* scratch) noexcept nogil
# Runs a wide program, `without` so many of its last tests.
cdef bint run_wide(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* program,
    uint32_t without,
) noexcept nogil


cdef inline bint ask(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t atom
) noexcept nogil:
    """Asks a lazy leaf or a slot. Most were asked before: those are not worth a call."""
    cdef uint8_t memo = scratch.memos[atom - plan.totals.filled]
    if memo == IS_TRUE or memo == IS_FALSE:
        return memo == IS_TRUE
    if atom < plan.totals.leaves:
        return ask_leaf(plan, table, scratch, atom)
    return ask_slot(plan, table, scratch, atom)


cdef inline void fetch_asked(
    const Plan* plan, const Scratch* scratch, uint32_t atom
) noexcept nogil:
    """Fetches what asking for an atom reads first."""
    fetch_line(&scratch.memos[atom - plan.totals.filled])
    if atom < plan.totals.leaves:
        fetch_line(lazy_test(plan, atom))


cdef inline bint run_program(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* program
) noexcept nogil:
    if program[0] & (RECORD_WIDE | RECORD_NEVER):
        return not program[0] & RECORD_NEVER and run_wide(plan, table, scratch, program, 0)
    return run_narrow(plan, table, scratch, tests_of(program), test_words(program))


cdef inline bint run_without_last(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* program
) noexcept nogil:
    """Runs an AND but for its last test, which is a single one."""
    if is_wide(program):
        return run_wide(plan, table, scratch, program, 1)
    return run_narrow(plan, table, scratch, tests_of(program), test_words(program) - 1)


cdef inline bint run_narrow(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* tests,
    uint32_t count,
) noexcept nogil:
    cdef uint32_t at = 0, word, atom
    cdef bint truth
    while at < count:
        word = tests[at]
        atom = narrow_atom(word)
        truth = (
            get_bit(scratch.bits.data(), atom) if atom < plan.totals.filled
            else ask(plan, table, scratch, atom)
        )
        at += narrow_jump(word) if truth == sense_of(word) else 1
    return at == count
