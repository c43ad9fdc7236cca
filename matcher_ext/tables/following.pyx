"""Lists steps and conditions of bookings, and makes results of what passes find (following.pxd)."""
from fractions import Fraction
from functools import partial
from math import prod

import numpy

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.routes.routes cimport Routes
from matcher_ext.tables.bound_index cimport BoundIndex, EdgeEnds, Thread
from matcher_ext.tables.overlaps cimport Common, find_common
from matcher_ext.tables.questions cimport ASKED_LINK, ASKED_REACH, Asked, Entry, Question
from matcher_ext.tables.steps cimport find_sole_blockers, follow_steps, order_followed
from matcher_ext.tables.ways cimport AnyPath, Bottlenecks, Ways, find_bottlenecks, find_ways

from matcher_ext.tables.results import Blocker, Bottleneck, ByBooking, Way, make_steps
from matcher_ext.values.refusals import UnknownIdError


cdef class FollowedBookings:
    def __init__(self, BoundIndex bound, ids):
        cdef int64_t entry
        self.bound = bound
        self.ids = bound.ids.tolist() if ids is None else list(ids)
        self.entries = find_entries(bound, self.ids).tolist()
        self.followed.firsts.push_back(0)
        self.followed.results.push_back(0)
        bound.read_ends()
        for entry in self.entries:
            self._add(entry)
        with nogil:
            order_followed(&self.followed)

    cdef int _add(self, int64_t number) except -1:
        """Adds a booking's steps, then its rest; one that is true of nothing has none."""
        cdef const Entry* entry
        cdef uint32_t gate = NOTHING - 1        # no block's
        cdef uint32_t i, steps, child
        if number >= 0:
            entry = &self.bound.question.entries[number]
            if not entry.is_never:
                gate = entry.gate
            self._add_steps(entry)
        self.followed.gates.push_back(gate)
        steps = <uint32_t>self.followed.nodes.size()
        self.followed.rests.push_back(steps)
        if number >= 0:
            for i in range(entry.first, entry.first + entry.count):
                child = self.bound.question.children[i]
                if not is_reach_link(&self.bound.question, child):
                    self.followed.nodes.push_back(child)
        steps -= self.followed.firsts.back()
        self.followed.firsts.push_back(<uint32_t>self.followed.nodes.size())
        self.followed.results.push_back(self.followed.results.back() + 3 + 2 * steps)
        return 0

    cdef int _add_steps(self, const Entry* entry) except -1:
        """Adds the edges of a path in its order, and whether any path is open."""
        cdef const uint32_t* edges = self.bound.question.children.data() + entry.edges
        cdef uint32_t i, child
        order_path(
            &self.bound.ends[entry.plan], &self.bound.question, edges, entry.edge_count,
            &self.followed.nodes,
        )
        for i in range(entry.first, entry.first + entry.count):
            child = self.bound.question.children[i]
            if is_reach_link(&self.bound.question, child):
                self.followed.nodes.push_back(child)
        return 0

    def _names(self, size_t place, uint32_t end):
        """Words the nodes of a booking up to a place in all nodes."""
        cdef int64_t number = self.entries[place]
        cdef uint32_t i
        if number < 0:
            return []
        return [
            self.bound.word(self.bound.question.entries[number].plan, self.followed.nodes[i])
            for i in range(self.followed.firsts[place], end)
        ]

    def funnels(self):
        cdef Thread thread = self.bound.take()
        counts = numpy.zeros(self.followed.results.back() + 1, dtype=numpy.int64)
        cdef int64_t[::1] target = counts
        with nogil:
            follow_steps(&thread.asker, &self.followed, &target[0])
        self.bound.give_back(thread)
        return ByBooking(self.ids, partial(self._make_funnel, counts))

    def _make_funnel(self, counts, size_t place):
        names = self._names(place, self.followed.rests[place])
        first, end = self.followed.results[place], self.followed.results[place + 1]
        visits, *steps = counts[first:end].tolist()
        return make_steps(visits, [*[name[1:] for name in names], "campaign"], steps)

    def sole_blockers(self):
        cdef Thread thread = self.bound.take()
        counts = numpy.zeros(self.followed.firsts.back() + 1, dtype=numpy.int64)
        cdef int64_t[::1] target = counts
        with nogil:
            find_sole_blockers(&thread.asker, &self.followed, &target[0])
        self.bound.give_back(thread)
        return ByBooking(self.ids, partial(self._make_blockers, counts))

    def _make_blockers(self, counts, size_t place):
        first, end = self.followed.firsts[place], self.followed.firsts[place + 1]
        names = self._names(place, end)
        return tuple(map(Blocker, names, counts[first:end].tolist()))


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


cdef bint is_reach_link(const Question* question, uint32_t number) noexcept nogil:
    cdef const Asked* node = &question.nodes[number]
    return node.kind == ASKED_LINK and not node.negated and (
        question.nodes[node.first].kind == ASKED_REACH
    )


cdef int order_path(
    const vector[EdgeEnds]* ends, const Question* question, const uint32_t* edges, uint32_t count,
    vector[uint32_t]* found,
) except -1 nogil:
    """Appends edges from the one that no other leads to; without a graph, as they are: by the order
    of their definitions."""
    cdef size_t before = found.size()
    cdef uint32_t party = NOTHING
    cdef uint32_t i, k
    cdef bint is_led, is_on = True
    for i in range(count):
        is_led = False
        for k in range(count):
            is_led |= end_of(ends, question, edges[k]).buyer == (
                end_of(ends, question, edges[i]).seller
            )
        if not is_led and party == NOTHING:
            party = end_of(ends, question, edges[i]).seller
    while is_on and party != NOTHING and found.size() < before + count:
        is_on = False
        for i in range(count):
            if end_of(ends, question, edges[i]).seller == party:
                found.push_back(edges[i])
                party = end_of(ends, question, edges[i]).buyer
                is_on = True
                break
    if found.size() < before + count:
        found.resize(before)
        for i in range(count):
            found.push_back(edges[i])
    return 0


cdef inline EdgeEnds end_of(
    const vector[EdgeEnds]* ends, const Question* question, uint32_t link
) noexcept nogil:
    """Finds who sells and buys over an edge, by the definition that a link leads to."""
    return ends[0][question.nodes[link].count]


# Bookings on any path, and what bookings have in common.

cdef int64_t reach_of_entry(BoundIndex bound, const Entry* entry):
    """Finds the reach that a booking asks for, or -1."""
    cdef uint32_t i, child
    for i in range(entry.first, entry.first + entry.count):
        child = bound.question.children[i]
        if is_reach_link(&bound.question, child):
            return bound.question.nodes[bound.question.nodes[child].first].first
    return -1


cdef list choose_bookings(BoundIndex bound, ids, AnyPath* chosen):
    """Lists the ids that are on any path, and fills in their bookings."""
    cdef int64_t entry, reach
    ids = bound.ids.tolist() if ids is None else list(ids)
    kept = []
    for entry_id, entry in zip(ids, find_entries(bound, ids).tolist(), strict=True):
        if entry < 0:
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
    bound.give_back(thread)
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
    bound.give_back(thread)
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
    bound.give_back(thread)
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
