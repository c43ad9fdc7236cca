"""Freezes a dynamic index, or as little of it as will do (freezing.pxd)."""
import json

from libc.stdint cimport int64_t, uint32_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.building cimport build_plan
from matcher_ext.freeze.draft cimport Entry
from matcher_ext.index.dynamic_state cimport DynamicState
from matcher_ext.index.overlay cimport Overlay
from matcher_ext.index.snapshot cimport Snapshot, freeze_buffer
from matcher_ext.nodes.definitions cimport find_definition
from matcher_ext.routes.route_section cimport RouteSpec

from matcher_ext.index.answers import bind_answers

cdef enum:
    FEW_CHANGES = 64    # that never make a new freeze worth while


cdef Snapshot freeze_index(DynamicState index):
    if index.frozen is None:
        index.frozen = freeze_entries(index)
        index.base = index.frozen
        index.view = None
        index.added.clear()
        index.dead.clear()
        index.redefined.clear()
    return index.frozen


cdef Snapshot freeze_entries(DynamicState index):
    cdef vector[Entry] entries
    cdef Entry entry
    cdef pair[int64_t, uint32_t] item
    with nogil:
        entries.reserve(index.roots.size())
        for item in index.roots:
            entry.id = item.first
            entry.root = item.second
            entries.push_back(entry)
    return build(index, &entries, None)


cdef tuple view_index(DynamicState index):
    if index.frozen is None and index.view is None and is_patchable(index):
        index.view = patch(index)
    return index.view if index.view is not None else (freeze_index(index), None, None)


cdef bint is_patchable(DynamicState index):
    """Says whether the changes are frozen by themselves. Few entries are soon frozen anew, but
    definitions and a graph take long, so a new meaning alone never freezes them all."""
    if index.base is None or (
        (index.added or index.dead) and len(index.base) < index.patch_from
    ):
        return False
    changes = len(index.added) + len(index.dead) + len(index.redefined)
    return changes <= max(<Py_ssize_t>FEW_CHANGES, len(index.base) // 20)


cdef tuple patch(DynamicState index):
    """Freezes what was added or defined since the last freeze, and nothing else."""
    cdef vector[Entry] entries
    cdef Entry entry
    for entry_id in index.added:
        entry.id = entry_id
        entry.root = index.roots[entry.id]
        entries.push_back(entry)
    beside = build(index, &entries, list_patched(index))
    overlay = None
    if index.dead or index.redefined:
        overlay = Overlay(index.base, index.dead, beside, index.redefined)
    return index.base, overlay, beside


cdef object list_patched(DynamicState index):
    """Lists the names whose meanings lie beside the last freeze; None is all, since new entries may
    ask for the graph, which asks for every edge, and code may ask for anything."""
    if index.answers or index.added and index.nodes is not None:
        return None
    return index.redefined


cdef Snapshot build(DynamicState index, vector[Entry]* entries, names):
    """Builds a snapshot with all definitions and the graph, or with some names and no graph."""
    cdef bytes rows = json.dumps(index.catalog.rows).encode()
    cdef const char* catalog = rows
    cdef size_t length = len(rows)
    cdef vector[char] buffer
    cdef const RouteSpec* spec = &index.spec if index.nodes is not None else NULL
    cdef vector[uint32_t] numbers
    cdef const vector[uint32_t]* definitions = NULL
    if names is not None:
        spec = NULL
        definitions = &numbers
        for name in names:
            encoded = name.encode()
            numbers.push_back(find_definition(&index.store, encoded, len(encoded)))
    with nogil:
        build_plan(
            &index.store, &index.catalog.table, entries, definitions, spec, catalog, length,
            &buffer,
        )
    snapshot = freeze_buffer(index.catalog, &buffer)
    for answers in index.answers:
        snapshot = bind_answers(snapshot, answers)
    return snapshot
