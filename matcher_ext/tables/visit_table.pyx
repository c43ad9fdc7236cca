"""Makes, saves and opens tables of prepared visits, and asks them for Python (visit_table.pxd)."""
import json
import threading
from functools import partial
from pathlib import Path

import numpy

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_checks cimport check_table
from matcher_ext.columns.table_format cimport (
    T_CATALOG, T_GROUPS, Block, Column, TableHeader, read_table, sum_table,
)
from matcher_ext.columns.values cimport read_block, value_of
from matcher_ext.columns.writing cimport TableMaker
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.bound_index cimport BoundIndex, Thread, bind_index, bind_nothing
from matcher_ext.tables.counting_rows cimport count_entries, count_grouped, count_users
from matcher_ext.tables.following cimport FollowedBookings
from matcher_ext.tables.impacts cimport ask_impact
from matcher_ext.tables.texts cimport ask_text
from matcher_ext.values.catalog cimport CompiledCatalog

from matcher_ext.plan.files import check_once, map_file, write_file
from matcher_ext.tables.following import list_bottlenecks, list_overlaps, list_ways
from matcher_ext.tables.sketches import gather_users, make_sketches
from matcher_ext.values.refusals import SnapshotError

# Numbers the version of check_table: raise it with every check that is added.
CHECKS = 1
MOST_BOUND = 4


cdef class VisitTable:
    def __cinit__(self):
        self.bound = []
        self.lock = threading.Lock()
        self.coded_total = [0]

    def __init__(self):
        raise TypeError("a VisitTable comes from VisitTable.from_arrow or VisitTable.open")

    @staticmethod
    def from_arrow(
        batches, catalog, *, by="publisher.id", groups=(), weights=None, users="user.id"
    ):
        """Prepares visits: a record batch, a table, a reader, or several of them.

        `by` is the attribute that says whose visits they are, `groups` are attributes to count by,
        or an array with a number for each row, `weights` how many visits each row stands for (1 if
        left out), `users` who is counted once.
        """
        cdef VisitTable made = VisitTable.__new__(VisitTable)
        cdef CompiledCatalog compiled = compile_catalog(catalog)
        cdef TableMaker maker = TableMaker(compiled)
        if by is not None and compiled.types[maker.number_of(by)] != "string":
            raise ValueError(f"{by} is no string")
        if users in compiled.numbers and compiled.types[compiled.numbers[users]] != "string":
            users = None
        maker.read(batches)
        maker.derive()
        maker.order(by, read_groups(groups, maker.rows), read_weights(weights, maker.rows))
        maker.write(&made.owned, by, users)
        made._read(made.owned.data(), made.owned.size(), None)
        made.catalog = compiled
        return made

    @staticmethod
    def open(path, *, catalog=None, recheck=False):
        """Maps a file. Its checksum and every index in it are checked once per file and machine.

        `catalog` is what texts are read with, where they name lists; the same attributes.
        """
        cdef VisitTable made = VisitTable.__new__(VisitTable)
        cdef Py_buffer view
        path = Path(path)
        with map_file(path) as (made.mapping, descriptor):
            PyObject_GetBuffer(made.mapping, &view, PyBUF_SIMPLE)
            buffer, size = <size_t>view.buf, view.len
            PyBuffer_Release(&view)     # the mapping itself keeps the memory
            made._read(<const char*><size_t>buffer, size, path)
            check_once(path, descriptor, made._fact(), partial(made._check, path), recheck=recheck)
        made._read_groups(path)
        if catalog is not None:
            compiled = compile_catalog(catalog)
            if compiled.names != made.catalog.names or compiled.types != made.catalog.types:
                raise ValueError(f"{path} was made with another catalogue")
            made.catalog = compiled
        return made

    cdef int _read(self, const char* buffer, size_t size, object path) except -1:
        cdef const char* wrong = read_table(buffer, size, &self.table)
        if wrong != NULL:
            raise SnapshotError(f"{path} cannot be opened: {wrong.decode()}")
        if path is None:
            self._read_groups(path)
            self._sum_words()
            return 0
        try:
            rows = json.loads(self._section(T_CATALOG))
            self.catalog = CompiledCatalog(tuple(tuple(row) for row in rows))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise SnapshotError(f"{path} cannot be opened: its catalogue is malformed") from error
        return 0

    def _read_groups(self, path):
        try:
            self.groups = tuple(tuple(group) for group in json.loads(self._section(T_GROUPS)))
        except (ValueError, TypeError, RecursionError) as error:
            raise SnapshotError(f"{path} cannot be opened: its groups are malformed") from error
        if len(self.groups) != self.table.header.groups:
            raise SnapshotError(f"{path} cannot be opened: its groups are not all there")
        self._sum_words()

    def _sum_words(self):
        cdef const Block* last
        if self.table.block_count:
            last = &self.table.blocks[self.table.block_count - 1]
            self.table.all_words = last.first_word + last.words

    def _section(self, int section):
        cdef const char* start = <const char*>self.table.header + (
            self.table.header.offsets[section]
        )
        return start[:self.table.header.counts[section]]

    def _fact(self):
        return f"visits {CHECKS} {self.table.header.version} {self.table.header.checksum:016x}"

    def _check(self, path):
        cdef const char* wrong = NULL
        with nogil:
            if sum_table(<const char*>self.table.header, self.table.header.size) != (
                self.table.header.checksum
            ):
                wrong = b"its checksum is wrong"
            else:
                wrong = check_table(&self.table, &self.catalog.table)
        if wrong != NULL:
            raise SnapshotError(f"{path} cannot be opened: {wrong.decode()}")

    def save(self, path):
        """Writes the file aside, syncs it and renames it into place."""
        cdef const char* start = <const char*>self.table.header
        write_file(
            Path(path), memoryview(<const char[:self.table.header.size]>start).cast("B")
        )

    def __len__(self):
        return self.table.header.rows

    @property
    def by(self):
        """Gives the attribute that says whose visits they are, or None."""
        if self.table.header.by == NOTHING:
            return None
        return self.catalog.names[self.table.header.by]

    @property
    def weights(self):
        """Gives how many visits each row of the input stands for."""
        cdef uint32_t block
        weights = numpy.empty(len(self), dtype=numpy.int64)
        order = self._order()
        for block in range(self.table.block_count):
            first = self.table.blocks[block].first
            rows = order[first:first + self.table.blocks[block].rows]
            weights[rows] = self.table.blocks[block].weight
        return weights

    def _order(self):
        """Returns the input's row of each row of the table."""
        order = numpy.empty(len(self), dtype=numpy.int64)
        cdef int64_t[::1] target = order
        cdef Py_ssize_t i
        for i in range(target.shape[0]):
            target[i] = self.table.order[i]
        return order

    def rows(self, bitmap):
        """Returns the input's rows that a bitmap of `bitmap` has, ascending."""
        cdef uint32_t block
        bits = numpy.unpackbits(numpy.ascontiguousarray(bitmap, numpy.uint8), bitorder="little")
        if len(bits) != 64 * self.table.all_words:
            raise ValueError("the bitmap is of another table")
        kept = numpy.zeros(len(self), dtype=bool)
        for block in range(self.table.block_count):
            first, rows = self.table.blocks[block].first, self.table.blocks[block].rows
            word = self.table.blocks[block].first_word
            kept[first:first + rows] = bits[64 * word:64 * word + rows]
        return numpy.sort(self._order()[kept])

    def visits(self):
        """Yields (visit, weight, number of its group) of each row, in the table's order."""
        cdef uint32_t block, run
        for block in range(self.table.block_count):
            run = self.table.blocks[block].runs
            for row, visit in enumerate(read_block(&self.table, self.catalog.names, block)):
                if row == self.table.runs[run].end:
                    run += 1
                yield visit, self.table.blocks[block].weight, self.table.runs[run].group

    def stats(self):
        """Returns the sizes of the table, wrong values by attribute, and how many rows were asked
        one by one because code answers a definition."""
        cdef uint32_t i
        return {
            "rows": self.table.header.rows,
            "blocks": self.table.block_count,
            "columns": self.table.column_count,
            "groups": self.table.header.groups,
            "bytes": self.table.header.size,
            "malformed": {
                self.catalog.names[i]: self.table.malformed[i]
                for i in range(<uint32_t>len(self.catalog)) if self.table.malformed[i]
            },
            "rows asked one by one": self.coded_total[0],
        }

    cdef BoundIndex _bind(self, index):
        """Binds an index, or takes what was bound to the same state before."""
        parts = index.table_parts()
        with self.lock:
            for known, bound in self.bound:
                if known.is_same(parts):
                    return bound
        bound = bind_index(self.coded_total, &self.table, self.catalog, parts)
        with self.lock:
            self.bound = [(parts, bound), *self.bound][:MOST_BOUND]
        return bound

    def bitmap(self, expression, index=None):
        """Returns (true, false, unknown): of which rows, packed from the lowest bit on. A
        definition that the expression names is the index's."""
        cdef BoundIndex bound
        text = text_of(expression)
        if index is None:
            bound = bind_nothing(self.coded_total, &self.table, self.catalog)
        else:
            bound = self._bind(index)
        return ask_text(bound, text, self.table.all_words)

    def count(self, index, *, groups=False):
        """Returns how many visits each id is eligible for, in the order of `index.ids`: an array,
        or with `groups` one line per id and one column per group of `table.groups`."""
        cdef BoundIndex bound = self._bind(index)
        cdef Thread thread = bound.take()
        width = max(self.table.header.groups, 1) if groups else 1
        counts = numpy.zeros(max(bound.question.entries.size() * width, 1), dtype=numpy.int64)
        cdef int64_t[::1] target = counts
        cdef bint is_grouped = groups
        with nogil:
            if is_grouped:
                count_grouped(&thread.asker, &target[0])
            else:
                count_entries(&thread.asker, &target[0])
        bound.give_back(thread)
        counts = counts[:bound.question.entries.size() * width].reshape(-1, width)
        found = numpy.zeros((len(bound.ids), width), dtype=numpy.int64)
        is_met = bound.entry_of_id >= 0
        found[is_met] = counts[bound.entry_of_id[is_met]]
        if groups:
            return found[:, :self.table.header.groups]
        return found[:, 0]

    def funnel(self, index, ids=None):
        """Returns the Funnel of each id, or of these: where its publisher's visits are lost."""
        return FollowedBookings(self._bind(index), ids).funnels()

    def sole_blockers(self, index, ids=None):
        """Returns for each id, or for these, its conditions with the visits that satisfy all of it
        but one of them."""
        return FollowedBookings(self._bind(index), ids).sole_blockers()

    def cheapest(self, index, ids=None):
        """Returns for each id on any path, or for those of these, the Ways that its eligible visits
        take: the cheapest of each visit, ties as in matching."""
        return list_ways(self._bind(index), ids)

    def bottlenecks(self, index, ids=None):
        """Returns for each id on any path, or for those of these, its Bottlenecks: edges without
        which no path is open. Takes a walk per edge: name the ids."""
        return list_bottlenecks(self._bind(index), ids)

    def overlap(self, index, *, support=20, top=50):
        """Returns for each id the ids with at least `support` common visits, as (id, visits), the
        `top` ones with most of them. Ids of one expression have each other."""
        return list_overlaps(self._bind(index), support, top)

    def users(self, index):
        """Returns how many users the eligible visits of each id have, in the order of
        `index.ids`; visits without a user are not counted."""
        cdef BoundIndex bound = self._bind(index)
        return self._find_users(bound, None)[bound.entry_of_id]     # the last one is of nothing

    def user_sketches(self, index, *, kind="hll", lg_k=12, keys=None):
        """Returns a sketch of the users of each id that has any, as the bytes that Spark's
        `hll_union_agg` (kind "hll") or `theta_union_agg` ("theta") merges. With `keys`, which map
        ids to campaigns, one for each campaign."""
        cdef BoundIndex bound = self._bind(index)
        lists = []
        self._find_users(bound, lists)
        return make_sketches(
            gather_users(bound.ids, bound.entry_of_id, lists, keys), self._user_names(), kind, lg_k
        )

    def _find_users(self, BoundIndex bound, lists):
        """Counts users by entry; appends those of each to `lists` unless it is None."""
        cdef Thread thread = bound.take()
        cdef vector[vector[uint32_t]] found
        cdef vector[vector[uint32_t]]* wanted = NULL
        cdef size_t i
        if lists is not None:
            wanted = &found
        counts = numpy.zeros(bound.question.entries.size() + 1, dtype=numpy.int64)
        cdef int64_t[::1] target = counts
        with nogil:
            count_users(&thread.asker, &target[0], wanted)
        bound.give_back(thread)
        for i in range(found.size()):
            lists.append(numpy.array(found[i], dtype=numpy.int64))
        return counts

    def _user_names(self):
        """Lists all users, by code."""
        cdef const Column* column
        cdef uint32_t code
        if self.table.header.users == NOTHING:
            return []
        column = &self.table.columns[self.table.header.users]
        return [
            value_of(
                column.type, column.kind, self.table.words + column.first, self.table.bytes, code
            )
            for code in range(column.values)
        ]

    def impact(self, expression, *, bookings=(), index=None):
        """Returns the Impact of an expression. `bookings` are expressions of publisher and path:
        `publisher.id = 'a' and @edge.1 and @edge.2`; their definitions are the index's."""
        cdef BoundIndex bound
        if index is None:
            bound = bind_nothing(self.coded_total, &self.table, self.catalog)
        else:
            bound = self._bind(index)
        return ask_impact(bound, text_of(expression), [text_of(each) for each in bookings])


def seal_table(content):
    """Gives the altered content of a file the checksum that it needs: for tests of other checks."""
    cdef char[::1] view = content
    if <size_t>view.shape[0] < sizeof(TableHeader):
        raise ValueError("too short for a table")
    (<TableHeader*>&view[0]).checksum = sum_table(&view[0], <size_t>view.shape[0])


def read_weights(weights, rows):
    if weights is None:
        return numpy.ones(rows, dtype=numpy.int64)
    weights = numpy.ascontiguousarray(weights, dtype=numpy.int64)
    if weights.shape != (rows,):
        raise ValueError(f"there are {rows} rows and {weights.size} weights")
    if rows and weights.min() < 1:
        raise ValueError("a row stands for one visit or more")
    return weights


def read_groups(groups, rows):
    """Returns names of attributes as a tuple, numbers of rows as an array."""
    if not isinstance(groups, numpy.ndarray):
        return tuple(groups)
    if groups.shape != (rows,) or groups.dtype.kind not in "iu":
        raise ValueError(f"there are {rows} rows: each needs the number of its group")
    return groups


def compile_catalog(catalog):
    """Returns a CompiledCatalog as it is, or the one that a catalogue of the language carries."""
    return catalog if isinstance(catalog, CompiledCatalog) else catalog.compiled


def text_of(expression):
    return expression if isinstance(expression, str) else expression.text
