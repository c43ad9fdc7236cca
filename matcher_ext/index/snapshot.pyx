"""Lets Python open a frozen index, match and count on it, and have it explain."""
from functools import partial
from pathlib import Path

import numpy

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.index.overlay cimport Overlay
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.matching cimport begin_match, match_visit, open_scratch, run_match
from matcher_ext.match.paths cimport copy_paths
from matcher_ext.match.results cimport copy_ids, count_matched, drop_dead
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.match.slots cimport preset_slot, replace_slot
from matcher_ext.plan.graph cimport begin_graph_visit
from matcher_ext.plan.plan_buffer cimport PlanBuffer
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.visit cimport clear_visit

cdef object make_array = numpy.empty
cdef object ID_TYPE = numpy.dtype(numpy.int64)
WORKING_BYTES = 512 << 20

cdef enum:
    # A match of fewer takes less time than waking the thread that waits for the GIL, which then
    # finds it taken again: with eight threads a request took 266 us of processor time when the GIL
    # was given away, 236 us when it was kept.
    FEW_ENTRIES = 50000


cdef class Snapshot(PlanBuffer):
    """A frozen index. Made by `ATree.freeze()` or `Snapshot.open(path)`, never changed."""

    def __cinit__(self):
        self.answers = ()
        self.pool = []
        self.counters = []

    @staticmethod
    def open(path, *, recheck=False):
        """Maps a file. Its checksum and every index in it are checked once per file and machine.

        The mark that says so lies beside the file (checked_marks.py says what it promises). With
        `recheck` they are checked in any case.
        """
        cdef Snapshot snapshot = make_snapshot()
        snapshot._map(Path(path), recheck)
        return snapshot

    def match(self, visit, Overlay overlay=None):
        """Returns the ids whose expressions are true of the visit, ascending."""
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
        """Makes the same index, where `function` says if these definitions are true:
        answers.pxd."""
        from matcher_ext.index.answers import SlotAnswers, bind_answers
        return bind_answers(self, SlotAnswers(names, function, asks))

    def match_ids(self, visit, Overlay overlay=None, answers=None):
        """Returns the same ids as a numpy array, in no promised order."""
        cdef ScratchHolder holder = self._match(visit, overlay, answers)
        matched = self._copy_matched(holder)
        self.pool.append(holder)
        return matched

    def match_with_warnings(self, visit, Overlay overlay=None, answers=None):
        """Returns (ids as an ascending numpy array, attributes with a value of a wrong type)."""
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
        """Returns the same, and the Paths of the entries that ask for a reach. `beside` is what the
        overlay was made with: its entries are matched as well, with reaches lent from here."""
        cdef ScratchHolder holder = self._match(visit, overlay, None, True)
        cdef ScratchHolder changed
        cdef uint32_t attribute
        matched = self._copy_matched(holder)
        if beside is not None and len(beside):
            changed = beside._match_beside(overlay, holder)
            matched = numpy.concatenate([matched, beside._copy_matched(changed)])
            beside.pool.append(changed)
        matched.sort()
        malformed = tuple(
            self.catalog.names[attribute] for attribute in holder.scratch.visit.malformed
        )
        paths = copy_paths(self, &self.plan.routes, &holder.scratch)
        self.pool.append(holder)
        return matched, malformed, paths

    cdef ScratchHolder _match_beside(self, Overlay overlay, ScratchHolder below):
        """Matches a visit that was matched below, with reaches that the walk below has answered.
        Both have one catalogue."""
        cdef ScratchHolder holder = self._take()
        cdef size_t i, k
        holder.scratch.visit = below.scratch.visit
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
        return holder

    def stats(self):
        """Sizes, and the work of all matches that have ended: predicates `tested` by themselves,
        slots `answered`."""
        cdef ScratchHolder holder
        cdef uint64_t tested = 0, answered = 0
        for holder in list(self.pool):
            tested += holder.scratch.tested
            answered += holder.scratch.answered
        return {**PlanBuffer.stats(self), "tested": tested, "answered": answered}

    def unknown_attributes(self, visit):
        """Lists names in the visit that the catalogue does not have; matching ignores them."""
        return tuple(name for name in visit if name not in self.catalog.numbers)

    def why_not(self, visit, ids):
        """Returns for each id the conditions that keep its expression from being true of the visit.

        They are a list of (definition or None, condition, False or None for undefined); empty: it
        matches. An alternative counts as failed with all of its conditions. A required attribute
        that the visit lacks fails everything.
        """
        from matcher_ext.index import reasons
        return reasons.why_not(self, visit, ids)

    def to_graphviz(self, entry_id):
        """Draws an entry's expression as the index holds it, in Graphviz's language."""
        from matcher_ext.index import reasons
        return reasons.to_graphviz(self, entry_id)

    def match_batch(self, record_batch):
        """Returns (offsets, ids): the ids of row i are ids[offsets[i] : offsets[i + 1]]."""
        from matcher_ext.index import batch_calls
        return batch_calls.match_batch(self, record_batch)

    def count_batch(
        self, record_batch, groups=None, *, group_count=None, working_bytes=WORKING_BYTES
    ):
        """Counts the matching rows per id, in the order of `ids`.

        `groups` gives each row a code from 0 to group_count - 1 (a negative one leaves the row
        out); the answer then has one line per code. Beside the answer, and whatever the size of
        index and batch, no more than about `working_bytes` of memory are used.
        """
        from matcher_ext.index import batch_calls
        return batch_calls.count_batch(self, record_batch, groups, group_count, working_bytes)

    def table_parts(self):
        """Says what a VisitTable reads of this index."""
        from matcher_ext.index.answers import answer_visit
        from matcher_ext.tables.parts import TableParts
        answered = frozenset(name for answers in self.answers for name in answers.names)
        return TableParts(self, None, partial(answer_visit, self), answered=answered)

    def malformed_rows(self, record_batch):
        """Counts the attributes of each row that carried a value of a wrong type."""
        from matcher_ext.index import batch_calls
        return batch_calls.malformed_rows(self, record_batch)

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
        read_visit(self.catalog, visit, &holder.scratch.visit)
        self._match_read(holder, overlay, answers, wants_paths)
        return holder

    cdef int _match_read(
        self, ScratchHolder holder, Overlay overlay, answers=None, bint wants_paths=False
    ) except -1:
        """Matches the visit that is in the holder."""
        cdef const vector[uint64_t]* dead = NULL
        cdef bint is_preset = overlay is not None and not overlay.replaced.empty()
        cdef bint is_begun = False
        if overlay is not None:
            overlay.check_below(self)
        holder.scratch.wants_paths = wants_paths
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
        return 0

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
            from matcher_ext.index.answers import VisitAnswers
            answers = VisitAnswers()
        answers.lend(holder, self)
        return answers

    def _lend_rows(self, ScratchHolder holder):
        """Lets the rows of a batch call the functions; each is answered anew."""
        from matcher_ext.index.answers import VisitAnswers
        return self._lend(holder, VisitAnswers(keeps=False))

    cdef int _preset(self, ScratchHolder holder, Overlay overlay, answers) except -1:
        """Lets replaced definitions answer from their new meaning, when they are asked."""
        cdef Snapshot definitions = overlay.definitions
        cdef Scratch* scratch = &holder.scratch
        cdef size_t i
        if overlay.replaced.empty():
            return 0
        begin_graph_visit(&definitions.plan, &holder.graph)
        if definitions.answers and answers is not None:
            answers.tell_graph(holder, definitions)
        scratch.definitions = &definitions.plan
        scratch.graph = &holder.graph
        scratch.meanings = overlay.meanings.data()
        scratch.meaning_of = overlay.meaning_of.data()
        for i in range(overlay.replaced.size()):
            replace_slot(&self.plan, scratch, overlay.replaced[i])
        return 0

    cdef object _copy_matched(self, ScratchHolder holder):
        cdef Py_buffer view
        matched = make_array(count_matched(&holder.scratch), ID_TYPE)
        # Avoids a typed view: making one takes longer than matching a few thousand entries.
        PyObject_GetBuffer(matched, &view, PyBUF_SIMPLE)
        copy_ids(&self.plan, &holder.scratch, <int64_t*>view.buf)
        PyBuffer_Release(&view)
        return matched


cdef Snapshot make_snapshot():
    return Snapshot.__new__(Snapshot)


cdef Snapshot freeze_buffer(CompiledCatalog catalog, vector[char]* buffer):
    cdef Snapshot snapshot = make_snapshot()
    snapshot._take_over(catalog, buffer)
    return snapshot
