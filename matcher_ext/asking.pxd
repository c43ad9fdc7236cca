"""Programs (plan.pxd), and what they ask: lazy leaves, slots, code and the walk behind them."""
from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.arena cimport Truth
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.filling cimport Scratch, get_bit
from matcher_ext.plan cimport (
    ATOM_BITS, JUMP_MAX, RECORD_LENGTH, RECORD_NEVER, RECORD_WIDE, Plan,
)

cdef enum Memo:
    UNASKED
    IS_FALSE
    IS_TRUE

# A visit that is being matched: what an answerer asks and answers through (filling.pxd).
cdef struct Match:
    const Plan* plan
    const CatalogTable* table
    Scratch* scratch

# Whether a definition is true of the visit; evaluated at most once.
cdef bint ask_definition(const Match* match, uint32_t definition) noexcept nogil
cdef void answer_definition(
    const Match* match, uint32_t definition, Truth truth
) noexcept nogil
# A lazy leaf or a slot.
cdef bint ask(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t atom
) noexcept nogil
# Before a match is run: what a slot is to answer for this visit, instead of its program.
cdef void preset_slot(const Plan* plan, Scratch* scratch, uint32_t slot, bint truth) noexcept nogil
cdef void forget_asked(Scratch* scratch) noexcept nogil
# A program with two words an instruction.
cdef bint run_wide(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* header
) noexcept nogil


cdef inline bint run_program(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* header
) noexcept nogil:
    cdef uint32_t count = header[0] & RECORD_LENGTH
    cdef const uint32_t* program = header + 1
    cdef uint32_t at = 0, word, atom
    cdef bint truth
    if header[0] & (RECORD_WIDE | RECORD_NEVER):
        return not header[0] & RECORD_NEVER and run_wide(plan, table, scratch, header)
    while at < count:
        word = program[at]
        atom = word & ((1 << ATOM_BITS) - 1)
        truth = (
            get_bit(scratch, atom) if atom < plan.totals.filled
            else ask(plan, table, scratch, atom)
        )
        at += word >> ATOM_BITS & JUMP_MAX if truth == word >> 31 else 1
    return at == count
