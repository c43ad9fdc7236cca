"""A frozen index in the making: the live part of a store, and what is decided about it.

    store --draft--> graph --access--> who is pushed, by what --leaves, layout--> Plan

Negated references. `not @name` is true where the definition is false, which is where its dual
(and / or swapped, predicates negated) is true. So a definition that is used both ways has two
slots, and nothing behind this point needs a third truth value.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.plan.plan cimport Expression, PlanNode
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport Predicate, PredicateView
from matcher_ext.values.spans cimport Span

cdef struct Entry:
    int64_t id
    uint32_t root                       # node of the store

cdef enum:
    PULLED                              # what `pushed` holds
    BY_CHILD                            # an AND with an access child; a leaf; an OR
    BY_PAIR                             # an AND found by a pair of values
    BY_PARTITION                        # an AND found by the value of the partition's attribute
    BY_ALL                              # a reference, or an AND of nothing but references

cdef struct PairChoice:
    uint32_t node                       # an AND
    uint32_t partition                  # its equality on the partition's attribute
    uint32_t other                      # its rarest other child with few values

cdef struct Partitioned:
    uint32_t node                       # an AND
    uint32_t value                      # its equality on the partition's attribute

cdef struct DraftDefinition:
    Span name                           # of the store's names
    uint32_t root

cdef cppclass Draft:
    const NodeStore* store
    const CatalogTable* table
    vector[Predicate] predicates
    vector[int64_t] words
    vector[char] bytes
    vector[float] predicate_rates
    vector[uint32_t] predicate_table    # open addressing by predicate_hash
    vector[PlanNode] nodes              # `first` of a predicate's node: into predicates
    vector[uint32_t] edges
    vector[uint32_t] numbers            # node of the store -> node
    vector[uint32_t] duals              # node -> node
    vector[DraftDefinition] definitions
    vector[uint32_t] definition_numbers  # definition of the store -> definition
    vector[uint32_t] definition_duals   # definition -> node
    vector[Expression] expressions
    vector[int64_t] ids                 # of the expressions, in their order
    vector[uint32_t] expression_of      # node -> expression
    # Decided by access_choice.pyx, by node:
    vector[float] rates                 # share of visits of which it is true
    vector[float] push_costs
    vector[float] test_costs
    vector[uint32_t] uses               # parents
    vector[uint32_t] sizes              # instructions of its program
    vector[uint8_t] is_part             # an AND that is a child of an AND
    vector[uint8_t] is_slot
    vector[uint8_t] pushed
    vector[uint32_t] access             # of a pushed AND: its access child
    vector[uint32_t] or_parents         # pushed ORs around it
    vector[uint32_t] and_parents        # pushed ANDs that it is the access child of
    vector[uint32_t] last_or            # one of the ORs
    vector[PairChoice] pairs
    vector[Partitioned] partitioned
    uint32_t partition                  # attribute, or NOTHING
    # Decided by deferred_intervals.pyx:
    vector[uint8_t] is_deferred         # by predicate: tested by itself, when it is asked for
    # Decided by leaves.pyx:
    vector[uint32_t] leaf_of            # predicate -> leaf

# Copies the live part of a store; sorts the entries. All definitions if NULL.
cdef void fill_draft(
    Draft* draft,
    const NodeStore* store,
    const CatalogTable* table,
    vector[Entry]* entries,
    const vector[uint32_t]* definitions,
) noexcept nogil
cdef PredicateView view_draft(const Draft* draft) noexcept nogil
