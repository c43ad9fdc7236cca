"""Reads the graph back out of a plan: predicates, nodes, expressions, as they were before freezing.

The file holds each link once, where matching needs it; explanations, batch counts and copies of
definitions read it from the top instead. So the graph is made when it is first asked for, in memory
of its own (about as much as the file), and from what matching runs: it cannot say anything else.

  1. predicates: a leaf's group and its place in it say the test, the predicate index its values;
  2. slots, in their order: their programs as trees; definitions are slots;
  3. streams: a record is an AND of its source, which is its access child, and of its program; a
     bit that several set is an OR of them.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport Expression, Plan, PlanDefinition, PlanNode
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport Predicate

cdef cppclass Graph:
    """Owner of what a thawed plan's pointers lead to."""
    vector[Predicate] predicates        # by leaf
    vector[int64_t] words
    vector[PlanNode] nodes              # the first ones are the leaves
    vector[uint32_t] edges
    vector[Expression] expressions      # by their first entry
    vector[PlanDefinition] definitions

# Fills a graph from a plan that was checked; returns what is wrong, or NULL.
cdef const char* thaw_graph(
    const Plan* plan, const CatalogTable* table, Graph* graph
) noexcept nogil
# Lets a plan point to a graph.
cdef void lend_graph(const Graph* graph, Plan* plan) noexcept nogil
