"""The Python face of a frozen index: save, open, match, count."""
import json
import threading
from functools import lru_cache
from pathlib import Path

import numpy

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.arena cimport FALSE, NOTHING, TRUE, Truth
from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.checking cimport check_plan
from matcher_ext.graph cimport (
    begin_graph_visit,
    evaluate_node,
    find_plan_definition,
    reach_of,
)
from matcher_ext.asking cimport preset_slot, replace_slot
from matcher_ext.matching cimport (
    begin_match,
    match_visit,
    open_scratch,
    run_match,
)
from matcher_ext.filling cimport Meaning, Scratch
from matcher_ext.pages cimport use_large_pages
from matcher_ext.paths cimport copy_paths
from matcher_ext.plan cimport *
from matcher_ext.results cimport copy_ids, count_matched, drop_dead
from matcher_ext.thaw cimport lend_graph, thaw_graph
from matcher_ext.visit cimport clear_visit, read_visit

from matcher_ext.files import check_once, map_file, write_file
from matcher_ext.refusals import SnapshotError, UnknownIdError

# Of check_plan: to be raised with every check that is added, so that files are checked again.
CHECKS = 4
cdef object make_array = numpy.empty
cdef object ID_TYPE = numpy.dtype(numpy.int64)
WORKING_BYTES = 512 << 20

cdef enum:
    # A match of fewer takes less time than waking the thread that waits for the GIL, which then
    # finds it taken again: with eight threads a request took 266 us of processor time when the GIL
    # was given away, 236 us when it was kept.
    FEW_ENTRIES = 50000


cdef class Snapshot:
    """A frozen index. Made by `ATree.freeze()` or `Snapshot.open(path)`, never changed."""

    def __init__(self):
        raise TypeError("a Snapshot comes from ATree.freeze() or Snapshot.open(path)")

    @staticmethod
    def open(path, *, recheck=False):
        """Maps a file. Its checksum and every index in it are checked once per file and machine.

        The mark that says so lies beside the file (marks.py says what it promises). With `recheck`
        they are checked in any case.
        """
        cdef Snapshot snapshot = make_snapshot()
        path = Path(path)
        with map_file(path) as (snapshot.mapping, descriptor):
            snapshot._read(path)
            check_once(
                path, descriptor, snapshot._fact(), lambda: snapshot._check(path), recheck=recheck
            )
        return snapshot

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
        """What a mark says of a file: by which checks, of which format, with which checksum."""
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

    def __len__(self):
        return self.plan.totals.entries

    @property
    def ids(self):
        """All ids, ascending, as a read-only numpy array."""
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
        """By entry number, less the lowest."""
        steps = numpy.frombuffer(self._section(ID_STEPS, 1), dtype=numpy.uint8)
        bases = numpy.frombuffer(self._section(ID_BASES, 4), dtype=numpy.uint32)
        ids = numpy.frombuffer(self._section(IDS, 4), dtype=numpy.uint32)
        stepped = numpy.repeat(bases.astype(numpy.int64), 64)[:len(steps)] + steps
        return numpy.concatenate([stepped, ids.astype(numpy.int64)])

    @property
    def catalog_rows(self):
        """The catalogue that the index was made with: (name, type, domain, required, retired)."""
        return self.catalog.rows

    def match(self, visit, Overlay overlay=None):
        """The ids whose expressions are true of the visit, ascending."""
        cdef ScratchHolder holder = self._match(visit, overlay)
        cdef size_t i
        with nogil:
            holder.ids.resize(count_matched(&holder.scratch))
            copy_ids(&self.plan, &holder.scratch, holder.ids.data())
            sort(holder.ids.begin(), holder.ids.end())
        matched = [holder.ids[i] for i in range(holder.ids.size())]
        self.pool.append(holder)
        return matched

    def answer_slots(self, names, function, asks=()):
        """The same index, where `function` says if these definitions are true: see answers.pxd."""
        from matcher_ext.answers import SlotAnswers, bind_answers
        return bind_answers(self, SlotAnswers(names, function, asks))

    def match_ids(self, visit, Overlay overlay=None, answers=None):
        """The same ids as a numpy array, in no promised order."""
        cdef ScratchHolder holder = self._match(visit, overlay, answers)
        matched = self._copy_matched(holder)
        self.pool.append(holder)
        return matched

    def match_with_warnings(self, visit, Overlay overlay=None, answers=None):
        """(ids as an ascending numpy array, names of attributes with a value of a wrong type)."""
        cdef ScratchHolder holder = self._match(visit, overlay, answers)
        cdef uint32_t attribute
        matched = self._copy_matched(holder)
        matched.sort()
        malformed = tuple(
            self.catalog.names[attribute] for attribute in holder.scratch.visit.malformed
        )
        self.pool.append(holder)
        return matched, malformed

    def match_with_paths(self, visit, Overlay overlay=None, Snapshot beside=None):
        """The same, and the Paths of the entries that ask for a reach. `beside` is what the overlay
        was made with: its entries are matched as well, with reaches lent from here."""
        cdef ScratchHolder holder = self._match(visit, overlay, None, True)
        cdef uint32_t attribute
        matched = self._copy_matched(holder)
        if beside is not None and len(beside):
            matched = numpy.concatenate([matched, beside._match_lent(visit, overlay, holder)])
        matched.sort()
        malformed = tuple(
            self.catalog.names[attribute] for attribute in holder.scratch.visit.malformed
        )
        paths = copy_paths(self, &self.plan.routes, &holder.scratch)
        self.pool.append(holder)
        return matched, malformed, paths

    cdef object _match_lent(self, visit, Overlay overlay, ScratchHolder below):
        """What matches here, with reaches that the walk below has answered."""
        cdef ScratchHolder holder = self._take()
        cdef size_t i, k
        read_visit(self.catalog, visit, &holder.scratch.visit)
        holder.scratch.wanted.clear()
        if overlay is not None:
            for i in range(overlay.wanted.size()):
                for k in range(below.scratch.reached.size()):
                    if below.scratch.reached[k].reach == overlay.wanted[i] and (
                        below.scratch.reached[k].way != NOTHING
                    ):
                        preset_slot(&self.plan, &holder.scratch, overlay.lent[i], True)
                        break
        with nogil:
            match_visit(&self.plan, &self.catalog.table, &holder.scratch)
        matched = self._copy_matched(holder)
        self.pool.append(holder)
        return matched

    def unknown_attributes(self, visit):
        """Names in the visit that the catalogue does not have; matching ignores them."""
        return tuple(name for name in visit if name not in self.catalog.numbers)

    def entry_of(self, entry_id):
        """The number of an entry inside this snapshot."""
        place = int(numpy.searchsorted(self.ids, entry_id))
        if place == len(self) or self.ids[place] != entry_id:
            raise UnknownIdError(f"id {entry_id} is not in the index")
        return int(self.id_order[place])

    def entries_of(self, entry_ids):
        """The numbers of many entries inside this snapshot; -1 for each that is not in it."""
        wanted = numpy.fromiter(entry_ids, numpy.int64)
        if len(self) == 0 or len(wanted) == 0:      # before the ids are sorted
            return numpy.full(len(wanted), -1, numpy.int64)
        places = numpy.searchsorted(self.ids, wanted).clip(max=len(self) - 1)
        return numpy.where(self.ids[places] == wanted, self.id_order[places], -1)

    def __contains__(self, entry_id):
        place = int(numpy.searchsorted(self.ids, entry_id))
        return place < len(self) and bool(self.ids[place] == entry_id)

    def definition_names(self):
        """The names of all definitions."""
        cdef uint32_t i
        names = []
        for i in range(<uint32_t>section_count(&self.plan, NAMES)):
            span = self.plan.names[i]
            names.append(self.plan.name_bytes[span.offset:span.offset + span.length].decode())
        return names

    def why_not(self, visit, ids):
        """For each id, the conditions that keep its expression from being true of the visit.

        A list of (definition or None, condition, False or None for undefined); empty: it matches.
        An alternative counts as failed with all of its conditions. A required attribute that the
        visit lacks fails everything.
        """
        from matcher_ext import reasons
        return reasons.why_not(self, visit, ids)

    def to_graphviz(self, entry_id):
        """An entry's expression as the index holds it, in Graphviz's language."""
        from matcher_ext import reasons
        return reasons.to_graphviz(self, entry_id)

    def match_batch(self, record_batch):
        """(offsets, ids): the ids of row i are ids[offsets[i] : offsets[i + 1]]."""
        from matcher_ext import batching
        return batching.match_batch(self, record_batch)

    def count_batch(
        self, record_batch, groups=None, *, group_count=None, working_bytes=WORKING_BYTES
    ):
        """Matching rows per id, in the order of `ids`.

        `groups` gives each row a code from 0 to group_count - 1 (a negative one leaves the row
        out); the answer then has one line per code. Beside the answer, and whatever the size of
        index and batch, no more than about `working_bytes` of memory are used.
        """
        from matcher_ext import batching
        return batching.count_batch(self, record_batch, groups, group_count, working_bytes)

    def malformed_rows(self, record_batch):
        """How many attributes of each row carried a value of a wrong type."""
        from matcher_ext import batching
        return batching.malformed_rows(self, record_batch)

    def stats(self):
        """Sizes of the index; `records` and `bytes` in bytes."""
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

    def _buffer(self):
        cdef const char* start = <const char*>self.plan.header
        return memoryview(<const char[:self.plan.header.size]>start).cast("B")

    def _section(self, int section, size):
        first = self.plan.header.offsets[section]
        return self._buffer()[first:first + self.plan.header.counts[section] * size]

    cdef ScratchHolder _take(self):
        cdef ScratchHolder holder
        if self.pool:
            return self.pool.pop()
        holder = ScratchHolder()
        open_scratch(&self.plan, &holder.scratch)
        clear_visit(&self.catalog.table, &holder.scratch.visit)
        return holder

    cdef ScratchHolder _match(self, visit, Overlay overlay, answers=None, bint wants_paths=False):
        cdef ScratchHolder holder = self._take()
        cdef const vector[uint64_t]* dead = NULL
        cdef bint is_preset = overlay is not None and not overlay.replaced.empty()
        cdef bint is_begun = False
        holder.scratch.wants_paths = wants_paths
        read_visit(self.catalog, visit, &holder.scratch.visit)
        if self.answers:
            answers = self._lend(holder, answers)
        holder.scratch.wanted.clear()
        if overlay is not None:
            holder.scratch.wanted = overlay.wanted
            dead = &overlay.dead if overlay.dead_count else NULL
        if is_preset:
            is_begun = begin_match(&self.plan, &self.catalog.table, &holder.scratch)
            if is_begun:
                self._preset(holder, overlay, answers)
        if self.plan.totals.entries < FEW_ENTRIES:
            self._run(holder, dead, is_preset, is_begun)
        else:
            with nogil:
                self._run(holder, dead, is_preset, is_begun)
        if self.answers:
            answers.settle(holder)
        return holder

    cdef void _run(
        self, ScratchHolder holder, const vector[uint64_t]* dead, bint is_preset, bint is_begun
    ) noexcept nogil:
        if not is_preset:
            is_begun = begin_match(&self.plan, &self.catalog.table, &holder.scratch)
        if is_begun:
            run_match(&self.plan, &self.catalog.table, &holder.scratch)
        if dead != NULL:
            drop_dead(&self.plan, &holder.scratch, dead)

    cdef object _lend(self, ScratchHolder holder, answers):
        """Lets a match call the functions that answer definitions."""
        if answers is None:
            from matcher_ext.answers import VisitAnswers
            answers = VisitAnswers()
        answers.lend(holder, self)
        return answers

    def _lend_rows(self, ScratchHolder holder):
        """The same for the rows of a batch, each of which is answered anew."""
        from matcher_ext.answers import VisitAnswers
        return self._lend(holder, VisitAnswers(keeps=False))

    cdef int _preset(self, ScratchHolder holder, Overlay overlay, answers) except -1:
        """Replaced definitions answer from their new meaning, when they are asked."""
        cdef Scratch* scratch = &holder.scratch
        cdef size_t i
        if overlay.replaced.empty():
            return 0
        begin_graph_visit(&overlay.definitions.plan, &holder.graph)
        if overlay.definitions.answers and answers is not None:
            answers.tell_graph(holder, overlay.definitions)
        scratch.definitions = &overlay.definitions.plan
        scratch.graph = &holder.graph
        scratch.meanings = overlay.meanings.data()
        scratch.meaning_of = overlay.meaning_of.data()
        for i in range(overlay.replaced.size()):
            replace_slot(&self.plan, scratch, overlay.replaced[i])
        return 0

    cdef object _copy_matched(self, ScratchHolder holder):
        cdef Py_buffer view
        matched = make_array(count_matched(&holder.scratch), ID_TYPE)
        # Not a typed view: making one takes longer than matching a few thousand entries.
        PyObject_GetBuffer(matched, &view, PyBUF_SIMPLE)
        copy_ids(&self.plan, &holder.scratch, <int64_t*>view.buf)
        PyBuffer_Release(&view)
        return matched


cdef class Overlay:
    def __init__(self, Snapshot below, dead, Snapshot definitions, names, borrowed=()):
        """`dead` are ids of the snapshot below, `names` definitions that `definitions` replaces,
        `borrowed` reaches that the one below answers for both."""
        cdef uint32_t entry, slot, place, root
        cdef int negated
        for name in borrowed:
            encoded = name.encode()
            entry = find_plan_definition(&definitions.plan, encoded)
            slot = definitions.plan.definition_slots[2 * <size_t>entry]
            if slot != NOTHING:     # some entry asks for it
                self.wanted.push_back(
                    reach_of(&below.plan, find_plan_definition(&below.plan, encoded))
                )
                self.lent.push_back(slot)
        self.definitions = definitions
        definitions._thaw()
        self.dead.assign(len(below) // 64 + 1, 0)
        self.dead_count = len(dead)
        cdef const int64_t[::1] entries = below.entries_of(dead)
        cdef Py_ssize_t i
        for i in range(entries.shape[0]):
            if entries[i] < 0:
                raise UnknownIdError("a dead id is not in the index")
            self.dead[entries[i] >> 6] |= <uint64_t>1 << (entries[i] & 63)
        for name in names:
            encoded = name.encode()
            if find_plan_definition(&below.plan, encoded) == NOTHING:
                continue        # nothing below refers to it
            place = find_plan_definition(&below.plan, encoded)
            entry = find_plan_definition(&definitions.plan, encoded)
            root = definitions.plan.definitions[entry].root
            for negated in range(2):
                slot = below.plan.definition_slots[2 * <size_t>place + negated]
                if slot != NOTHING:
                    self.replace_slot(slot, root, negated)

    cdef void replace_slot(self, uint32_t slot, uint32_t root, bint negated):
        if self.meaning_of.size() <= slot:
            self.meaning_of.resize(slot + 1, 0)
        self.replaced.push_back(slot)
        self.meanings.push_back(Meaning(root, negated))
        self.meaning_of[slot] = <uint32_t>self.meanings.size()


cdef Snapshot make_snapshot():
    cdef Snapshot snapshot = Snapshot.__new__(Snapshot)
    snapshot.answers = ()
    snapshot.pool = []
    snapshot.counters = []
    snapshot.lock = threading.Lock()
    return snapshot


cdef Snapshot freeze_buffer(CompiledCatalog catalog, vector[char]* buffer):
    """Takes over a buffer that build_plan made."""
    cdef Snapshot snapshot = make_snapshot()
    cdef const char* wrong
    snapshot.catalog = catalog
    snapshot.owned.reserve(buffer.size())
    use_large_pages(snapshot.owned.data(), buffer.size())
    snapshot.owned.assign(buffer.begin(), buffer.end())
    buffer.clear()
    buffer.shrink_to_fit()
    wrong = read_header(snapshot.owned.data(), snapshot.owned.size(), &snapshot.plan)
    if wrong == NULL:
        wrong = check_plan(&snapshot.plan, &catalog.table)
    if wrong != NULL:
        raise AssertionError(f"freeze made a plan that cannot be read: {wrong.decode()}")
    return snapshot


cdef CompiledCatalog read_catalog(path, const char* buffer, const Header* header):
    cdef const char* start = buffer + header.offsets[<int>CATALOG]
    try:
        return compile_rows(start[:header.counts[<int>CATALOG]])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SnapshotError(f"{path} cannot be opened: its catalogue is malformed") from error


@lru_cache(maxsize=8)
def compile_rows(content):
    """A catalogue from its JSON. Snapshots of one index share it: it seldom changes."""
    return CompiledCatalog(tuple(tuple(row) for row in json.loads(content)))
