"""Labels leaves, finds the true ones, evaluates each expression from its own (labelled.pxd)."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.engines.conjunctions cimport find_conjunctions, index_conjunctions, k_index_bytes
from matcher_ext.engines.face cimport Engine, bytes_of, emit, is_true, read_clock
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE, NormalForm, NormalNode,
)

from matcher_ext.engines.limits import EngineLimitError

cdef enum:
    PART_AND
    PART_OR
    PART_LEAF

MAX_LEAVES = 65535          # the paper's begin and end have 16 bits


cdef double count_leaves(const NormalForm* form, uint32_t root) noexcept nogil:
    cdef vector[double] counts
    cdef const NormalNode* node
    cdef uint32_t number, k, child
    cdef bint has_predicates
    counts.assign(root + 1, 1.0)
    for number in range(root + 1):
        node = &form.nodes[number]
        if node.kind != NORMAL_AND and node.kind != NORMAL_OR:
            continue
        counts[number] = 0.0
        has_predicates = False
        for k in range(node.count):
            child = form.edges[node.first + k]
            if node.kind == NORMAL_AND and form.nodes[child].kind == NORMAL_PREDICATE:
                has_predicates = True
            else:
                counts[number] += counts[child]
        counts[number] += has_predicates
    return counts[root]


cdef class Labelled(Engine):
    def __init__(self, catalog, *, max_leaves=MAX_LEAVES):
        super().__init__(catalog)
        self.max_leaves = max_leaves

    # Inserting.

    cdef int _read(self, uint32_t root) except -1:
        needed = count_leaves(&self.form, root)
        if needed > self.max_leaves:
            raise EngineLimitError("max_leaves", self.max_leaves, needed)
        self.parts.clear()
        self._write_tree(root)
        return 0

    cdef void _write_tree(self, uint32_t node) noexcept nogil:
        """Writes a node of the form as parts; the predicates of an AND are one leaf."""
        cdef NormalNode source = self.form.nodes[node]
        cdef vector[uint32_t] predicates, others
        cdef uint32_t part, child, k
        if source.kind == NORMAL_PREDICATE:
            self._write_leaf(node)
            return
        for k in range(source.count):
            child = self.form.edges[source.first + k]
            if source.kind == NORMAL_AND and self.form.nodes[child].kind == NORMAL_PREDICATE:
                predicates.push_back(child)
            else:
                others.push_back(child)
        if others.empty():
            self._write_leaf(self._join(&predicates))
            return
        part = self._open_part(PART_AND if source.kind == NORMAL_AND else PART_OR)
        if predicates.size():
            self._write_leaf(self._join(&predicates))
        for k in range(<uint32_t>others.size()):
            self._write_tree(others[k])
        self._close_part(part)

    cdef uint32_t _open_part(self, uint8_t kind) noexcept nogil:
        cdef Part part
        part.kind = kind
        part.skip = 0
        part.size = 0
        part.leaf = 0
        self.parts.push_back(part)
        return <uint32_t>(self.parts.size() - 1)

    cdef void _close_part(self, uint32_t number) noexcept nogil:
        cdef uint32_t child = number + 1
        self.parts[number].skip = <uint32_t>self.parts.size()
        while child < self.parts.size():
            self.parts[number].size += self.parts[child].size
            child = self.parts[child].skip

    cdef void _write_leaf(self, uint32_t node) noexcept nogil:
        cdef uint32_t part = self._open_part(PART_LEAF)
        self.parts[part].skip = part + 1
        self.parts[part].size = 1
        self.parts[part].leaf = node

    cdef int _add(self, uint32_t slot, uint32_t root) except -1:
        cdef vector[Leaf] leaves
        cdef size_t i
        for i in range(self.parts.size()):
            if self.parts[i].kind == PART_LEAF:
                self.parts[i].leaf = self._hold(slot, self.parts[i].leaf)
        self._label(&leaves)
        if self.first_leaf.size() <= slot:
            self.first_leaf.resize(slot + 1)
            self.leaf_count.resize(slot + 1)
        self.first_leaf[slot] = <uint32_t>self.leaves.size()
        self.leaf_count[slot] = <uint32_t>leaves.size()
        for i in range(leaves.size()):
            leaves[i].slot = slot
        self.leaves.insert(self.leaves.end(), leaves.begin(), leaves.end())
        return 0

    cdef int _remove(self, uint32_t slot) except -1:
        if slot < self.leaf_count.size():
            self.dead += self.leaf_count[slot]
            self.leaf_count[slot] = 0
        return 0

    # Matching.

    cdef int _prepare(self) except -1:
        with nogil:
            if self.dead * 2 > self.leaves.size():
                self._compact()
            index_conjunctions(&self.store, &self.index)
            self._list_by_node()
        return 0

    cdef void _list_by_node(self) noexcept nogil:
        cdef uint32_t slot, i, node
        cdef size_t k
        self.by_node.first.assign(self.store.nodes.size() + 2, 0)
        for slot in range(<uint32_t>self.leaf_count.size()):
            for i in range(self.first_leaf[slot], self.first_leaf[slot] + self.leaf_count[slot]):
                self.by_node.first[self.leaves[i].node + 2] += 1
        for k in range(2, self.by_node.first.size()):
            self.by_node.first[k] += self.by_node.first[k - 1]
        self.by_node.items.resize(self.by_node.first.back())
        for slot in range(<uint32_t>self.leaf_count.size()):
            for i in range(self.first_leaf[slot], self.first_leaf[slot] + self.leaf_count[slot]):
                node = self.leaves[i].node
                self.by_node.items[self.by_node.first[node + 1]] = i
                self.by_node.first[node + 1] += 1

    cdef void _compact(self) noexcept nogil:
        """Copies what is owned; leaves of one program go on sharing it."""
        cdef vector[Leaf] leaves
        cdef vector[uint32_t] words
        cdef uint32_t slot, i, first
        cdef Leaf leaf
        for slot in range(<uint32_t>self.leaf_count.size()):
            first = <uint32_t>leaves.size()
            for i in range(self.first_leaf[slot], self.first_leaf[slot] + self.leaf_count[slot]):
                leaf = self.leaves[i]
                if self.words.size():
                    if i > self.first_leaf[slot] and self.leaves[i - 1].first == leaf.first:
                        leaf.first = leaves.back().first
                    else:
                        leaf.first = <uint32_t>words.size()
                        words.insert(
                            words.end(), self.words.begin() + self.leaves[i].first,
                            self.words.begin() + self.leaves[i].first + leaf.last,
                        )
                leaves.push_back(leaf)
            self.first_leaf[slot] = first
        self.leaves.swap(leaves)
        self.words.swap(words)
        self.dead = 0

    cdef void _match(self) noexcept nogil:
        cdef uint64_t started = read_clock(), found, sorted_at
        cdef size_t i, first = 0
        cdef uint32_t node, k
        self.true_nodes = self.found
        self.visited += find_conjunctions(&self.index, &self.found, &self.true_nodes)
        found = read_clock()
        self.hits.clear()
        for i in range(self.true_nodes.size()):
            node = self.true_nodes[i]
            self.true_at[node] = self.signature
            for k in range(self.by_node.first[node], self.by_node.first[node + 1]):
                self.hits.push_back(self.by_node.items[k])
        sort(self.hits.begin(), self.hits.end())
        sorted_at = read_clock()
        for i in range(1, self.hits.size() + 1):
            if i == self.hits.size() or (
                self.leaves[self.hits[i]].slot != self.leaves[self.hits[first]].slot
            ):
                self.evaluated += 1
                if self._evaluate(first, i):
                    emit(self, self.leaves[self.hits[first]].slot)
                first = i
        self.index_ns += found - started
        self.sort_ns += sorted_at - found
        self.evaluate_ns += read_clock() - sorted_at

    cdef void _label(self, vector[Leaf]* leaves) noexcept nogil:
        pass

    cdef bint _evaluate(self, size_t first, size_t end) noexcept nogil:
        return False

    cdef size_t _count_nodes(self) noexcept nogil:
        return self.leaves.size() - self.dead

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            bytes_of(self.leaves) + bytes_of(self.words) + bytes_of(self.first_leaf)
            + bytes_of(self.leaf_count) + k_index_bytes(&self.index)
            + bytes_of(self.by_node.first) + bytes_of(self.by_node.items)
        )

    cdef int _describe(self, dict stats) except -1:
        stats["evaluated"] = self.evaluated
        stats["index_ns"] = self.index_ns
        stats["sort_ns"] = self.sort_ns
        stats["evaluate_ns"] = self.evaluate_ns
        return 0


cdef class Dewey(Labelled):
    """Dewey labels and the stack evaluator (section 3)."""

    cdef void _label(self, vector[Leaf]* leaves) noexcept nogil:
        cdef vector[uint32_t] path
        if self.parts[0].kind != PART_AND:
            path.push_back(1 << 1 | 1)      # below an AND that only it is a child of
        self._label_part(0, &path, leaves)

    cdef void _label_part(
        self, uint32_t part, vector[uint32_t]* path, vector[Leaf]* leaves
    ) noexcept nogil:
        cdef Leaf leaf
        cdef uint32_t child = part + 1, number = 1, end = self.parts[part].skip
        if self.parts[part].kind == PART_LEAF:
            leaf.node = self.parts[part].leaf
            leaf.slot = 0
            leaf.first = <uint32_t>self.words.size()
            leaf.last = <uint32_t>path.size()
            self.words.insert(self.words.end(), path.begin(), path.end())
            leaves.push_back(leaf)
        while child < end:
            path.push_back(number << 1 | (self.parts[child].skip == end))
            self._label_part(child, path, leaves)
            path.pop_back()
            number += 1
            child = self.parts[child].skip

    cdef bint _evaluate(self, size_t first, size_t end) noexcept nogil:
        """Opens the nodes above each leaf, and closes those that the next leaf is not below.

        A node's depth says what it is: the root is an AND, those below are ORs, and so on.
        """
        cdef const uint32_t* label = NULL
        cdef const uint32_t* previous = NULL
        cdef const Leaf* leaf
        cdef uint32_t depth = 0, common
        cdef size_t i
        self.stack.resize(1)
        open_frame(&self.stack[0], 0)
        for i in range(first, end):
            leaf = &self.leaves[self.hits[i]]
            label = self.words.data() + leaf.first
            common = 0
            while previous != NULL and common < depth and label[common] == previous[common]:
                common += 1
            while depth > common:
                fold(&self.stack[depth - 1], depth - 1, previous[depth - 1], is_satisfied(
                    &self.stack[depth], depth
                ))
                depth -= 1
            self.stack.resize(leaf.last)
            while depth + 1 < leaf.last:
                depth += 1
                open_frame(&self.stack[depth], depth)
            fold(&self.stack[depth], depth, label[depth], True)
            previous = label
        while depth:
            fold(&self.stack[depth - 1], depth - 1, previous[depth - 1], is_satisfied(
                &self.stack[depth], depth
            ))
            depth -= 1
        return is_satisfied(&self.stack[0], 0)


cdef inline void open_frame(Frame* frame, uint32_t depth) noexcept nogil:
    frame.explored = 0
    frame.result = depth % 2 == 0
    frame.met_last = False


cdef inline void fold(Frame* frame, uint32_t depth, uint32_t child, bint truth) noexcept nogil:
    """Takes a child into its parent: algorithm 2 for an OR, 3 for an AND."""
    if depth % 2:
        frame.result = frame.result or truth
        return
    frame.explored += 1
    frame.result = frame.result and truth and child >> 1 == frame.explored
    frame.met_last = child & 1


cdef inline bint is_satisfied(const Frame* frame, uint32_t depth) noexcept nogil:
    return frame.result and (depth % 2 == 1 or frame.met_last)


cdef class Interval(Labelled):
    """Leaves as intervals of one line, and the `matched` array (section 4)."""

    cdef void _label(self, vector[Leaf]* leaves) noexcept nogil:
        cdef vector[Leaf] sorted_leaves
        cdef vector[uint64_t] order
        cdef size_t i
        self._label_part(0, 1, self.parts[0].size, 0, leaves)
        for i in range(leaves.size()):
            order.push_back(<uint64_t>leaves[0][i].first << 32 | i)
        sort(order.begin(), order.end())
        for i in range(order.size()):
            sorted_leaves.push_back(leaves[0][<uint32_t>order[i]])
        leaves.swap(sorted_leaves)

    cdef void _label_part(
        self, uint32_t part, uint32_t begin, uint32_t end, uint32_t left, vector[Leaf]* leaves
    ) noexcept nogil:
        """Labels a part by algorithm 4; `left` is the number of leaves before it."""
        cdef Leaf leaf
        cdef uint32_t child = part + 1, stop = self.parts[part].skip, next_end
        if self.parts[part].kind == PART_LEAF:
            leaf.node = self.parts[part].leaf
            leaf.slot = 0
            leaf.first = begin
            leaf.last = end
            leaves.push_back(leaf)
            self.ended.resize(max(<uint32_t>self.ended.size(), end + 1))
        while child < stop:
            next_end = end
            if self.parts[part].kind == PART_AND and self.parts[child].skip != stop:
                next_end = left + self.parts[child].size
            self._label_part(child, begin, next_end, left, leaves)
            if self.parts[part].kind == PART_AND:
                begin = next_end + 1
            left += self.parts[child].size
            child = self.parts[child].skip

    cdef bint _evaluate(self, size_t first, size_t end) noexcept nogil:
        """Evaluates by algorithm 5."""
        cdef const Leaf* leaf
        cdef uint32_t last = self.leaf_count[self.leaves[self.hits[first]].slot]
        cdef size_t i
        self.stamp += 1
        self.ended[0] = self.stamp
        for i in range(first, end):
            leaf = &self.leaves[self.hits[i]]
            if self.ended[leaf.first - 1] == self.stamp:
                self.ended[leaf.last] = self.stamp
        return self.ended[last] == self.stamp


cdef class ScanConjunctions(Labelled):
    """Conjunctions are matched once; expressions with a true one are evaluated from their trees
    (section 5.2)."""

    cdef void _label(self, vector[Leaf]* leaves) noexcept nogil:
        cdef uint32_t start = <uint32_t>self.words.size()
        cdef Leaf leaf
        cdef size_t i
        for i in range(self.parts.size()):
            self.words.push_back(self.parts[i].kind)
            self.words.push_back(
                self.parts[i].leaf if self.parts[i].kind == PART_LEAF
                else 2 * (self.parts[i].skip - <uint32_t>i)
            )
        leaf.slot = 0
        leaf.first = start
        leaf.last = <uint32_t>self.words.size() - start
        for i in range(self.parts.size()):
            if self.parts[i].kind == PART_LEAF:
                leaf.node = self.parts[i].leaf
                leaves.push_back(leaf)

    cdef bint _evaluate(self, size_t first, size_t end) noexcept nogil:
        return self._run(self.leaves[self.hits[first]].first)

    cdef bint _run(self, uint32_t at) noexcept nogil:
        """Evaluates a part of a program: its kind, then its conjunction or its length."""
        cdef uint32_t kind = self.words[at], stop = at + self.words[at + 1]
        if kind == PART_LEAF:
            return is_true(self, self.words[at + 1])
        at += 2
        while at < stop:
            if self._run(at) == (kind == PART_OR):
                return kind == PART_OR
            at += 2 if self.words[at] == PART_LEAF else self.words[at + 1]
        return kind == PART_AND
