"""Lists steps and conditions of bookings, and makes results of what passes find (following.pxd)."""
from fractions import Fraction
from itertools import compress
from math import prod

import numpy

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan_buffer cimport PlanBuffer
from matcher_ext.routes.routes cimport Routes
from matcher_ext.tables.bound_index cimport BoundIndex, Thread
from matcher_ext.tables.overlaps cimport Common, find_common
from matcher_ext.tables.questions cimport ASKED_LINK, ASKED_REACH, Asked, Entry
from matcher_ext.tables.steps cimport find_sole_blockers, follow_steps
from matcher_ext.tables.ways cimport AnyPath, Bottlenecks, Ways, find_bottlenecks, find_ways
from matcher_ext.tables.wording cimport word_node

from matcher_ext.tables.results import Blocker, Bottleneck, Way, make_steps
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


# Bookings on any path, and what bookings have in common.

cdef int64_t reach_of_entry(BoundIndex bound, const Entry* entry):
    """Finds the reach that a booking asks for, or -1."""
    cdef const Asked* node
    cdef uint32_t i
    for i in range(entry.first, entry.first + entry.count):
        node = &bound.question.nodes[bound.question.children[i]]
        if node.kind == ASKED_LINK and not node.negated and (
            bound.question.nodes[node.first].kind == ASKED_REACH
        ):
            return bound.question.nodes[node.first].first
    return -1


cdef list choose_bookings(BoundIndex bound, ids, AnyPath* chosen):
    """Lists the ids that are on any path, and fills in their bookings."""
    cdef int64_t entry, reach
    ids = bound.ids.tolist() if ids is None else list(ids)
    kept = []
    for entry_id, entry in zip(ids, find_entries(bound, ids).tolist(), strict=True):
        if entry < 0 or bound.question.entries[entry].needs_code:
            continue
        reach = reach_of_entry(bound, &bound.question.entries[entry])
        if reach >= 0:
            kept.append(entry_id)
            chosen.entries.push_back(<uint32_t>entry)
            chosen.reaches.push_back(<uint32_t>reach)
    return kept


def list_numerators(BoundIndex bound):
    """Lists what each edge leaves of 10,000, by its number in the graph."""
    cdef const Routes* routes = &bound.routes.routes
    cdef uint32_t i
    numerators = {}
    for i in range(routes.nodes[routes.node_count].purchases):
        numerators[routes.purchases[i].edge] = routes.purchases[i].numerator
    return numerators


def list_ways(BoundIndex bound, ids):
    cdef AnyPath chosen
    cdef Ways ways
    cdef Thread thread
    ids = choose_bookings(bound, ids, &chosen)
    found = {entry_id: [] for entry_id in ids}
    if not ids:
        return found
    thread = bound.take()
    with nogil:
        find_ways(&thread.asker, &chosen, &ways)
    bound.pool.append(thread)
    numerators = list_numerators(bound)
    for item in ways.visits:
        edges = ways.edges[<uint32_t>item.first]
        share = prod(Fraction(numerators[edge], 10_000) for edge in edges)
        names = tuple(bound.routes.routes.edge_ids[<uint32_t>edge] for edge in edges)
        found[ids[item.first >> 32]].append(Way(names, share, item.second))
    return {
        entry_id: tuple(sorted(taken, key=lambda way: (-way.visits, way.edges)))
        for entry_id, taken in found.items()
    }


def list_bottlenecks(BoundIndex bound, ids):
    cdef AnyPath chosen
    cdef Bottlenecks weighed
    cdef Thread thread
    cdef size_t place, edge, edges
    ids = choose_bookings(bound, ids, &chosen)
    found = {}
    if not ids:
        return found
    thread = bound.take()
    with nogil:
        find_bottlenecks(&thread.asker, &chosen, &weighed)
    bound.pool.append(thread)
    edges = bound.routes.routes.nodes[bound.routes.routes.node_count].purchases
    for place, entry_id in enumerate(ids):
        found[entry_id] = tuple(
            Bottleneck(
                bound.routes.routes.edge_ids[edge], weighed.depending[place * edges + edge],
                weighed.blocked[place * edges + edge],
            )
            for edge in range(edges)
            if weighed.depending[place * edges + edge] or weighed.blocked[place * edges + edge]
        )
    return found


def list_overlaps(BoundIndex bound, int64_t support, top):
    cdef vector[Common] pairs
    cdef Thread thread = bound.take()
    cdef size_t i
    if support < 1:
        raise ValueError("support is one visit or more")
    with nogil:
        find_common(&thread.asker, support, &pairs)
    bound.pool.append(thread)
    ids_of = {}
    for entry_id, entry in zip(bound.ids.tolist(), bound.entry_of_id.tolist(), strict=True):
        ids_of.setdefault(entry, []).append(entry_id)
    found = {}
    for i in range(pairs.size()):
        for one in ids_of.get(pairs[i].one, ()):
            for other in ids_of.get(pairs[i].other, ()):
                if pairs[i].one != pairs[i].other:
                    found.setdefault(other, []).append((one, pairs[i].visits))
                if one != other:
                    found.setdefault(one, []).append((other, pairs[i].visits))
    return {
        entry_id: sorted(others, key=lambda pair: (-pair[1], pair[0]))[:top]
        for entry_id, others in sorted(found.items())
    }
