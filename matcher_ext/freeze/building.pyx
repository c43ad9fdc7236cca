"""Goes from the live part of a store to a buffer, one step after another (building.pxd)."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.access_choice cimport choose_access
from matcher_ext.freeze.bit_numbers cimport link_nodes, number_bits
from matcher_ext.freeze.deferred_intervals cimport defer_tests
from matcher_ext.freeze.draft cimport Entry, fill_draft
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.freeze.leaves cimport index_leaves
from matcher_ext.freeze.pairs cimport put_pairs
from matcher_ext.freeze.partitions cimport put_partitions
from matcher_ext.freeze.records cimport (
    put_always, put_inner_streams, put_leaf_streams, put_other_entries, put_slots, put_terminals,
)
from matcher_ext.freeze.sections cimport put_sections
from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.routes.route_section cimport RouteSpec
from matcher_ext.values.catalog cimport CatalogTable


cdef void build_plan(
    const NodeStore* store,
    const CatalogTable* table,
    vector[Entry]* entries,
    const vector[uint32_t]* definitions,
    const RouteSpec* spec,
    const char* catalog,
    size_t catalog_length,
    vector[char]* buffer,
) noexcept nogil:
    cdef Layout layout
    fill_draft(&layout.draft, store, table, entries, definitions)
    choose_access(&layout.draft)
    defer_tests(&layout.draft, spec)
    index_leaves(&layout.draft, &layout.leaves)
    layout.leaves.totals.partition = layout.draft.partition
    number_bits(&layout)
    link_nodes(&layout)
    put_terminals(&layout)
    put_slots(&layout, spec)
    put_leaf_streams(&layout)
    put_inner_streams(&layout)
    put_always(&layout)
    put_partitions(&layout)
    put_pairs(&layout)
    put_other_entries(&layout)
    put_sections(&layout, catalog, catalog_length, buffer)
