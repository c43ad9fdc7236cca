"""Lists steps and conditions of bookings, and makes results of their counts (following.pxd)."""
from itertools import compress

import numpy

from libc.stdint cimport int64_t, uint32_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan_buffer cimport PlanBuffer
from matcher_ext.routes.routes cimport Routes
from matcher_ext.tables.bound_index cimport BoundIndex, Thread
from matcher_ext.tables.questions cimport ASKED_LINK, ASKED_REACH, Asked, Entry
from matcher_ext.tables.steps cimport find_sole_blockers, follow_steps
from matcher_ext.tables.wording cimport word_node

from matcher_ext.tables.results import Blocker, make_steps
from matcher_ext.values.refusals import UnknownIdError


cdef class FollowedBookings:
    def __init__(self, BoundIndex bound, ids):
        cdef int64_t entry
        self.bound = bound
        self.ordered = {}
        self.ids = bound.ids.tolist() if ids is None else list(ids)
        self.entries = find_entries(bound, self.ids).tolist()
        kept = [entry < 0 or not bound.question.entries[entry].needs_code for entry in self.entries]
        self.ids = list(compress(self.ids, kept))
        self.entries = list(compress(self.entries, kept))
        self.followed.firsts.push_back(0)
        self.followed.results.push_back(0)
        for entry in self.entries:
            self.add(entry)

    cdef int add(self, int64_t number) except -1:
        """Adds a booking's steps, then its rest; one that is true of nothing has none."""
        cdef const Entry* entry
        cdef const Asked* node
        cdef uint32_t i, child
        cdef uint32_t steps
        cdef uint32_t gate = NOTHING - 1        # no block's
        rest = []
        if number >= 0:
            entry = &self.bound.question.entries[number]
            if not entry.is_never:
                gate = entry.gate
            for child in self._order_edges(entry.plan, [
                self.bound.question.children[entry.edges + i] for i in range(entry.edge_count)
            ]):
                self.followed.nodes.push_back(child)
            for i in range(entry.count):
                child = self.bound.question.children[entry.first + i]
                node = &self.bound.question.nodes[child]
                if node.kind == ASKED_LINK and not node.negated and (
                    self.bound.question.nodes[node.first].kind == ASKED_REACH
                ):
                    self.followed.nodes.push_back(child)
                else:
                    rest.append(child)
        self.followed.gates.push_back(gate)
        steps = <uint32_t>self.followed.nodes.size()
        self.followed.rests.push_back(steps)
        for child in rest:
            self.followed.nodes.push_back(child)
        steps -= self.followed.firsts.back()
        self.followed.firsts.push_back(<uint32_t>self.followed.nodes.size())
        self.followed.results.push_back(self.followed.results.back() + 3 + 2 * steps)
        return 0

    def _order_edges(self, plan, edges):
        """Puts the edges of a path into its order, from the publisher on; without a graph, by
        id."""
        key = (plan, *edges)
        if key not in self.ordered:
            names = {edge: self._edge_id(plan, edge) for edge in edges}
            self.ordered[key] = order_path(sorted(edges, key=names.get), names, self._ends())
        return self.ordered[key]

    def _edge_id(self, plan, uint32_t node):
        name = self._definition(plan, node)
        number = name.removeprefix("edge.")
        return int(number) if number.isdigit() else 0

    def _definition(self, plan, uint32_t node):
        cdef PlanBuffer holder = self.bound.beside if plan else self.bound.below
        cdef uint32_t base = self.bound.bases[<int>plan]
        return word_node(&holder.plan, holder.catalog, node - base).removeprefix("@")

    def _ends(self):
        cdef const Routes* routes
        cdef uint32_t node, i
        if self.ends is None:
            self.ends = {}
            if self.bound.routes != NULL:
                routes = &self.bound.routes.routes
                for node in range(routes.node_count):
                    for i in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
                        self.ends[routes.edge_ids[routes.purchases[i].edge]] = (
                            routes.purchases[i].node, node
                        )
        return self.ends

    cdef PlanBuffer plan_of(self, const Entry* entry):
        return self.bound.beside if entry.plan else self.bound.below

    cdef str word(self, const Entry* entry, uint32_t node):
        cdef PlanBuffer plan = self.plan_of(entry)
        return word_node(&plan.plan, plan.catalog, node - self.bound.bases[entry.plan])

    def _names(self, size_t place, uint32_t end):
        """Words the nodes of a booking up to a place in all nodes."""
        cdef int64_t number = self.entries[place]
        cdef uint32_t i
        if number < 0:
            return []
        return [
            self.word(&self.bound.question.entries[number], self.followed.nodes[i])
            for i in range(self.followed.firsts[place], end)
        ]

    def funnels(self):
        cdef Thread thread = self.bound.take()
        counts = numpy.zeros(self.followed.results.back() + 1, dtype=numpy.int64)
        cdef int64_t[::1] target = counts
        cdef size_t place
        with nogil:
            follow_steps(&thread.asker, &self.followed, &target[0])
        self.bound.pool.append(thread)
        found = {}
        for place, entry_id in enumerate(self.ids):
            first = self.followed.results[place]
            names = self._names(place, self.followed.rests[place])
            steps = counts[first + 1:self.followed.results[place + 1]].tolist()
            found[entry_id] = make_steps(
                int(counts[first]),
                [*[name.removeprefix("@") for name in names], "campaign"], steps,
            )
        return found

    def sole_blockers(self):
        cdef Thread thread = self.bound.take()
        counts = numpy.zeros(self.followed.firsts.back() + 1, dtype=numpy.int64)
        cdef int64_t[::1] target = counts
        cdef size_t place
        with nogil:
            find_sole_blockers(&thread.asker, &self.followed, &target[0])
        self.bound.pool.append(thread)
        found = {}
        for place, entry_id in enumerate(self.ids):
            visits = counts[self.followed.firsts[place]:self.followed.firsts[place + 1]].tolist()
            names = self._names(place, self.followed.firsts[place + 1])
            found[entry_id] = tuple(
                Blocker(name, count) for name, count in zip(names, visits, strict=True)
            )
        return found


def find_entries(BoundIndex bound, ids):
    """Finds the question's entries of ids; raises for one that the index lacks."""
    wanted = numpy.fromiter(ids, numpy.int64, len(ids))
    if len(bound.ids) == 0:
        places = numpy.zeros(len(wanted), dtype=numpy.int64)
        is_met = numpy.zeros(len(wanted), dtype=bool)
    else:
        places = numpy.searchsorted(bound.ids, wanted).clip(max=len(bound.ids) - 1)
        is_met = bound.ids[places] == wanted
    if not is_met.all():
        raise UnknownIdError(f"id {wanted[~is_met][0]} is not in the index")
    return bound.entry_of_id[places]


def order_path(edges, names, ends):
    """Follows edges from the one that no other leads to."""
    if not all(names[edge] in ends for edge in edges):
        return edges
    bought = {ends[names[edge]][1] for edge in edges}
    by_seller = {ends[names[edge]][0]: edge for edge in edges}
    party = next((ends[names[edge]][0] for edge in edges if (
        ends[names[edge]][0] not in bought
    )), None)
    ordered = []
    while party in by_seller:
        ordered.append(by_seller.pop(party))
        party = ends[names[ordered[-1]]][1]
    return ordered if len(ordered) == len(edges) else edges
