"""Fetches in four steps ahead of `intern` (interning.pxd)."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.machine.bitmaps cimport fetch_line
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place
from matcher_ext.nodes.shared_nodes cimport intern
from matcher_ext.nodes.store cimport NodeStore, StoredNode
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NormalForm

cdef enum:
    STEP = 48           # nodes of the form between one step and the next


cdef inline uint32_t first_found(
    const NodeStore* store, const NormalForm* form, uint32_t node
) noexcept nogil:
    """Returns what stands in a node's slot: nearly always the node itself, if the store has it."""
    return store.table[first_place(form.nodes[node].hash, store.table.size() - 1)]


cdef void fetch_slots(
    const NodeStore* store, const NormalForm* form, uint32_t first, uint32_t end
) noexcept nogil:
    cdef size_t mask = store.table.size() - 1
    cdef uint32_t i
    for i in range(first, end):
        fetch_line(&store.table[first_place(form.nodes[i].hash, mask)])


cdef void fetch_nodes(
    const NodeStore* store, const NormalForm* form, uint32_t first, uint32_t end
) noexcept nogil:
    cdef uint32_t i, found
    for i in range(first, end):
        found = first_found(store, form, i)
        if found != NOTHING:
            fetch_line(&store.nodes[found])


cdef void fetch_content(
    const NodeStore* store, const NormalForm* form, uint32_t first, uint32_t end
) noexcept nogil:
    cdef const StoredNode* node
    cdef uint32_t i, found
    for i in range(first, end):
        found = first_found(store, form, i)
        if found != NOTHING:
            node = &store.nodes[found]
            if node.kind == NORMAL_PREDICATE:
                fetch_line(&store.predicates[node.first])
            elif node.kind == NORMAL_AND or node.kind == NORMAL_OR:
                fetch_line(&store.links[node.first])


cdef void fetch_values(
    const NodeStore* store, const NormalForm* form, uint32_t first, uint32_t end
) noexcept nogil:
    cdef uint32_t i, found
    for i in range(first, end):
        found = first_found(store, form, i)
        if found != NOTHING and store.nodes[found].kind == NORMAL_PREDICATE:
            # The values of a predicate without any may lie behind all others.
            fetch_line(store.words.data() + store.predicates[store.nodes[found].first].first)


cdef void intern_roots(
    NodeStore* store, const NormalForm* form, vector[uint32_t]* nodes
) noexcept nogil:
    cdef uint32_t count = <uint32_t>form.nodes.size()
    cdef uint32_t reached = 0, end
    cdef uint32_t fetched[4]
    cdef size_t i
    cdef int step
    for step in range(4):
        fetched[step] = 0
    for i in range(form.roots.size()):
        reached = max(reached, form.roots[i] + 1)
        for step in range(4):
            end = min(count, reached + <uint32_t>STEP * (4 - step))
            if end > fetched[step]:
                if step == 0:
                    fetch_slots(store, form, fetched[step], end)
                elif step == 1:
                    fetch_nodes(store, form, fetched[step], end)
                elif step == 2:
                    fetch_content(store, form, fetched[step], end)
                else:
                    fetch_values(store, form, fetched[step], end)
                fetched[step] = end
        nodes.push_back(intern(store, form, form.roots[i]))
