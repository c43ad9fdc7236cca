"""Says why an entry does not match a visit, and draws its expression as the index has it.

Behind the methods of Snapshot with the same names: reads the graph that graph_from_plan.pyx makes
from what matching runs, so that a reason cannot differ from the truth.
"""
from libc.stdint cimport uint32_t

from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.matching cimport begin_match, run_match, walk_visit
from matcher_ext.plan.graph cimport begin_graph_visit, draw_node, find_reasons
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.visit cimport has_required

from matcher_ext.values.refusals import SnapshotError


def why_not(Snapshot snapshot, visit, ids):
    cdef ScratchHolder holder = snapshot._take()
    snapshot._thaw()
    read_visit(snapshot.catalog, visit, &holder.scratch.visit)
    reasons = {}
    missing = []
    if not has_required(&snapshot.catalog.table, &holder.scratch.visit):
        missing = list_missing(snapshot, holder)
    tell_reached(snapshot, holder)
    begin_graph_visit(&snapshot.plan, &holder.graph)
    if snapshot.answers:
        tell_answered(snapshot, holder)
    for entry_id in ids:
        found = {}
        find_reasons(
            &snapshot.plan, snapshot.catalog, &holder.scratch.visit, &holder.graph,
            node_of(snapshot, entry_id), None, found,
        )
        reasons[entry_id] = missing + [line for line in found.values() if line is not None]
    snapshot.pool.append(holder)
    return reasons


cdef void tell_reached(Snapshot snapshot, ScratchHolder holder) noexcept:
    """Tells the graph who is reached."""
    cdef size_t i
    holder.graph.reached.assign(snapshot.plan.routes.reach_count, 0)
    if snapshot.plan.routes.reach_count == 0:
        return
    with nogil:
        walk_visit(&snapshot.plan, &snapshot.catalog.table, &holder.scratch)
    for i in range(holder.scratch.reached.size()):
        holder.graph.reached[holder.scratch.reached[i].reach] = (
            holder.scratch.reached[i].way != NOTHING
        )


def tell_answered(Snapshot snapshot, ScratchHolder holder):
    """Tells the graph what code answers."""
    answers = snapshot._lend(holder, None)
    if begin_match(&snapshot.plan, &snapshot.catalog.table, &holder.scratch):
        answers.tell_graph(holder, snapshot)
        run_match(&snapshot.plan, &snapshot.catalog.table, &holder.scratch)
    answers.settle(holder)


def list_missing(Snapshot snapshot, ScratchHolder holder):
    cdef uint32_t attribute
    return [
        (None, f"{snapshot.catalog.names[attribute]} is present", False)
        for attribute in snapshot.catalog.table.required
        if not holder.scratch.visit.values[attribute].known
    ]


def to_graphviz(Snapshot snapshot, entry_id):
    snapshot._thaw()
    return draw_node(
        &snapshot.plan, snapshot.catalog, node_of(snapshot, entry_id), f"id {entry_id}"
    )


cdef uint32_t node_of(Snapshot snapshot, entry_id) except? 0xFFFFFFFF:
    """Finds the root of an entry's expression; entries of one expression are neighbours."""
    cdef uint32_t entry = snapshot.entry_of(entry_id)
    cdef uint32_t low = 0, high = snapshot.plan.expression_count, middle
    while low < high:
        middle = (low + high) >> 1
        if snapshot.plan.expressions[middle].first <= entry:
            low = middle + 1
        else:
            high = middle
    if low == 0 or entry - snapshot.plan.expressions[low - 1].first >= (
        snapshot.plan.expressions[low - 1].count
    ):
        raise SnapshotError(f"the snapshot has no expression of id {entry_id}")
    return snapshot.plan.expressions[low - 1].node
