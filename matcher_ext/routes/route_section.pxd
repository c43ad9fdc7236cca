"""The exchange graph inside an index: the section ROUTES of a plan, made, found and checked.

    header | nodes | reaches | edge ids | sales | purchases | sources | bytes

  - A *source* is the node of a publisher: its label is the value that the visit carries for the
    header's attribute. Ascending by label.
  - A *reach* is a definition that no text gives a meaning: `@reach.7.5` is true if the visit's
    publisher reaches party 7 within 5 hops. The slots of all reaches are consecutive, behind those
    of all edges, so that an edge can never ask for a reach: the walk does not lead back to itself.
  - An edge's expression is the definition `edge.<id>`, read through its slot.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.routes.routes cimport Routes, RouteTables
from matcher_ext.values.catalog cimport CatalogTable

cdef struct RouteHeader:
    uint32_t nodes              # without the one more
    uint32_t reaches
    uint32_t edges
    uint32_t sales
    uint32_t purchases
    uint32_t sources
    uint32_t bytes
    uint32_t max_hops
    uint32_t attribute
    uint32_t first_reach        # slot
    uint32_t unused[2]

cdef struct Reach:
    int64_t party
    uint32_t node
    uint32_t hops

cdef struct RoutePlan:
    Routes routes
    const Reach* reaches
    const uint32_t* sources
    const char* bytes
    const uint8_t* is_rerouted  # by node of a publisher: its LAST_HOPS do not hold; or NULL
    uint32_t reach_count        # 0: there is no graph
    uint32_t source_count
    uint32_t attribute
    uint32_t first_reach

cdef cppclass RouteSpec:
    """What a dynamic index knows of the graph."""
    RouteTables tables
    vector[uint32_t] edge_definitions   # of the store, by edge
    vector[Reach] reaches
    vector[uint32_t] reach_definitions  # of the store, by reach
    vector[uint32_t] sources
    vector[char] bytes
    uint32_t attribute

# Sets the labels of all nodes, as bytes, and which nodes are publishers.
cdef int set_labels(RouteSpec* spec, uint32_t attribute, list labels, list sources) except -1
cdef void add_reach(
    RouteSpec* spec, uint32_t definition, int64_t party, uint32_t node, uint32_t hops
) noexcept nogil
# Writes the section; `atoms` are what the edges' expressions are asked by.
cdef void write_routes(
    const RouteSpec* spec, const vector[uint32_t]* atoms, uint32_t first_reach, vector[char]* made
) noexcept nogil
# Finds the arrays; returns what is wrong, or NULL. An empty section is no graph.
cdef const char* read_routes(const char* section, uint64_t size, RoutePlan* plan) noexcept nogil
# Checks every index; returns what is wrong, or NULL. `leaves` and `slots` are the plan's counts.
cdef const char* check_routes(
    const RoutePlan* plan, const CatalogTable* table, uint32_t leaves, uint32_t slots
) noexcept nogil
# Finds the node of a publisher by its label, or NOTHING.
cdef uint32_t find_source(const RoutePlan* plan, const char* text, uint32_t length) noexcept nogil
