"""Makes and matches the paper's dynamic A-Tree with its switches (paper.pxd)."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.language.normal cimport normalise_texts
from matcher_ext.machine.hashing cimport mix
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.nodes.shared_nodes cimport begin_form, intern, open_store, release
from matcher_ext.nodes.store cimport StoredNode, view_store
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NORMAL_TRUE, NormalForm, NormalNode, clear_form,
)
from matcher_ext.values.predicate cimport FALSE, PRESENT, TRUE, UNDEFINED, Predicate, Truth
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport has_required

from matcher_ext.language.reading import check_text
from matcher_ext.values.refusals import DuplicateIdError, UnknownDefinitionError, UnknownIdError


cdef inline bint is_inner(const StoredNode* node) noexcept nogil:
    return node.kind == NORMAL_AND or node.kind == NORMAL_OR


cdef void make_binary(NormalForm* form) noexcept nogil:
    """Makes each node of more than two children a chain of nodes of two."""
    cdef NormalNode made
    cdef size_t count = form.nodes.size(), i
    cdef uint32_t first, children, k
    for i in range(count):
        made = form.nodes[i]
        first = made.first
        children = made.count
        if made.kind != NORMAL_AND and made.kind != NORMAL_OR or children <= 2:
            continue
        for k in range(1, children):
            made.hash = mix(form.nodes[form.edges[first]].hash, made.kind) if k == 1 else made.hash
            made.hash = mix(made.hash, form.nodes[form.edges[first + k]].hash)
            made.first = <uint32_t>form.edges.size()
            made.count = 2
            form.edges.push_back(
                form.edges[first] if k == 1 else <uint32_t>(form.nodes.size() - 1)
            )
            form.edges.push_back(form.edges[first + k])
            if k + 1 < children:
                form.nodes.push_back(made)
        form.nodes[i] = made


cdef class PaperTree:
    def __init__(
        self, catalog, *, sharing=True, binary=False, zero_suppression=True, on_demand=True,
        reorganise=False, self_adjust=False, search_cap=64,
    ):
        self.catalog = getattr(catalog, "compiled", catalog)
        self.binary = binary
        self.zero_suppression = zero_suppression
        self.on_demand = on_demand
        open_store(&self.store)
        self.store.sharing = sharing
        self.store.reorganise = reorganise and sharing
        self.store.self_adjust = self_adjust and sharing
        self.store.search_cap = search_cap
        self.is_stale = True

    def __len__(self):
        return self.roots.size()

    def insert(self, int64_t entry_id, str text):
        """Adds one entry; definitions are not for this tree."""
        cdef const char* start
        cdef Py_ssize_t length = 0
        cdef size_t size
        if self.roots.count(entry_id):
            raise DuplicateIdError(f"id {entry_id} is already in the index")
        check_text(self.catalog, text, composed=True)
        start = PyUnicode_AsUTF8AndSize(text, &length)
        size = <size_t>length
        clear_form(&self.form)
        normalise_texts(&self.catalog.table, &start, &size, 1, True, &self.tree, &self.form)
        if self.form.names.size():
            raise UnknownDefinitionError("this tree takes no definitions")
        if self.binary:
            make_binary(&self.form)
        begin_form(&self.store, &self.form)
        self.roots[entry_id] = intern(&self.store, &self.form, self.form.roots[0])
        self.is_stale = True

    def delete(self, int64_t entry_id):
        """Removes one entry (algorithm 5)."""
        if not self.roots.count(entry_id):
            raise UnknownIdError(f"id {entry_id} is not in the index")
        release(&self.store, self.roots[entry_id])
        self.roots.erase(entry_id)
        self.is_stale = True

    def match(self, visit):
        """Returns the ids whose expressions are true of the visit, ascending (algorithm 6)."""
        read_visit(self.catalog, visit, &self.visit)
        self.visits += 1
        with nogil:
            if self.is_stale:
                self._prepare()
            self._match()
            sort(self.matched.begin(), self.matched.end())
        return list(self.matched)

    def stats(self):
        cdef uint32_t levels = 0
        cdef size_t i
        if self.is_stale:
            self._prepare()
        for i in range(self.nodes.size()):
            levels = max(levels, self.nodes[i].level)
        return {
            "entries": self.roots.size(),
            "nodes": self.store.live,
            "edges": self.store.live_links,
            "levels": levels,
            "predicates": self.store.predicates.size() - self.store.free_predicates.size(),
            "bytes": self._count_bytes(),
            "visits": self.visits,
            "tested": self.tested,
            "visited": self.visited,
        }

    def _count_bytes(self):
        return (
            self.store.nodes.capacity() * sizeof(StoredNode)
            + self.store.predicates.capacity() * sizeof(Predicate)
            + self.store.words.capacity() * sizeof(int64_t) + self.store.bytes.capacity()
            + self.nodes.capacity() * sizeof(PaperNode)
            + self.entries.capacity() * sizeof(int64_t)
            + sizeof(uint32_t) * (
                self.store.links.capacity() + self.store.table.capacity() + self.parents.capacity()
            )
        )

    # What matching needs.

    cdef void _prepare(self) noexcept nogil:
        cdef const StoredNode* node
        cdef const Predicate* predicate
        cdef PaperNode empty
        cdef uint32_t i
        memset(&empty, 0, sizeof(empty))
        empty.access = NOTHING
        self.nodes.assign(self.store.nodes.size() + 1, empty)
        self.leaves.assign(self.catalog.table.attributes.size() + 1, vector[uint32_t]())
        self.always.clear()
        self._link_parents()
        self._list_entries()
        for i in range(<uint32_t>self.store.nodes.size()):
            node = &self.store.nodes[i]
            if node.uses == 0:
                continue
            self._find_level(i)
            if node.kind == NORMAL_PREDICATE:
                predicate = &self.store.predicates[node.first]
                if predicate.test == PRESENT:
                    self.leaves.back().push_back(i)
                else:
                    self.leaves[predicate.attribute].push_back(i)
            elif node.kind == NORMAL_TRUE:
                self.nodes[i].truth = TRUE
                self.always.push_back(i)
            elif is_inner(node):
                self._choose_access(i)
        self.is_stale = False

    cdef void _link_parents(self) noexcept nogil:
        """Counts parents, then fills from the back, so that each first stands where it belongs."""
        cdef const StoredNode* node
        cdef uint32_t total = 0, i, k
        cdef bint counting
        for counting in range(1, -1, -1):
            for i in range(<uint32_t>self.store.nodes.size()):
                node = &self.store.nodes[i]
                for k in range(node.count if node.uses and is_inner(node) else 0):
                    if counting:
                        self.nodes[self.store.links[node.first + k]].parents += 1
                    else:
                        self.nodes[self.store.links[node.first + k]].parents -= 1
                        self.parents[self.nodes[self.store.links[node.first + k]].parents] = i
            if counting:
                for i in range(<uint32_t>self.nodes.size()):
                    total += self.nodes[i].parents
                    self.nodes[i].parents = total
                self.parents.resize(total)

    cdef void _list_entries(self) noexcept nogil:
        cdef vector[pair[uint32_t, int64_t]] ranked
        cdef pair[uint32_t, int64_t] ranked_item
        cdef pair[int64_t, uint32_t] item
        cdef size_t at = 0
        cdef uint32_t i
        for item in self.roots:
            ranked_item.first = item.second
            ranked_item.second = item.first
            ranked.push_back(ranked_item)
        sort(ranked.begin(), ranked.end())
        self.entries.clear()
        for i in range(<uint32_t>self.nodes.size()):
            self.nodes[i].entries = <uint32_t>at
            while at < ranked.size() and ranked[at].first == i:
                self.entries.push_back(ranked[at].second)
                at += 1

    cdef uint32_t _find_level(self, uint32_t node) noexcept nogil:
        cdef const StoredNode* stored = &self.store.nodes[node]
        cdef uint32_t level = 1, i
        if self.nodes[node].level == 0:
            for i in range(stored.count if is_inner(stored) else 0):
                level = max(level, self._find_level(self.store.links[stored.first + i]) + 1)
            self.nodes[node].level = level
        return self.nodes[node].level

    cdef void _choose_access(self, uint32_t node) noexcept nogil:
        """Chooses the child with the fewest parents; the paper draws one."""
        cdef const StoredNode* stored = &self.store.nodes[node]
        cdef uint32_t fewest = NOTHING, child, count, i
        for i in range(stored.count):
            child = self.store.links[stored.first + i]
            count = self.nodes[child + 1].parents - self.nodes[child].parents
            if count < fewest:
                fewest = count
                self.nodes[node].access = child

    # Algorithm 6: matching, level by level.

    cdef void _match(self) noexcept nogil:
        cdef size_t level, i
        self.matched.clear()
        if not has_required(&self.catalog.table, &self.visit):
            return
        self.signature += 1
        if self.queues.size() < 2:
            self.queues.resize(2)
        for i in range(self.visit.carried.size()):
            self._queue_leaves(&self.leaves[self.visit.carried[i]])
        self._queue_leaves(&self.leaves.back())
        for i in range(self.always.size()):
            self._process(self.always[i])
        level = 1
        while level < self.queues.size():
            i = 0
            while i < self.queues[level].size():
                self._process(self.queues[level][i])
                i += 1
            self.queues[level].clear()
            level += 1

    cdef void _queue_leaves(self, const vector[uint32_t]* leaves) noexcept nogil:
        cdef Truth truth
        cdef uint32_t node
        cdef size_t i
        self.tested += leaves.size()
        for i in range(leaves.size()):
            node = leaves[0][i]
            truth = test_predicate(
                view_store(&self.store), &self.store.predicates[self.store.nodes[node].first],
                &self.catalog.table, &self.visit,
            )
            if truth == TRUE or truth == FALSE and not self.zero_suppression:
                self.nodes[node].truth = truth
                self.nodes[node].signature = self.signature
                self.queues[1].push_back(node)

    cdef uint8_t _evaluate(self, uint32_t node) noexcept nogil:
        cdef const StoredNode* stored = &self.store.nodes[node]
        cdef uint8_t settles = FALSE if stored.kind == NORMAL_AND else TRUE
        cdef uint8_t truth = TRUE if stored.kind == NORMAL_AND else FALSE
        cdef const PaperNode* child
        cdef uint32_t i
        for i in range(stored.count):
            child = &self.nodes[self.store.links[stored.first + i]]
            # Not reached: undefined, or false where false is not propagated.
            if child.signature != self.signature:
                truth = UNDEFINED
            elif child.truth == settles:
                return settles
            elif child.truth == UNDEFINED:
                truth = UNDEFINED
        return truth

    cdef void _process(self, uint32_t node) noexcept nogil:
        """Evaluates a node whose children are done; its truth goes to the parents that ask."""
        cdef PaperNode* current = &self.nodes[node]
        cdef PaperNode* parent
        cdef uint32_t i, number
        self.visited += 1
        if is_inner(&self.store.nodes[node]):
            current.truth = self._evaluate(node)
            current.signature = self.signature
        if current.truth == TRUE:
            self.matched.insert(
                self.matched.end(), self.entries.begin() + current.entries,
                self.entries.begin() + self.nodes[node + 1].entries,
            )
        elif current.truth == UNDEFINED or self.zero_suppression:
            return
        for i in range(current.parents, self.nodes[node + 1].parents):
            number = self.parents[i]
            parent = &self.nodes[number]
            if parent.queued == self.signature or (
                self.on_demand and self.store.nodes[number].kind == NORMAL_AND
                and parent.access != node
            ):
                continue
            parent.queued = self.signature
            if self.queues.size() <= parent.level:
                self.queues.resize(parent.level + 1)
            self.queues[parent.level].push_back(number)
