"""Takes a plan's memory over or maps it, checks it, and says what is in it (plan_buffer.pxd)."""
import json
import threading
from functools import lru_cache, partial
from pathlib import Path

import numpy

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.large_pages cimport use_large_pages
from matcher_ext.plan.checking cimport check_plan
from matcher_ext.plan.graph_from_plan cimport lend_graph, thaw_graph
from matcher_ext.plan.plan cimport (
    CATALOG, GUARDS, ID_BASES, ID_STEPS, IDS, LAST_HOPS, LEVELS, NAMES, PAIR_RECORDS, RECORDS,
    SECTIONS, SLOTS, WIDE_IDS, Header, has_wide_ids, read_header, section_count, sum_buffer,
)
from matcher_ext.values.catalog cimport CompiledCatalog

from matcher_ext.plan.files import check_once, map_file, write_file
from matcher_ext.values.refusals import SnapshotError, UnknownIdError

# The version of check_plan: raise it with every check that is added, so that files are checked
# again.
CHECKS = 5


cdef class PlanBuffer:
    def __cinit__(self):
        self.lock = threading.Lock()

    def __init__(self):
        raise TypeError("a Snapshot comes from ATree.freeze() or Snapshot.open(path)")

    cdef int _take_over(self, CompiledCatalog catalog, vector[char]* buffer) except -1:
        cdef const char* wrong
        self.catalog = catalog
        self.owned.reserve(buffer.size())
        use_large_pages(self.owned.data(), buffer.size())
        self.owned.assign(buffer.begin(), buffer.end())
        buffer.clear()
        buffer.shrink_to_fit()
        wrong = read_header(self.owned.data(), self.owned.size(), &self.plan)
        if wrong == NULL:
            wrong = check_plan(&self.plan, &catalog.table)
        if wrong != NULL:
            raise AssertionError(f"freeze made a plan that cannot be read: {wrong.decode()}")
        return 0

    cdef int _map(self, object path, bint recheck) except -1:
        with map_file(path) as (self.mapping, descriptor):
            self._read(path)
            check_once(
                path, descriptor, self._fact(), partial(self._check, path), recheck=recheck
            )
        return 0

    def _read(self, path):
        """Finds the sections in the mapping."""
        cdef Py_buffer view
        cdef const char* wrong
        PyObject_GetBuffer(self.mapping, &view, PyBUF_SIMPLE)
        cdef const char* buffer = <const char*>view.buf
        cdef uint64_t size = <uint64_t>view.len
        PyBuffer_Release(&view)     # the mapping itself keeps the memory
        wrong = read_header(buffer, size, &self.plan)
        if wrong != NULL:
            raise SnapshotError(f"{path} cannot be opened: {wrong.decode()}")
        self.catalog = read_catalog(path, buffer, &self.plan.header[0])

    def _fact(self):
        """Says what a mark says of a file: by which checks, of which format, with which
        checksum."""
        return f"{CHECKS} {self.plan.header.version} {self.plan.header.checksum:016x}"

    def _check(self, path):
        cdef const char* wrong = NULL
        with nogil:
            if sum_buffer(<const char*>self.plan.header, self.plan.header.size) != (
                self.plan.header.checksum
            ):
                wrong = b"its checksum is wrong"
            else:
                wrong = check_plan(&self.plan, &self.catalog.table)
        if wrong != NULL:
            raise SnapshotError(f"{path} cannot be opened: {wrong.decode()}")

    def save(self, path):
        """Writes the file aside, syncs it and renames it into place."""
        write_file(Path(path), self._buffer())

    def _buffer(self):
        cdef const char* start = <const char*>self.plan.header
        return memoryview(<const char[:self.plan.header.size]>start).cast("B")

    def _section(self, int section, size):
        first = self.plan.header.offsets[section]
        return self._buffer()[first:first + self.plan.header.counts[section] * size]

    @property
    def catalog_rows(self):
        """Lists the index's catalogue: (name, type, domain, required, retired) per attribute."""
        return self.catalog.rows

    def __len__(self):
        return self.plan.totals.entries

    @property
    def ids(self):
        """Lists all ids, ascending, as a read-only numpy array."""
        if self.sorted_ids is None:
            if has_wide_ids(&self.plan):
                ids = numpy.frombuffer(self._section(WIDE_IDS, 8), dtype=numpy.int64)
            else:
                ids = self._narrow_ids() + self.plan.totals.first_id
            self.id_order = numpy.argsort(ids, kind="stable")
            ordered = ids[self.id_order]
            ordered.flags.writeable = False
            self.sorted_ids = ordered
        return self.sorted_ids

    def _narrow_ids(self):
        """Lists the ids by entry number, less the lowest."""
        steps = numpy.frombuffer(self._section(ID_STEPS, 1), dtype=numpy.uint8)
        bases = numpy.frombuffer(self._section(ID_BASES, 4), dtype=numpy.uint32)
        ids = numpy.frombuffer(self._section(IDS, 4), dtype=numpy.uint32)
        stepped = numpy.repeat(bases.astype(numpy.int64), 64)[:len(steps)] + steps
        return numpy.concatenate([stepped, ids.astype(numpy.int64)])

    def __contains__(self, entry_id):
        place = int(numpy.searchsorted(self.ids, entry_id))
        return place < len(self) and bool(self.ids[place] == entry_id)

    def entry_of(self, entry_id):
        """Returns the number of an entry inside this snapshot."""
        place = int(numpy.searchsorted(self.ids, entry_id))
        if place == len(self) or self.ids[place] != entry_id:
            raise UnknownIdError(f"id {entry_id} is not in the index")
        return int(self.id_order[place])

    def entries_of(self, entry_ids):
        """Returns the numbers of many entries inside this snapshot; -1 for each that is not in
        it."""
        wanted = numpy.fromiter(entry_ids, numpy.int64)
        if len(self) == 0 or len(wanted) == 0:      # before the ids are sorted
            return numpy.full(len(wanted), -1, numpy.int64)
        places = numpy.searchsorted(self.ids, wanted).clip(max=len(self) - 1)
        return numpy.where(self.ids[places] == wanted, self.id_order[places], -1)

    def definition_names(self):
        """Lists the names of all definitions."""
        cdef uint32_t i
        names = []
        for i in range(<uint32_t>section_count(&self.plan, NAMES)):
            span = self.plan.names[i]
            names.append(self.plan.name_bytes[span.offset:span.offset + span.length].decode())
        return names

    def stats(self):
        """Returns the sizes of the index; `records` and `bytes` in bytes."""
        cdef int section
        counts = [self.plan.header.counts[section] for section in range(<int>SECTIONS)]
        return {
            "entries": self.plan.totals.entries,
            "expressions": self.plan.totals.expressions,
            "predicates": self.plan.totals.leaves,
            "pushed predicates": self.plan.totals.pushed,
            "nodes": self.plan.totals.nodes,
            "edges": self.plan.totals.edges,
            "levels": counts[<int>LEVELS] - 1,
            "definitions": counts[<int>NAMES],
            "slots": counts[<int>SLOTS],
            "records": 4 * counts[<int>RECORDS],
            "pairs": counts[<int>PAIR_RECORDS],
            "guards": counts[<int>GUARDS],
            "last hops": counts[<int>LAST_HOPS],
            "bytes": self.plan.header.size,
        }

    cdef int _thaw(self) except -1:
        """Makes the graph, once: threads that come meanwhile wait for it."""
        cdef const char* wrong = NULL
        if self.is_thawed:
            return 0
        with self.lock:
            if not self.is_thawed:
                with nogil:
                    wrong = thaw_graph(&self.plan, &self.catalog.table, &self.graph)
                if wrong != NULL:
                    raise SnapshotError(f"the snapshot cannot be read: {wrong.decode()}")
                lend_graph(&self.graph, &self.plan)
                self.is_thawed = True
        return 0


cdef CompiledCatalog read_catalog(path, const char* buffer, const Header* header):
    cdef const char* start = buffer + header.offsets[<int>CATALOG]
    try:
        return compile_rows(start[:header.counts[<int>CATALOG]])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SnapshotError(f"{path} cannot be opened: its catalogue is malformed") from error


@lru_cache(maxsize=8)
def compile_rows(content):
    """Makes a catalogue from its JSON. Snapshots of one index share it: it seldom changes."""
    return CompiledCatalog(tuple(tuple(row) for row in json.loads(content)))
