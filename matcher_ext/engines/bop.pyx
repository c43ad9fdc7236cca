"""Counts true predicates, then evaluates what reached its number (bop.pxd)."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.engines.face cimport Engine, bytes_of, emit, is_true, nested_bytes_of
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NormalForm, NormalNode

from matcher_ext.engines.limits import EngineLimitError

cdef enum:
    CONJ = 0x40000000           # .. | children
    DISJ = 0x20000000
    VALUE = 0x1FFFFFFF          # alone: a predicate

MAX_WORDS = 65535


cdef double count_words(const NormalForm* form, uint32_t root) noexcept nogil:
    cdef vector[double] counts
    cdef const NormalNode* node
    cdef uint32_t number, k
    counts.assign(root + 1, 1.0)
    for number in range(root + 1):
        node = &form.nodes[number]
        for k in range(node.count if node.kind == NORMAL_OR or node.kind == NORMAL_AND else 0):
            counts[number] += counts[form.edges[node.first + k]]
    return counts[root]


cdef class Bop(Engine):
    def __init__(self, catalog, *, max_words=MAX_WORDS):
        super().__init__(catalog)
        self.max_words = max_words

    cdef int _read(self, uint32_t root) except -1:
        needed = count_words(&self.form, root)
        if needed > self.max_words:
            raise EngineLimitError("max_words", self.max_words, needed)
        return 0

    cdef int _add(self, uint32_t slot, uint32_t root) except -1:
        cdef vector[uint32_t] node_of
        node_of.assign(self.form.nodes.size(), NOTHING)
        if self.words.size() <= slot:
            self.words.resize(slot + 1)
            self.needs.resize(slot + 1)
        self.words[slot].clear()
        self.needs[slot] = self._encode(root, slot, &node_of)
        self.words[slot].shrink_to_fit()
        return 0

    cdef uint32_t _encode(
        self, uint32_t node, uint32_t slot, vector[uint32_t]* node_of
    ) noexcept nogil:
        """Writes a node's words; returns how many true predicates it needs."""
        cdef NormalNode source = self.form.nodes[node]
        cdef uint32_t needs = 0, below, k
        if source.kind != NORMAL_AND and source.kind != NORMAL_OR:
            if node_of[0][node] == NOTHING:
                node_of[0][node] = self._hold(slot, node)
            self.words[slot].push_back(node_of[0][node])
            self._count_place(node_of[0][node], slot)
            return 1
        self.words[slot].push_back(source.count | (CONJ if source.kind == NORMAL_AND else DISJ))
        for k in range(source.count):
            below = self._encode(self.form.edges[source.first + k], slot, node_of)
            if source.kind == NORMAL_AND:
                needs += below
            else:
                needs = below if k == 0 else min(needs, below)
        return needs

    cdef void _count_place(self, uint32_t predicate, uint32_t slot) noexcept nogil:
        cdef Posting posting
        if self.postings.size() <= predicate:
            self.postings.resize(predicate + 1)
        cdef vector[Posting]* postings = &self.postings[predicate]
        # The slot that is inserted is the last one of a list, if it is there at all.
        if postings.size() and postings.back().slot == slot:
            postings[0][postings.size() - 1].places += 1    # `back()` would be a copy
            return
        posting.slot = slot
        posting.places = 1
        postings.push_back(posting)

    cdef int _remove(self, uint32_t slot) except -1:
        cdef vector[Posting]* postings
        cdef size_t i, k
        for i in range(self.held[slot].size()):
            postings = &self.postings[self.held[slot][i]]
            for k in range(postings.size()):
                if postings[0][k].slot == slot:
                    postings[0][k] = postings.back()
                    postings.pop_back()
                    break
        return 0

    cdef int _prepare(self) except -1:
        self.postings.resize(self.store.nodes.size())
        self.counted_at.resize(self.ids.size())
        self.counts.resize(self.ids.size())
        return 0

    cdef void _match(self) noexcept nogil:
        cdef const vector[Posting]* postings
        cdef uint32_t slot, before, at
        cdef size_t i, k
        self.candidates.clear()
        for i in range(self.found.size()):
            postings = &self.postings[self.found[i]]
            self.visited += postings.size()
            for k in range(postings.size()):
                slot = postings[0][k].slot
                before = self.counts[slot] if self.counted_at[slot] == self.signature else 0
                self.counted_at[slot] = self.signature
                self.counts[slot] = before + postings[0][k].places
                if before < self.needs[slot] <= self.counts[slot]:
                    self.candidates.push_back(slot)
        self.evaluated += self.candidates.size()
        for i in range(self.candidates.size()):
            at = 0
            if self._evaluate(self.words[self.candidates[i]].data(), &at):
                emit(self, self.candidates[i])

    cdef bint _evaluate(self, const uint32_t* words, uint32_t* at) noexcept nogil:
        """Evaluates all words of a node, since its length is not written."""
        cdef uint32_t word = words[at[0]], _k
        cdef bint is_and = (word & <uint32_t>CONJ) != 0
        cdef bint truth = is_and
        at[0] += 1
        if not is_and and not word & <uint32_t>DISJ:
            return is_true(self, word)
        for _k in range(word & <uint32_t>VALUE):
            if self._evaluate(words, at) != is_and:
                truth = not is_and
        return truth

    cdef size_t _count_nodes(self) noexcept nogil:
        cdef size_t total = 0, i
        for i in range(self.words.size()):
            total += self.words[i].size() if self.held[i].size() else 0
        return total

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            nested_bytes_of(self.words) + nested_bytes_of(self.postings) + bytes_of(self.needs)
            + bytes_of(self.counts) + bytes_of(self.counted_at)
        )

    cdef int _describe(self, dict stats) except -1:
        stats["evaluated"] = self.evaluated
        return 0
