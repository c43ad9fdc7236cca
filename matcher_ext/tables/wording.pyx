"""Writes nodes as texts (wording.pxd)."""
from libc.stdint cimport uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from matcher_ext.plan.graph cimport word_leaf
from matcher_ext.plan.plan cimport Plan, PlanNode
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE, NORMAL_TRUE, NormalForm,
    view_predicates,
)


cdef str word_node(const Plan* plan, CompiledCatalog catalog, uint32_t number):
    cdef const PlanNode* node = &plan.nodes[number]
    cdef uint32_t i
    if node.kind == NORMAL_PREDICATE:
        return word_leaf(plan, catalog, node.first)
    if node.kind == NORMAL_REFERENCE:
        span = plan.names[node.first]
        name = plan.name_bytes[span.offset:span.offset + span.length].decode()
        return f"not @{name}" if node.negated else f"@{name}"
    if node.kind != NORMAL_AND and node.kind != NORMAL_OR:
        return "true" if node.kind == NORMAL_TRUE else "false"
    parts = [
        word_child(plan, catalog, plan.edges[node.first + i]) for i in range(node.count)
    ]
    return (" and " if node.kind == NORMAL_AND else " or ").join(sorted(parts))


cdef str word_child(const Plan* plan, CompiledCatalog catalog, uint32_t number):
    """Puts brackets around what has parts itself."""
    text = word_node(plan, catalog, number)
    if plan.nodes[number].kind == NORMAL_AND or plan.nodes[number].kind == NORMAL_OR:
        return f"({text})"
    return text


cdef Plan plan_of_form(const NormalForm* form, vector[PlanNode]* nodes) except *:
    cdef Plan plan
    cdef PlanNode node
    cdef size_t i
    memset(&plan, 0, sizeof(plan))
    memset(&node, 0, sizeof(node))
    for i in range(form.nodes.size()):
        node.kind = form.nodes[i].kind
        node.first = form.nodes[i].first
        node.count = form.nodes[i].count
        node.negated = form.nodes[i].negated
        nodes.push_back(node)
    plan.nodes = nodes.data()
    plan.edges = form.edges.data()
    plan.predicates = view_predicates(form)
    plan.names = form.names.data()
    plan.name_bytes = form.bytes.data()
    return plan
