"""Keeps the cheapest paths over the exchange graph that one visit was found to take."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.match.scratch cimport Scratch
from matcher_ext.routes.route_section cimport RoutePlan
from matcher_ext.routes.routes cimport Way

cdef struct FoundPath:
    int64_t key                     # see path_key
    uint32_t way

cdef class Paths:
    """Immutable; keeps the snapshot alive that the graph belongs to."""
    cdef object owner
    cdef const RoutePlan* routes
    cdef vector[Way] ways
    cdef vector[FoundPath] found    # ascending

# Lists the paths of the visit that a scratch was last matched with, ascending by key.
cdef void list_paths(
    vector[FoundPath]* found, const RoutePlan* routes, const Scratch* scratch
) noexcept nogil
# Finds the way of a path, or NOTHING.
cdef uint32_t find_path(const vector[FoundPath]* found, int64_t key) noexcept nogil
cpdef int64_t path_key(int64_t party, int64_t hops) noexcept nogil
# Copies the paths of the visit that a scratch was last matched with.
cdef Paths copy_paths(owner, const RoutePlan* routes, const Scratch* scratch)
