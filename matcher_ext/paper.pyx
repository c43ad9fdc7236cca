"""The paper's dynamic A-Tree with its switches. See paper.pxd for what it is for."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.algorithm cimport binary_search, includes, sort, unique
from libcpp.vector cimport vector

from matcher_ext.arena cimport (
    FALSE,
    NORMAL_AND,
    NORMAL_FALSE,
    NORMAL_OR,
    NORMAL_PREDICATE,
    NORMAL_REFERENCE,
    NORMAL_TRUE,
    NOTHING,
    TRUE,
    UNDEFINED,
    NormalForm,
    NormalNode,
    Predicate,
    PredicateView,
    Truth,
    clear_form,
    mix,
    predicate_copy,
    predicate_equal,
    view_predicates,
)
from matcher_ext.normal cimport normalise_texts
from matcher_ext.visit cimport is_eligible, read_visit, test_predicate

from matcher_ext.language import check_text
from matcher_ext.refusals import DuplicateIdError, UnknownDefinitionError, UnknownIdError


cdef void remove_one(vector[uint32_t]* values, uint32_t value) noexcept nogil:
    cdef size_t i
    for i in range(values.size()):
        if values[0][i] == value:
            values[0][i] = values.back()
            values.pop_back()
            return


cdef bint are_equal(const vector[uint32_t]* a, const vector[uint32_t]* b) noexcept nogil:
    return a.size() == b.size() and (
        memcmp(a.data(), b.data(), a.size() * sizeof(uint32_t)) == 0
    )


cdef class PaperTree:
    def __init__(
        self, catalog, *, sharing=True, binary=False, zero_suppression=True, on_demand=True,
        reorganise=False, self_adjust=False, search_cap=64,
    ):
        self.catalog = getattr(catalog, "compiled", catalog)
        self.sharing = sharing
        self.binary = binary
        self.zero_suppression = zero_suppression
        self.on_demand = on_demand
        self.reorganise = reorganise
        self.self_adjust = self_adjust
        self.search_cap = search_cap
        self.table.assign(1024, NOTHING)
        self.leaves.resize(len(self.catalog))

    def __len__(self):
        return self.roots.size()

    def insert(self, int64_t entry_id, str text):
        """Adds one entry; definitions are not for this tree."""
        cdef const char* start
        cdef Py_ssize_t length = 0
        cdef size_t size
        cdef uint32_t root
        if self.roots.count(entry_id):
            raise DuplicateIdError(f"id {entry_id} is already in the index")
        check_text(self.catalog, text, composed=True)
        start = PyUnicode_AsUTF8AndSize(text, &length)
        size = <size_t>length
        clear_form(&self.form)
        normalise_texts(&self.catalog.table, &start, &size, 1, True, &self.tree, &self.form)
        if self.form.names.size():
            raise UnknownDefinitionError("this tree takes no definitions")
        root = self._insert(self.form.roots[0])
        self.nodes[root].entries.push_back(entry_id)
        self.roots[entry_id] = root
        if self.nodes[root].kind == NORMAL_TRUE and self.nodes[root].entries.size() == 1:
            self.always.push_back(root)

    def delete(self, int64_t entry_id):
        """Removes one entry (algorithm 5)."""
        cdef uint32_t root
        cdef size_t i
        if not self.roots.count(entry_id):
            raise UnknownIdError(f"id {entry_id} is not in the index")
        root = self.roots[entry_id]
        self.roots.erase(entry_id)
        for i in range(self.nodes[root].entries.size()):
            if self.nodes[root].entries[i] == entry_id:
                self.nodes[root].entries[i] = self.nodes[root].entries.back()
                self.nodes[root].entries.pop_back()
                break
        if self.nodes[root].kind == NORMAL_TRUE and self.nodes[root].entries.empty():
            remove_one(&self.always, root)
        self._release(root)

    def match(self, visit):
        """The ids whose expressions are true of the visit, ascending (algorithm 6)."""
        read_visit(self.catalog, visit, &self.visit)
        with nogil:
            self._match()
            sort(self.matched.begin(), self.matched.end())
        return list(self.matched)

    def stats(self):
        cdef size_t i
        cdef size_t links = 0
        cdef uint32_t levels = 0
        for i in range(self.nodes.size()):
            if self.nodes[i].uses:
                links += self.nodes[i].children.size()
                levels = max(levels, self.nodes[i].level)
        return {"entries": self.roots.size(), "nodes": self.live, "edges": links, "levels": levels}

    # Algorithms 1 and 4: insertion. Each call gives the caller one use of the node.

    cdef uint32_t _insert(self, uint32_t number) noexcept nogil:
        cdef const NormalNode* source = &self.form.nodes[number]
        cdef vector[uint32_t] content
        cdef uint32_t i, node
        if source.kind == NORMAL_PREDICATE:
            return self._insert_predicate(source.first, source.hash)
        if source.kind == NORMAL_TRUE or source.kind == NORMAL_FALSE:
            return self._insert_inner(source.kind, &content)
        for i in range(source.count):
            node = self._insert(self.form.edges[source.first + i])
            content.push_back(node)
            if self.binary and content.size() == 2:
                node = self._insert_inner(source.kind, &content)
                content.clear()
                content.push_back(node)
        if self.binary:
            return content[0]
        return self._insert_inner(source.kind, &content)

    cdef uint32_t _insert_predicate(self, uint32_t predicate, uint64_t hash) noexcept nogil:
        cdef PredicateView own
        cdef uint64_t mask = self.table.size() - 1
        cdef uint64_t slot = hash & mask
        cdef uint32_t node
        own.words = self.words.data()
        own.bytes = self.bytes.data()
        own.predicates = self.predicates.data()
        while self.sharing and self.table[slot] != NOTHING:
            node = self.table[slot]
            if self.nodes[node].kind == NORMAL_PREDICATE and predicate_equal(
                own, &self.predicates[self.nodes[node].predicate],
                view_predicates(&self.form), &self.form.predicates[predicate],
            ):
                self.nodes[node].uses += 1
                return node
            slot = (slot + 1) & mask
        node = self._new_node(NORMAL_PREDICATE, hash)
        self.nodes[node].level = 1
        self.nodes[node].predicate = predicate_copy(
            view_predicates(&self.form), &self.form.predicates[predicate],
            &self.predicates, &self.words, &self.bytes,
        )
        self.leaves[self.form.predicates[predicate].attribute].push_back(node)
        self._place(node)
        return node

    cdef uint32_t _insert_inner(self, uint8_t kind, vector[uint32_t]* content) noexcept nogil:
        """Takes over the uses of its children."""
        cdef uint64_t hash = mix(7, kind)
        cdef vector[uint32_t] children
        cdef uint32_t node
        cdef size_t i
        sort(content.begin(), content.end())
        for i in range(content.size()):
            hash = mix(hash, content[0][i])
        node = self._find(kind, content, hash) if self.sharing else NOTHING
        if node != NOTHING:
            self.nodes[node].uses += 1
        else:
            children = content[0]
            if self.reorganise and content.size() > 2:
                self._reorganise(kind, content, &children)
            node = self._new_node(kind, hash)
            self.nodes[node].content = content[0]
            for i in range(children.size()):
                self._link(node, children[i])
            self._raise_level(node)
            self._choose_access(node)
            self._place(node)
            if self.self_adjust and content.size() >= 2:
                self._self_adjust(node)
        for i in range(content.size()):
            self._release(content[0][i])
        return node

    cdef uint32_t _find(
        self, uint8_t kind, const vector[uint32_t]* content, uint64_t hash
    ) noexcept nogil:
        cdef uint64_t mask = self.table.size() - 1
        cdef uint64_t slot = hash & mask
        cdef const TreeNode* node
        while self.table[slot] != NOTHING:
            node = &self.nodes[self.table[slot]]
            if node.hash == hash and node.kind == kind and are_equal(&node.content, content):
                return self.table[slot]
            slot = (slot + 1) & mask
        return NOTHING

    cdef uint32_t _new_node(self, uint8_t kind, uint64_t hash) noexcept nogil:
        cdef uint32_t node
        if self.free_nodes.size():
            node = self.free_nodes.back()
            self.free_nodes.pop_back()
        else:
            node = <uint32_t>self.nodes.size()
            self.nodes.resize(self.nodes.size() + 1)
        self.nodes[node].kind = kind
        self.nodes[node].hash = hash
        self.nodes[node].uses = 1
        self.nodes[node].access = NOTHING
        self.nodes[node].level = 1
        self.nodes[node].signature = 0
        self.nodes[node].queued = 0
        self.live += 1
        return node

    cdef void _place(self, uint32_t node) noexcept nogil:
        cdef uint64_t mask, slot
        cdef uint32_t other
        if self.live * 2 > self.table.size():
            self.table.assign(self.table.size() * 2, NOTHING)
            for other in range(<uint32_t>self.nodes.size()):
                if self.nodes[other].uses and other != node:
                    self._place(other)
        mask = self.table.size() - 1
        slot = self.nodes[node].hash & mask
        while self.table[slot] != NOTHING:
            slot = (slot + 1) & mask
        self.table[slot] = node

    cdef void _unplace(self, uint32_t node) noexcept nogil:
        cdef uint64_t mask = self.table.size() - 1
        cdef uint64_t hole = self.nodes[node].hash & mask
        cdef uint64_t slot, home
        while self.table[hole] != node:
            hole = (hole + 1) & mask
        slot = (hole + 1) & mask
        while self.table[slot] != NOTHING:
            home = self.nodes[self.table[slot]].hash & mask
            if ((slot - home) & mask) >= ((slot - hole) & mask):
                self.table[hole] = self.table[slot]
                hole = slot
            slot = (slot + 1) & mask
        self.table[hole] = NOTHING

    # Links.

    cdef void _link(self, uint32_t parent, uint32_t child) noexcept nogil:
        self.nodes[parent].children.push_back(child)
        self.nodes[child].parents.push_back(parent)
        self.nodes[child].uses += 1

    cdef void _unlink(self, uint32_t parent, uint32_t child) noexcept nogil:
        remove_one(&self.nodes[parent].children, child)
        remove_one(&self.nodes[child].parents, parent)
        self._release(child)

    cdef void _choose_access(self, uint32_t node) noexcept nogil:
        """The paper draws it; here it is the child with the fewest parents."""
        cdef uint32_t best = NOTHING, child
        cdef size_t i
        for i in range(self.nodes[node].children.size()):
            child = self.nodes[node].children[i]
            if best == NOTHING or (
                self.nodes[child].parents.size() < self.nodes[best].parents.size()
            ):
                best = child
        self.nodes[node].access = best

    cdef void _raise_level(self, uint32_t node) noexcept nogil:
        cdef uint32_t level = 1
        cdef size_t i
        for i in range(self.nodes[node].children.size()):
            level = max(level, self.nodes[self.nodes[node].children[i]].level + 1)
        if level != self.nodes[node].level:
            self.nodes[node].level = level
            for i in range(self.nodes[node].parents.size()):
                self._raise_level(self.nodes[node].parents[i])

    # Algorithm 2: greedy set cover by nodes that are there.

    cdef void _reorganise(
        self, uint8_t kind, const vector[uint32_t]* content, vector[uint32_t]* children
    ) noexcept nogil:
        cdef vector[uint32_t] open_, rest
        cdef TreeNode* other
        cdef uint32_t best, looked = 0
        cdef size_t i, k
        open_ = content[0]
        children.clear()
        while open_.size() > 1:
            best = NOTHING
            for i in range(open_.size()):
                for k in range(self.nodes[open_[i]].parents.size()):
                    looked += 1
                    if looked > self.search_cap:
                        break
                    other = &self.nodes[self.nodes[open_[i]].parents[k]]
                    if other.kind == kind and other.content.size() < content.size() and (
                        best == NOTHING or other.content.size() > self.nodes[best].content.size()
                    ) and includes(
                        open_.begin(), open_.end(), other.content.begin(), other.content.end()
                    ):
                        best = self.nodes[open_[i]].parents[k]
            if best == NOTHING:
                break
            children.push_back(best)
            rest.clear()
            for i in range(open_.size()):
                if not binary_search(
                    self.nodes[best].content.begin(), self.nodes[best].content.end(), open_[i]
                ):
                    rest.push_back(open_[i])
            open_.swap(rest)
        children.insert(children.end(), open_.begin(), open_.end())

    # Algorithm 3: parents of the children take the new node, where they hold all of it.

    cdef void _self_adjust(self, uint32_t node) noexcept nogil:
        cdef vector[uint32_t] candidates, mine, theirs
        cdef uint32_t parent
        cdef size_t i, k
        candidates = self.nodes[self.nodes[node].access].parents
        mine = self.nodes[node].children
        sort(mine.begin(), mine.end())
        for i in range(min(candidates.size(), <size_t>self.search_cap)):
            parent = candidates[i]
            theirs = self.nodes[parent].children
            if parent == node or self.nodes[parent].kind != self.nodes[node].kind or (
                theirs.size() <= mine.size()
            ):
                continue
            sort(theirs.begin(), theirs.end())
            if not includes(theirs.begin(), theirs.end(), mine.begin(), mine.end()):
                continue
            self._link(parent, node)
            for k in range(mine.size()):
                self._unlink(parent, mine[k])
            self._choose_access(parent)
            self._raise_level(parent)

    # Algorithm 5: deletion.

    cdef void _release(self, uint32_t node) noexcept nogil:
        cdef vector[uint32_t] children
        cdef size_t i
        self.nodes[node].uses -= 1
        if self.nodes[node].uses:
            return
        self._unplace(node)
        self.live -= 1
        children.swap(self.nodes[node].children)
        self.nodes[node].content.clear()
        for i in range(children.size()):
            remove_one(&self.nodes[children[i]].parents, node)
            self._release(children[i])
        if self.nodes[node].kind == NORMAL_PREDICATE:
            remove_one(
                &self.leaves[self.predicates[self.nodes[node].predicate].attribute], node
            )
        self.free_nodes.push_back(node)

    # Algorithm 6: matching, level by level.

    cdef void _match(self) noexcept nogil:
        cdef size_t level, i
        self.matched.clear()
        if not is_eligible(&self.catalog.table, &self.visit):
            return
        self.signature += 1
        if self.queues.size() < 2:
            self.queues.resize(2)
        self._queue_leaves()
        level = 1
        while level < self.queues.size():
            i = 0
            while i < self.queues[level].size():
                self._process(self.queues[level][i])
                i += 1
            self.queues[level].clear()
            level += 1
        for i in range(self.always.size()):
            self.matched.insert(
                self.matched.end(),
                self.nodes[self.always[i]].entries.begin(), self.nodes[self.always[i]].entries.end(),
            )

    cdef void _queue_leaves(self) noexcept nogil:
        cdef PredicateView own
        cdef Truth truth
        cdef uint32_t node
        cdef size_t attribute, i
        own.words = self.words.data()
        own.bytes = self.bytes.data()
        own.predicates = self.predicates.data()
        for attribute in range(self.leaves.size()):
            for i in range(self.leaves[attribute].size()):
                node = self.leaves[attribute][i]
                truth = test_predicate(
                    own, &self.predicates[self.nodes[node].predicate], &self.catalog.table,
                    &self.visit,
                )
                if truth == TRUE or truth == FALSE and not self.zero_suppression:
                    self.nodes[node].truth = truth
                    self.nodes[node].signature = self.signature
                    self.queues[1].push_back(node)

    cdef void _process(self, uint32_t node) noexcept nogil:
        """Evaluates a node whose children are done; its truth goes to the parents that ask."""
        cdef TreeNode* current = &self.nodes[node]
        cdef TreeNode* parent
        cdef const TreeNode* child
        cdef uint8_t settles, truth
        cdef size_t i
        if current.kind != NORMAL_PREDICATE:
            settles = FALSE if current.kind == NORMAL_AND else TRUE
            truth = TRUE if current.kind == NORMAL_AND else FALSE
            for i in range(current.children.size()):
                child = &self.nodes[current.children[i]]
                # Not reached: undefined, or false where false is not propagated.
                if child.signature != self.signature:
                    if truth != settles:
                        truth = UNDEFINED
                elif child.truth == settles:
                    truth = settles
                    break
                elif child.truth == UNDEFINED and truth != settles:
                    truth = UNDEFINED
            current.truth = truth
            current.signature = self.signature
        if current.truth == TRUE:
            self.matched.insert(
                self.matched.end(), current.entries.begin(), current.entries.end()
            )
        elif current.truth == UNDEFINED or self.zero_suppression:
            return
        for i in range(current.parents.size()):
            parent = &self.nodes[current.parents[i]]
            if parent.queued == self.signature or (
                self.on_demand and parent.kind == NORMAL_AND and parent.access != node
            ):
                continue
            parent.queued = self.signature
            if self.queues.size() <= parent.level:
                self.queues.resize(parent.level + 1)
            self.queues[parent.level].push_back(current.parents[i])
