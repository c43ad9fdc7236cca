"""One visit against a plan (plan.pxd), in seven steps:

  1. fill: for each attribute that the visit carries, the bits of the leaves that are true of it;
  2. records that every visit finds;
  3. records that pairs of the visit's values find;
  4. the partition of the visit: guards first, then records whose seller the walk reaches;
  5. runs of true pushed leaves: set the ORs above them, run the ANDs they are the access child of;
  6. the same for each level's true inner nodes, in order;
  7. clear what was filled, but for the bits of terminals: they are the answer (results.pxd).

The walk over the exchange graph stays in the scratch until the next visit, for its paths.

A Scratch is the memory of one call at a time; several threads match on one plan, each with its
own. Lazy leaves and slots are remembered, so each is evaluated at most once per visit. Records wait
for others to be run together, up to the end of their level (rounds.pxd).
"""
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable

# Makes room for matches on a plan.
cdef void open_scratch(const Plan* plan, Scratch* scratch) noexcept nogil
# Matches scratch.visit; results.pxd says how the true entries are left, each once.
cdef void match_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
# Match in two steps, between which definitions can be asked. False: the visit lacks a required
# attribute, and there is no second step. A scratch that was begun and not run is of no further use.
cdef bint begin_match(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
cdef void run_match(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil
# Answers all reaches of scratch.visit: what is reached is left in scratch.reached.
cdef void walk_visit(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil
