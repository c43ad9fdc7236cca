"""Reads a plan's graph from the top: truths of single nodes, copies, explanations.

A match comes here only for a definition that was replaced (Scratch.definitions), whose new meaning
is a node of another plan. Evaluation is three-valued, for those and for reasons.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable, CompiledCatalog
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.predicate cimport Truth
from matcher_ext.visits.visit cimport Visit

cdef cppclass GraphScratch:
    """Truths by node, each with the number of its visit: the paper's lazy clearing by signature."""
    vector[uint32_t] truths         # signature * 4 + Truth
    uint32_t signature
    vector[uint8_t] answers         # by definition: 1 + Truth where code answers, or 0; or empty
    vector[uint8_t] reached         # by reach; the walk is the matcher's to take, not the graph's

# Forgets the truths of the visit before.
cdef void begin_graph_visit(const Plan* plan, GraphScratch* scratch) noexcept nogil
# Evaluates a node and all below it that is not known yet.
cdef Truth evaluate_node(
    const Plan* plan,
    const CatalogTable* table,
    const Visit* visit,
    GraphScratch* scratch,
    uint32_t node,
) noexcept nogil
cdef inline bint is_reach(const Plan* plan, uint32_t definition) noexcept nogil:
    """Says whether the exchange graph answers for a definition."""
    return reach_of(plan, definition) < plan.routes.reach_count


cdef inline uint32_t reach_of(const Plan* plan, uint32_t definition) noexcept nogil:
    return plan.definition_slots[2 * <size_t>definition] - plan.routes.first_reach


# Finds the definition of a name, or NOTHING.
cdef uint32_t find_plan_definition(const Plan* plan, bytes name)
# Appends a node and all below it to a form; returns it there.
cdef uint32_t copy_node(
    const Plan* plan, uint32_t node, vector[uint32_t]* copies, NormalForm* form
) noexcept nogil
# Lists the names that a node's text refers to, directly.
cdef list names_below(const Plan* plan, uint32_t node)

# Writes a leaf's predicate as a text that parses back to it.
cdef str word_leaf(const Plan* plan, CompiledCatalog catalog, uint32_t leaf)
# Appends (definition or None, text, truth) for each condition that keeps a node from being true.
cdef int find_reasons(
    const Plan* plan,
    CompiledCatalog catalog,
    const Visit* visit,
    GraphScratch* scratch,
    uint32_t node,
    str within,
    dict found,
) except -1
# Draws the graph below a node in Graphviz's language.
cdef str draw_node(const Plan* plan, CompiledCatalog catalog, uint32_t node, str title)
