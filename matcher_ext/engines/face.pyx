"""Keeps entries, dictionary and predicate stage of every published matcher (face.pxd)."""
import json

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector
from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

from cpython.unicode cimport PyUnicode_AsUTF8AndSize

from matcher_ext.freeze.building cimport build_plan
from matcher_ext.freeze.draft cimport Entry
from matcher_ext.index.snapshot cimport freeze_buffer
from matcher_ext.language.normal cimport normalise_texts
from matcher_ext.machine.hashing cimport mix, sort_by_hash
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.matching cimport match_visit
from matcher_ext.match.results cimport copy_ids, count_matched
from matcher_ext.nodes.shared_nodes cimport begin_form, intern, open_store, release
from matcher_ext.nodes.store cimport view_store
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_PREDICATE, NORMAL_TRUE, NormalNode, clear_form,
    node_equal,
)
from matcher_ext.values.predicate cimport TRUE
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport has_required

from matcher_ext.language.reading import check_text
from matcher_ext.values.refusals import DuplicateIdError, UnknownDefinitionError, UnknownIdError


cdef uint64_t read_clock() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return <uint64_t>now.tv_sec * 1000000000 + <uint64_t>now.tv_nsec


cdef class Engine:
    def __init__(self, catalog):
        self.catalog = getattr(catalog, "compiled", catalog)
        open_store(&self.store)
        self.is_stale = True

    def __len__(self):
        return self.slots.size()

    def insert(self, int64_t entry_id, expression):
        """Adds one entry. The id must be new."""
        cdef uint32_t slot, root
        if self.slots.count(entry_id):
            raise DuplicateIdError(f"id {entry_id} is already in the index")
        root = self._parse(getattr(expression, "text", expression))
        if self.form.nodes[root].kind != NORMAL_TRUE and self.form.nodes[root].kind != NORMAL_FALSE:
            self._read(root)
        begin_form(&self.store, &self.form)
        slot = self._take_slot(entry_id)
        try:
            if self.form.nodes[root].kind == NORMAL_TRUE:
                self.always.push_back(slot)
            elif self.form.nodes[root].kind != NORMAL_FALSE:
                self._add(slot, root)
        except BaseException:
            self._release(slot)
            raise
        self.is_stale = True

    def insert_many(self, ids, expressions):
        """Adds many entries, or none at all if any of them is refused."""
        done = []
        try:
            for entry_id, expression in zip(ids, expressions, strict=True):
                self.insert(entry_id, expression)
                done.append(entry_id)
        except BaseException:
            for entry_id in done:
                self.delete(entry_id)
            raise

    def delete(self, int64_t entry_id):
        """Removes one entry. The id must be present."""
        cdef uint32_t slot
        cdef size_t i
        if not self.slots.count(entry_id):
            raise UnknownIdError(f"id {entry_id} is not in the index")
        slot = self.slots[entry_id]
        for i in range(self.always.size()):
            if self.always[i] == slot:
                self.always[i] = self.always.back()
                self.always.pop_back()
                break
        self._remove(slot)
        self._release(slot)
        self.is_stale = True

    def match(self, visit):
        """Returns the ids whose expressions are true of the visit, ascending."""
        cdef vector[int64_t] answer
        cdef size_t i
        self.prepare()
        read_visit(self.catalog, visit, &self.holder.scratch.visit)
        self.visits += 1
        self.signature += 1
        self.matched.clear()
        with nogil:
            if has_required(&self.catalog.table, &self.holder.scratch.visit):
                for i in range(self.always.size()):
                    emit(self, self.always[i])
                if not self.asks:
                    self._find_predicates()
                self._match()
            for i in range(self.matched.size()):
                answer.push_back(self.ids[self.matched[i]])
            sort(answer.begin(), answer.end())
        return [answer[i] for i in range(answer.size())]

    def prepare(self):
        """Makes what matching needs, if something changed; the next match would do it."""
        if self.is_stale:
            self._freeze_predicates()
            self.true_at.resize(self.store.nodes.size())
            self.asked_at.resize(self.store.nodes.size())
            self.matched_at.resize(self.ids.size())
            self._prepare()
            self.is_stale = False

    def stats(self):
        """Returns sizes, and the work that was counted so far."""
        self.prepare()
        stats = {
            "entries": self.slots.size(),
            "predicates": self.store.predicates.size() - self.store.free_predicates.size(),
            "nodes": self._count_nodes(),
            "bytes": self._count_bytes() + self._count_shared_bytes(),
            "visits": self.visits,
            "tested": self.tested,
            "visited": self.visited,
        }
        self._describe(stats)
        return stats

    def _parse(self, str text):
        """Brings a text into normal form; returns its root."""
        cdef Py_ssize_t length = 0
        cdef const char* start = PyUnicode_AsUTF8AndSize(text, &length)
        cdef size_t size = <size_t>length
        clear_form(&self.form)
        normalise_texts(&self.catalog.table, &start, &size, 1, True, &self.tree, &self.form)
        if self.form.roots[0] == NOTHING:
            check_text(self.catalog, text, composed=True)
        if self.form.names.size():
            raise UnknownDefinitionError("published matchers take no definitions")
        self._share_predicates()
        return self.form.roots[0]

    def _count_shared_bytes(self):
        """Counts the dictionary and, where there is one, the frozen predicate stage."""
        return (
            bytes_of(self.store.nodes) + bytes_of(self.store.links) + bytes_of(self.store.table)
            + bytes_of(self.store.predicates) + bytes_of(self.store.words)
            + bytes_of(self.store.bytes) + bytes_of(self.ids) + nested_bytes_of(self.held)
            + bytes_of(self.stage.owned)
        )

    # Stands in for what an engine does: this one matches nothing.

    cdef int _read(self, uint32_t root) except -1:
        return 0

    cdef int _add(self, uint32_t slot, uint32_t root) except -1:
        return 0

    cdef int _remove(self, uint32_t slot) except -1:
        return 0

    cdef int _prepare(self) except -1:
        return 0

    cdef void _match(self) noexcept nogil:
        pass

    cdef size_t _count_nodes(self) noexcept nogil:
        return self.store.live

    cdef size_t _count_bytes(self) noexcept nogil:
        return 0

    cdef int _describe(self, dict stats) except -1:
        return 0

    # Serves the engines: what they may use.

    cdef uint32_t _hold(self, uint32_t slot, uint32_t form_node) noexcept nogil:
        """Finds or makes the node of a predicate or conjunction of the form; the slot owns a use of
        it."""
        cdef uint32_t node = intern(&self.store, &self.form, form_node)
        self.held[slot].push_back(node)
        return node

    cdef uint32_t _join(self, const vector[uint32_t]* predicates) noexcept nogil:
        """Adds a conjunction of predicates of the form to the form, unless it is one predicate."""
        cdef NormalNode made
        cdef uint32_t first = <uint32_t>self.form.edges.size(), i
        if predicates.size() == 1:
            return predicates[0][0]
        self.form.edges.insert(self.form.edges.end(), predicates.begin(), predicates.end())
        sort_by_hash(
            self.form.edges.data() + first, self.form.edges.data() + self.form.edges.size(),
            self.form.nodes.data(),
        )
        made.hash = NORMAL_AND
        for i in range(<uint32_t>predicates.size()):
            made.hash = mix(made.hash, self.form.nodes[self.form.edges[first + i]].hash)
        made.first = first
        made.count = <uint32_t>predicates.size()
        made.kind = NORMAL_AND
        made.negated = 0
        made.part = NOTHING
        self.form.nodes.push_back(made)
        return <uint32_t>(self.form.nodes.size() - 1)

    cdef void _share_predicates(self) noexcept nogil:
        """Makes equal predicates of the form one node, so that its number says which it is."""
        cdef vector[uint32_t] distinct
        cdef uint32_t child
        cdef size_t i, k
        for i in range(self.form.edges.size()):
            child = self.form.edges[i]
            if self.form.nodes[child].kind != NORMAL_PREDICATE:
                continue
            k = 0
            while k < distinct.size() and not node_equal(
                &self.form, distinct[k], &self.form, child
            ):
                k += 1
            if k == distinct.size():
                distinct.push_back(child)
            self.form.edges[i] = distinct[k]

    cdef bint _ask(self, uint32_t predicate) noexcept nogil:
        """Tests a predicate, at most once for each visit."""
        if self.asked_at[predicate] != self.signature:
            self.asked_at[predicate] = self.signature
            self.tested += 1
            if TRUE == test_predicate(
                view_store(&self.store),
                &self.store.predicates[self.store.nodes[predicate].first],
                &self.catalog.table, &self.holder.scratch.visit,
            ):
                self.true_at[predicate] = self.signature
        return self.true_at[predicate] == self.signature

    # Slots.

    cdef uint32_t _take_slot(self, int64_t entry_id) except? 0:
        cdef uint32_t slot
        if self.free_slots.size():
            slot = self.free_slots.back()
            self.free_slots.pop_back()
        else:
            slot = <uint32_t>self.ids.size()
            self.ids.push_back(0)
            self.held.resize(slot + 1)
        self.ids[slot] = entry_id
        self.slots[entry_id] = slot
        return slot

    cdef int _release(self, uint32_t slot) except -1:
        cdef size_t i
        for i in range(self.held[slot].size()):
            release(&self.store, self.held[slot][i])
        self.held[slot].clear()
        self.held[slot].shrink_to_fit()
        self.slots.erase(self.ids[slot])
        self.free_slots.push_back(slot)
        return 0

    # The predicate stage.

    cdef int _freeze_predicates(self) except -1:
        """Freezes each predicate as an entry of its own, whose id is its node's number."""
        cdef vector[Entry] entries
        cdef Entry entry
        cdef uint32_t node
        cdef vector[char] buffer
        cdef bytes rows
        cdef const char* catalog
        cdef size_t length
        if self.asks and self.stage is not None:
            return 0
        rows = json.dumps(self.catalog.rows).encode()
        catalog, length = rows, len(rows)
        with nogil:
            for node in range(0 if self.asks else <uint32_t>self.store.nodes.size()):
                if self.store.nodes[node].uses and self.store.nodes[node].kind == NORMAL_PREDICATE:
                    entry.id = node
                    entry.root = node
                    entries.push_back(entry)
            build_plan(
                &self.store, &self.catalog.table, &entries, NULL, NULL, catalog, length, &buffer
            )
        self.stage = freeze_buffer(self.catalog, &buffer)
        self.holder = self.stage._take()
        return 0

    cdef void _find_predicates(self) noexcept nogil:
        cdef size_t i
        match_visit(&self.stage.plan, &self.catalog.table, &self.holder.scratch)
        self.truths.resize(count_matched(&self.holder.scratch))
        copy_ids(&self.stage.plan, &self.holder.scratch, self.truths.data())
        self.found.resize(self.truths.size())
        for i in range(self.truths.size()):
            self.found[i] = <uint32_t>self.truths[i]
            self.true_at[self.found[i]] = self.signature
