"""Keeps the table of names; walks nodes to the references below them (definitions.pxd)."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from matcher_ext.machine.hashing cimport hash_bytes
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport find_empty, first_place, next_place
from matcher_ext.nodes.store cimport Definition, NodeStore, StoredNode, is_inner
from matcher_ext.values.normal_form cimport NORMAL_REFERENCE, NormalForm, NormalNode
from matcher_ext.values.spans cimport Span


cdef uint32_t find_definition(
    const NodeStore* store, const char* name, size_t length
) noexcept nogil:
    cdef size_t mask, place
    cdef const Definition* definition
    if store.name_table.size() == 0:
        return NOTHING
    mask = store.name_table.size() - 1
    place = first_place(hash_bytes(name, length), mask)
    while store.name_table[place] != NOTHING:
        definition = &store.definitions[store.name_table[place]]
        if definition.name.length == length and (
            memcmp(store.names.data() + definition.name.offset, name, length) == 0
        ):
            return store.name_table[place]
        place = next_place(place, mask)
    return NOTHING


cdef uint32_t find_named(
    const NodeStore* store, const NormalForm* form, uint32_t name
) noexcept nogil:
    return find_definition(
        store, form.bytes.data() + form.names[name].offset, form.names[name].length
    )


cdef uint32_t find_unknown_name(
    const NodeStore* store, const NormalForm* form, uint32_t node
) noexcept nogil:
    cdef vector[uint32_t] pending
    cdef vector[uint8_t] seen
    cdef const NormalNode* current
    cdef uint32_t i, child
    seen.assign(form.nodes.size(), 0)
    pending.push_back(node)
    while pending.size():
        current = &form.nodes[pending.back()]
        pending.pop_back()
        if current.kind == NORMAL_REFERENCE and find_named(store, form, current.first) == NOTHING:
            return current.first
        if is_inner(current.kind):
            for i in range(current.count):
                child = form.edges[current.first + i]
                if not seen[child]:
                    seen[child] = 1
                    pending.push_back(child)
    return NOTHING


cdef void collect_references(
    const NodeStore* store, uint32_t node, vector[uint32_t]* found
) noexcept nogil:
    cdef vector[uint32_t] pending
    cdef vector[uint8_t] seen, listed
    cdef const StoredNode* current
    cdef uint32_t i, child
    seen.assign(store.nodes.size(), 0)
    listed.assign(store.definitions.size(), 0)
    pending.push_back(node)
    while pending.size():
        current = &store.nodes[pending.back()]
        pending.pop_back()
        if current.kind == NORMAL_REFERENCE and not listed[current.first]:
            listed[current.first] = 1
            found.push_back(current.first)
            pending.push_back(store.definitions[current.first].root)
        elif is_inner(current.kind):
            for i in range(current.count):
                child = store.links[current.first + i]
                if not seen[child]:
                    seen[child] = 1
                    pending.push_back(child)


cdef void place_name(NodeStore* store, uint32_t definition) noexcept nogil:
    cdef Span name = store.definitions[definition].name
    cdef uint64_t hash = hash_bytes(store.names.data() + name.offset, name.length)
    cdef size_t mask = store.name_table.size() - 1
    store.name_table[find_empty(store.name_table.data(), hash, mask)] = definition


cdef uint32_t add_definition(
    NodeStore* store, const char* name, size_t length, uint32_t root
) noexcept nogil:
    cdef Definition made
    cdef uint32_t number = <uint32_t>store.definitions.size()
    cdef uint32_t other
    made.name.offset = <uint32_t>store.names.size()
    made.name.length = <uint32_t>length
    made.root = root
    store.names.insert(store.names.end(), name, name + length)
    store.definitions.push_back(made)
    if store.definitions.size() * 2 > store.name_table.size():
        store.name_table.assign(max(<size_t>64, store.name_table.size() * 2), NOTHING)
        for other in range(<uint32_t>store.definitions.size()):
            place_name(store, other)
    else:
        place_name(store, number)
    return number
