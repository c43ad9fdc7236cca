"""Builds a plan: the list of steps from the live part of a store to one buffer."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Entry
from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.routes.route_section cimport RouteSpec
from matcher_ext.values.catalog cimport CatalogTable

# Freezes the live part of a store, with a graph or NULL; sorts the entries. Takes these definitions
# and what they and the entries refer to, or all if NULL; with a graph, it must be all.
cdef void build_plan(
    const NodeStore* store,
    const CatalogTable* table,
    vector[Entry]* entries,
    const vector[uint32_t]* definitions,
    const RouteSpec* spec,
    const char* catalog,
    size_t catalog_length,
    vector[char]* buffer,
) noexcept nogil
