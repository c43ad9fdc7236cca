"""Lists the paths of one visit and answers for them by party and hops (paths.pxd)."""
import numpy

from libc.stdint cimport int64_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.routes.route_section cimport Reach, RoutePlan
from matcher_ext.routes.routes cimport RouteNode, share_of


cdef Paths copy_paths(owner, const RoutePlan* routes, const Scratch* scratch):
    cdef Paths paths = Paths.__new__(Paths)
    paths.owner = owner
    paths.routes = routes
    list_paths(&paths.found, routes, scratch)
    if paths.found.size():
        paths.ways = scratch.walk.ways
    return paths


cdef void list_paths(
    vector[FoundPath]* found, const RoutePlan* routes, const Scratch* scratch
) noexcept nogil:
    cdef const Reach* reach
    cdef size_t i
    for i in range(scratch.reached.size()):
        if scratch.reached[i].way != NOTHING:
            reach = &routes.reaches[scratch.reached[i].reach]
            found.push_back(FoundPath(path_key(reach.party, reach.hops), scratch.reached[i].way))
    sort(found.begin(), found.end(), has_smaller_key)


cdef uint32_t find_path(const vector[FoundPath]* found, int64_t key) noexcept nogil:
    """Halves without a branch: which half it is, is as good as random."""
    cdef const FoundPath* paths = found.data()
    cdef size_t first = 0, count = found.size(), half
    if count == 0:
        return NOTHING
    while count > 1:
        half = count >> 1
        first += half * (paths[first + half - 1].key < key)
        count -= half
    return paths[first].way if paths[first].key == key else NOTHING


cdef bint has_smaller_key(const FoundPath& a, const FoundPath& b) noexcept nogil:
    return a.key < b.key


cpdef int64_t path_key(int64_t party, int64_t hops) noexcept nogil:
    """Makes the key of a reach: the party and the limit of hops in one number."""
    return party << 4 | hops


cdef class Paths:
    def __init__(self):
        raise TypeError("Paths come from match_with_paths")

    def __len__(self):
        return self.found.size()

    def shares(self, const int64_t[::1] keys):
        """Returns what each of these paths leaves of 1, as a numpy array; 0 where it is not
        known."""
        shares = numpy.zeros(keys.shape[0], dtype=numpy.float64)
        cdef double[::1] target = shares
        cdef Py_ssize_t i
        cdef uint32_t way
        for i in range(keys.shape[0]):
            way = find_path(&self.found, keys[i])
            if way != NOTHING:
                target[i] = share_of(&self.ways[way])
        return shares

    def labels(self, int64_t key):
        """Lists the parties of a path from the publisher on, as the graph labels them."""
        cdef const RoutePlan* routes = self.routes
        cdef uint32_t way = find_path(&self.found, key)
        cdef const RouteNode* node
        labels = []
        while way != NOTHING:
            node = &routes.routes.nodes[self.ways[way].node]
            labels.append(routes.bytes[node.label:node.label + node.label_length].decode())
            way = self.ways[way].before
        labels.reverse()
        return labels

    def edges(self, int64_t key):
        """Lists the edge ids of a path from the publisher on; none where it is not known."""
        cdef uint32_t way = find_path(&self.found, key)
        edges = []
        while way != NOTHING and self.ways[way].before != NOTHING:
            edges.append(self.routes.routes.edge_ids[self.ways[way].edge])
            way = self.ways[way].before
        edges.reverse()
        return tuple(edges)
