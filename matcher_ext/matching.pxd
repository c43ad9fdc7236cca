"""One visit against a plan (plan.pxd), in seven steps:

  1. fill: for each attribute that the visit carries, the bits of the leaves that are true of it;
  2. records that every visit finds;
  3. records that pairs of the visit's values find;
  4. runs of true pushed leaves: set the ORs above them, run the ANDs they are the access child of;
  5. the same for each level's true inner nodes, in order;
  6. terminals: ORs that are nothing but roots;
  7. clear what was filled.

The walk over the exchange graph stays in the scratch until the next visit, for its paths.

A Scratch is the memory of one call at a time; several threads match on one plan, each with its
own. Lazy leaves and slots are remembered, so each is evaluated at most once per visit.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.arena cimport Truth
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.filling cimport Scratch
from matcher_ext.plan cimport Plan

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

cdef void open_scratch(const Plan* plan, Scratch* scratch) noexcept nogil
# Before match_visit: what a slot is to answer for this visit, instead of its program.
cdef void preset_slot(const Plan* plan, Scratch* scratch, uint32_t slot, bint truth) noexcept nogil
# After match_visit: leaves out the entries with a bit in `dead`.
cdef void drop_dead(Scratch* scratch, const vector[uint64_t]* dead) noexcept nogil
# Matches scratch.visit; the true entries are left in scratch.matched, each once.
cdef void match_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
# The same in two steps, between which definitions can be asked. False: the visit is not eligible,
# and there is no second step. A scratch that was begun and not run is of no further use.
cdef bint begin_match(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
cdef void run_match(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil
# Answers all reaches of scratch.visit: what is reached is left in scratch.reached.
cdef void walk_visit(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil
cdef void copy_ids(const Plan* plan, const Scratch* scratch, int64_t* target) noexcept nogil
