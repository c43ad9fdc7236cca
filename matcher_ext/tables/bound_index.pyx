"""Binds an index to a table (bound_index.pxd)."""
import re
import threading

import numpy

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.machine.keeping cimport copy_value, fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.graph cimport is_reach, reach_of
from matcher_ext.plan.plan cimport SLOTS, section_count
from matcher_ext.plan.plan_buffer cimport PlanBuffer
from matcher_ext.routes.route_section cimport Reach
from matcher_ext.routes.routes cimport Routes
from matcher_ext.tables.asking cimport open_asker
from matcher_ext.tables.coded_rows cimport CodedRows, ask_code, begin_coded
from matcher_ext.tables.questions cimport (
    ASKED_CODE, ASKED_FALSE, ASKED_REACH, Question, add_asked, add_entry, add_plan, index_gates,
    mark_kept, order_children,
)
from matcher_ext.tables.wording cimport word_node
from matcher_ext.values.catalog cimport CompiledCatalog

REACH_NAME = re.compile(rb"reach\.(\d+)\.([1-8])\Z")


cdef class BoundIndex:
    def __cinit__(self):
        self.pool = []
        self.definitions = {}
        self.code_names = []
        self.words = {}
        self.lock = threading.Lock()

    cdef Thread take(self):
        """Takes memory with an own copy of the question; give it back when the call is done."""
        cdef Thread thread
        if self.pool:
            thread = self.pool.pop()
        else:
            thread = Thread()
            copy_value(thread.question, self.question)
            open_asker(
                &thread.asker, self.table, &thread.question, self.routes,
                self.below.plan.totals.leaves if self.below is not None else 0,
            )
        if self.code_names:
            thread.coded = begin_coded(self.table, self.names, self.code_names, self.answer)
            thread.asker.ask_code = ask_code
            thread.asker.code_context = <void*>thread.coded
        return thread

    cdef int give_back(self, Thread thread) except -1:
        """Ends a call; raises what code has raised."""
        cdef CodedRows coded = thread.coded
        thread.coded = None
        self.pool.append(thread)
        if coded is not None:
            self.coded_total[0] += coded.row_count
            if coded.error is not None:
                raise coded.error
        return 0

    cdef uint32_t add_code(self, str name):
        """Adds the node of a definition that code answers: one for both plans."""
        if name not in self.code_names:
            self.code_names.append(name)
        return add_asked(
            &self.question, ASKED_CODE, <uint32_t>self.code_names.index(name), 0
        )

    cdef PlanBuffer plan_of(self, uint8_t number):
        return self.beside if number else self.below

    cdef str word(self, uint8_t plan, uint32_t node):
        """Words a node of a plan; bookings share most of them."""
        cdef PlanBuffer holder
        text = self.words.get(node)
        if text is None:
            holder = self.plan_of(plan)
            text = word_node(&holder.plan, holder.catalog, node - self.bases[plan])
            self.words[node] = text
        return text

    cdef int read_ends(self) except -1:
        """Finds who sells and buys over each edge that has a definition."""
        cdef uint32_t seller, buyer
        cdef uint8_t number
        with self.lock:
            if self.has_ends:
                return 0
            sold = list_ends(self)
            for number in range(1 if self.beside is None else 2):
                for name in self.plan_of(number).definition_names():
                    seller, buyer = sold.get(name, (NOTHING, NOTHING))
                    self.ends[number].push_back(EdgeEnds(seller, buyer))
            self.has_ends = True
        return 0

    cdef uint32_t add_reach(self, Question* question, bytes name) except? 0xFFFFFFFF:
        """Adds the node of a reach by its name; NOTHING if the graph has no such party."""
        cdef Reach reach
        cdef uint32_t i
        found = REACH_NAME.match(name)
        if found is None or self.routes == NULL:
            return NOTHING
        reach.party = int(found[1])
        reach.hops = int(found[2])
        for i in range(self.routes.routes.node_count):
            if self.routes.routes.nodes[i].party == reach.party:
                reach.node = i
                question.reaches.push_back(reach)
                return add_asked(
                    question, ASKED_REACH, <uint32_t>(question.reaches.size() - 1), 0
                )
        return NOTHING

    cdef int _read_definitions(
        self, PlanBuffer plan, dict meanings, answered, vector[uint32_t]* targets,
        vector[uint8_t]* is_edge,
    ) except -1:
        """Finds what definitions mean that have no text here: `meanings`, code, reaches."""
        cdef uint32_t definition
        names = plan.definition_names()
        targets.resize(len(names) + 1, NOTHING)
        is_edge.resize(len(names) + 1, 0)
        for definition, name in enumerate(names):
            is_edge[0][definition] = name.startswith("edge.")
            if name in meanings:
                targets[0][definition] = meanings[name]
            elif name in answered:
                targets[0][definition] = self.add_code(name)
            elif is_reach(&plan.plan, definition):
                self.question.reaches.push_back(
                    plan.plan.routes.reaches[reach_of(&plan.plan, definition)]
                )
                targets[0][definition] = add_asked(
                    &self.question, ASKED_REACH, <uint32_t>(self.question.reaches.size() - 1), 0
                )
            elif plan.plan.definitions[definition].root == NOTHING:
                targets[0][definition] = add_asked(&self.question, ASKED_FALSE, 0, 0)
        return 0

    def _add(self, PlanBuffer plan, meanings, answered, uint8_t number):
        """Adds a plan's graph and its entries; notes what its definitions are."""
        cdef vector[uint32_t] targets
        cdef vector[uint8_t] is_edge
        cdef uint32_t first = <uint32_t>self.question.nodes.size()
        cdef uint32_t base, definition, slot, node
        plan._thaw()
        self._read_definitions(plan, meanings, answered, &targets, &is_edge)
        with nogil:
            base = add_plan(
                &self.question, self.table, self.columns.data(), &plan.plan, targets.data(),
                is_edge.data(),
            )
            order_children(&self.question, first)
        self.bases[number] = base
        if plan is self.below:
            fill_vector(self.question.slots, section_count(&plan.plan, SLOTS) + 1, NOTHING)
        for definition, name in enumerate(plan.definition_names()):
            node = targets[definition]
            if node == NOTHING:
                node = base + plan.plan.definitions[definition].root
            self.definitions[name] = node
            slot = plan.plan.definition_slots[2 * <size_t>definition]
            if plan is self.below and slot != NOTHING:
                self.question.slots[slot] = node
        self._add_entries(plan, base, number)

    cdef int _add_entries(self, PlanBuffer plan, uint32_t base, uint8_t number) except -1:
        cdef uint32_t i
        with nogil:
            for i in range(plan.plan.expression_count):
                add_entry(
                    &self.question, self.table, base + plan.plan.expressions[i].node, number, i
                )
        return 0

    def _number_ids(self, PlanBuffer plan, int64_t first_entry):
        """Returns (ids, the entry of each), ascending by id."""
        cdef uint32_t i, k
        ids = plan.ids
        entries = numpy.full(len(plan), -1, dtype=numpy.int64)
        cdef int64_t[::1] target = entries
        for i in range(plan.plan.expression_count):
            for k in range(plan.plan.expressions[i].count):
                target[plan.plan.expressions[i].first + k] = first_entry + i
        return ids, entries[plan.id_order]


cdef class Thread:
    pass


cdef dict list_ends(BoundIndex bound):
    """Lists (seller, buyer) by the name of the edge's definition."""
    cdef const Routes* routes
    cdef uint32_t node, i
    found = {}
    if bound.routes != NULL:
        routes = &bound.routes.routes
        for node in range(routes.node_count):
            for i in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
                found[f"edge.{routes.edge_ids[routes.purchases[i].edge]}"] = (
                    routes.purchases[i].node, node
                )
    return found


cdef BoundIndex begin_binding(
    list coded_total, const Table* table, CompiledCatalog own, CompiledCatalog catalog
):
    """Maps the attributes of an index to the columns of a table, by name and type."""
    cdef BoundIndex bound = BoundIndex.__new__(BoundIndex)
    cdef uint32_t attribute
    bound.coded_total = coded_total
    bound.table = table
    bound.names = own.names
    bound.catalog = catalog
    for name, type_name in zip(catalog.names, catalog.types, strict=True):
        number = own.numbers.get(name)
        if number is None or own.types[number] != type_name:
            bound.columns.push_back(NOTHING)
        else:
            bound.columns.push_back(number)
    for attribute in catalog.table.required:
        bound.question.required.push_back(bound.columns[attribute])
    return bound


cdef BoundIndex bind_nothing(list coded_total, const Table* table, CompiledCatalog catalog):
    cdef BoundIndex bound = begin_binding(coded_total, table, catalog, catalog)
    index_gates(&bound.question, table)
    return bound


cdef BoundIndex bind_index(list coded_total, const Table* table, CompiledCatalog own, parts):
    cdef PlanBuffer below = parts.below
    cdef PlanBuffer beside = parts.beside
    cdef BoundIndex bound = begin_binding(coded_total, table, own, below.catalog)
    cdef int64_t behind
    bound.below = below
    bound.beside = beside
    bound.answer = parts.answer
    if below.plan.routes.routes.nodes != NULL:
        bound.routes = &below.plan.routes
    meanings = {}
    changed = {}
    if beside is not None:
        for name in parts.borrowed:
            meanings[name] = bound.add_reach(&bound.question, name.encode())
        bound._add(beside, meanings, parts.answered, 1)
        changed = {
            name: bound.definitions[name] for name in parts.replaced if name in bound.definitions
        }
    behind = <int64_t>bound.question.entries.size()
    bound._add(below, changed, parts.answered, 0)
    if bound.question.reaches.size():
        check_by(table, own, below.catalog.names[below.plan.routes.attribute])
    with nogil:
        index_gates(&bound.question, bound.table)
        mark_kept(&bound.question)
    ids, entries = bound._number_ids(below, behind)
    if beside is not None:
        ids, entries = join_ids(ids, entries, *bound._number_ids(beside, 0), parts.dead)
    bound.ids, bound.entry_of_id = ids, entries
    return bound


cdef int check_by(const Table* table, CompiledCatalog own, name) except -1:
    if table.header.by == NOTHING or own.names[table.header.by] != name:
        raise ValueError(f"bookings on any path ask for a table by {name}")
    return 0


def join_ids(ids, entries, more_ids, more_entries, dead):
    """Joins the ids of two plans, without the dead ones of the first."""
    kept = ~numpy.isin(ids, numpy.fromiter(dead, numpy.int64))
    ids = numpy.concatenate([ids[kept], more_ids])
    entries = numpy.concatenate([entries[kept], more_entries])
    order = numpy.argsort(ids, kind="stable")
    return ids[order], entries[order]
