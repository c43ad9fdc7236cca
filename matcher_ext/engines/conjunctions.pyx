"""Translates expressions to conjunctions and finds those that are true (conjunctions.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort, unique
from libcpp.vector cimport vector

from matcher_ext.engines.face cimport Engine, bytes_of, emit, nested_bytes_of
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.nodes.store cimport NodeStore, StoredNode
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NormalForm, NormalNode

from matcher_ext.engines.limits import EngineLimitError

MAX_CONJUNCTIONS = 4096


# The index.

cdef void index_conjunctions(const NodeStore* store, KIndex* index) noexcept nogil:
    cdef vector[uint64_t] ranked        # K, node
    cdef vector[uint32_t] next_place
    cdef const StoredNode* node
    cdef uint32_t number, k, place
    cdef size_t i
    for number in range(<uint32_t>store.nodes.size()):
        if store.nodes[number].uses and store.nodes[number].kind == NORMAL_AND:
            ranked.push_back(<uint64_t>store.nodes[number].count << 32 | number)
    sort(ranked.begin(), ranked.end())
    next_place.assign(store.nodes.size() + 1, 0)
    for i in range(ranked.size()):
        node = &store.nodes[<uint32_t>ranked[i]]
        for k in range(node.count):
            next_place[store.links[node.first + k] + 1] += 1
    for i in range(1, next_place.size()):
        next_place[i] += next_place[i - 1]
    index.postings.resize(next_place.back())
    index.segments_of = next_place
    for i in range(ranked.size()):
        node = &store.nodes[<uint32_t>ranked[i]]
        for k in range(node.count):
            place = next_place[store.links[node.first + k]]
            next_place[store.links[node.first + k]] += 1
            index.postings[place] = <uint32_t>ranked[i]
    cut_segments(store, index)
    index.lists.resize(<size_t>(ranked.back() >> 32) + 1 if ranked.size() else 1)


cdef void cut_segments(const NodeStore* store, KIndex* index) noexcept nogil:
    """Cuts each predicate's postings where K changes; `segments_of` leads to postings before, to
    segments after."""
    cdef Segment segment
    cdef uint32_t node, first, at, end
    index.segments.clear()
    for node in range(<uint32_t>index.segments_of.size() - 1):
        first = index.segments_of[node]
        end = index.segments_of[node + 1]
        index.segments_of[node] = <uint32_t>index.segments.size()
        for at in range(first, end):
            if at == first or store.nodes[index.postings[at]].count != segment.size:
                segment.size = store.nodes[index.postings[at]].count
                segment.first = at
                segment.end = at
                index.segments.push_back(segment)
            index.segments.back().end = at + 1
    index.segments_of[index.segments_of.size() - 1] = <uint32_t>index.segments.size()


cdef uint64_t find_conjunctions(
    KIndex* index, const vector[uint32_t]* predicates, vector[uint32_t]* true_nodes
) noexcept nogil:
    cdef const Segment* segment
    cdef Cursor cursor
    cdef uint64_t visited = 0
    cdef uint32_t s
    cdef size_t i
    for i in range(predicates.size()):
        for s in range(
            index.segments_of[predicates[0][i]], index.segments_of[predicates[0][i] + 1]
        ):
            segment = &index.segments[s]
            cursor.at = segment.first
            cursor.end = segment.end
            cursor.node = index.postings[cursor.at]
            index.lists[segment.size].push_back(cursor)
    for i in range(2, index.lists.size()):
        if index.lists[i].size() >= i:
            visited += merge_lists(index, i, true_nodes)
        index.lists[i].clear()
    return visited


cdef uint64_t merge_lists(
    KIndex* index, size_t size, vector[uint32_t]* true_nodes
) noexcept nogil:
    """Finds what K lists have in common: the lists are a heap by their current conjunctions."""
    cdef vector[Cursor]* heap = &index.lists[size]
    cdef uint64_t visited = 0
    cdef uint32_t wanted
    cdef size_t i
    for i in range(heap.size() // 2, 0, -1):
        sift_down(heap, i - 1)
    while heap.size() >= size:
        index.taken.clear()
        while index.taken.size() < size:
            index.taken.push_back(heap[0][0])
            heap[0][0] = heap.back()
            heap.pop_back()
            sift_down(heap, 0)
        wanted = index.taken.back().node
        if index.taken[0].node == wanted:
            true_nodes.push_back(wanted)
            wanted += 1
        for i in range(size):
            skip_to(index, &index.taken[i], wanted)
            visited += 1
            if index.taken[i].at < index.taken[i].end:
                heap.push_back(index.taken[i])
                sift_up(heap)
    return visited


cdef inline void skip_to(const KIndex* index, Cursor* cursor, uint32_t node) noexcept nogil:
    """Goes on to the first conjunction that is not below, in steps that double."""
    cdef uint32_t step = 1, middle, low = cursor.at
    while low + step < cursor.end and index.postings[low + step] < node:
        low += step
        step *= 2
    cdef uint32_t high = min(low + step, cursor.end)
    while low < high:
        middle = (low + high) // 2
        if index.postings[middle] < node:
            low = middle + 1
        else:
            high = middle
    cursor.at = low
    if low < cursor.end:
        cursor.node = index.postings[low]


cdef inline void sift_down(vector[Cursor]* heap, size_t at) noexcept nogil:
    cdef size_t child
    cdef Cursor moved
    if heap.empty():
        return
    moved = heap[0][at]
    while True:
        child = 2 * at + 1
        if child >= heap.size():
            break
        if child + 1 < heap.size() and heap[0][child + 1].node < heap[0][child].node:
            child += 1
        if moved.node <= heap[0][child].node:
            break
        heap[0][at] = heap[0][child]
        at = child
    heap[0][at] = moved


cdef inline void sift_up(vector[Cursor]* heap) noexcept nogil:
    cdef size_t at = heap.size() - 1
    cdef Cursor moved = heap.back()
    while at and moved.node < heap[0][(at - 1) // 2].node:
        heap[0][at] = heap[0][(at - 1) // 2]
        at = (at - 1) // 2
    heap[0][at] = moved


cdef size_t k_index_bytes(const KIndex* index) noexcept nogil:
    return (
        bytes_of(index.segments_of) + bytes_of(index.segments) + bytes_of(index.postings)
        + nested_bytes_of(index.lists)
    )


cdef void invert(
    const vector[vector[uint32_t]]* by_slot, size_t node_count, Lists* lists
) noexcept nogil:
    cdef size_t slot, i
    cdef uint32_t node
    lists.first.assign(node_count + 2, 0)
    for slot in range(by_slot.size()):
        for i in range(by_slot[0][slot].size()):
            lists.first[by_slot[0][slot][i] + 2] += 1
    for i in range(2, lists.first.size()):
        lists.first[i] += lists.first[i - 1]
    lists.items.resize(lists.first.back())
    # Counted two places up, so that filling leaves each first where it belongs.
    for slot in range(by_slot.size()):
        for i in range(by_slot[0][slot].size()):
            node = by_slot[0][slot][i]
            lists.items[lists.first[node + 1]] = <uint32_t>slot
            lists.first[node + 1] += 1


# Translation.

cdef double count_conjunctions(const NormalForm* form, uint32_t root) noexcept nogil:
    cdef vector[double] counts
    cdef const NormalNode* node
    cdef uint32_t number, k
    counts.assign(root + 1, 1.0)
    for number in range(root + 1):
        node = &form.nodes[number]
        if node.kind == NORMAL_OR:
            counts[number] = 0.0
        for k in range(node.count if node.kind == NORMAL_OR or node.kind == NORMAL_AND else 0):
            if node.kind == NORMAL_OR:
                counts[number] += counts[form.edges[node.first + k]]
            else:
                counts[number] *= counts[form.edges[node.first + k]]
    return counts[root]


cdef void translate(
    const NormalForm* form, uint32_t root, vector[vector[uint32_t]]* into
) noexcept nogil:
    cdef const NormalNode* node = &form.nodes[root]
    cdef vector[vector[uint32_t]] choices, product, longer
    cdef uint32_t k
    cdef size_t i
    if node.kind == NORMAL_OR:
        for k in range(node.count):
            translate(form, form.edges[node.first + k], into)
    elif node.kind == NORMAL_AND:
        product.resize(1)
        for k in range(node.count):
            choices.clear()
            translate(form, form.edges[node.first + k], &choices)
            longer.clear()
            multiply(&product, &choices, &longer)
            product.swap(longer)
        for i in range(product.size()):
            sort(product[i].begin(), product[i].end())
            product[i].resize(
                unique(product[i].begin(), product[i].end()) - product[i].begin()
            )
        into.insert(into.end(), product.begin(), product.end())
    else:
        into.push_back(vector[uint32_t](1, root))


cdef void multiply(
    const vector[vector[uint32_t]]* left, const vector[vector[uint32_t]]* right,
    vector[vector[uint32_t]]* product,
) noexcept nogil:
    cdef size_t i, k
    for i in range(left.size()):
        for k in range(right.size()):
            product.push_back(left[0][i])
            product.back().insert(
                product.back().end(), right[0][k].begin(), right[0][k].end()
            )


def check_conjunctions(most, needed):
    if needed > most:
        raise EngineLimitError("max_conjunctions", most, needed)


cdef class Translation(Engine):
    """Each conjunction of an expression finds it, over the K-index."""

    def __init__(self, catalog, *, max_conjunctions=MAX_CONJUNCTIONS):
        super().__init__(catalog)
        self.max_conjunctions = max_conjunctions

    cdef int _read(self, uint32_t root) except -1:
        cdef vector[vector[uint32_t]] parts
        cdef size_t i
        check_conjunctions(self.max_conjunctions, count_conjunctions(&self.form, root))
        translate(&self.form, root, &parts)
        self.joined.clear()
        for i in range(parts.size()):
            self.joined.push_back(self._join(&parts[i]))
        return 0

    cdef int _add(self, uint32_t slot, uint32_t root) except -1:
        cdef size_t i
        for i in range(self.joined.size()):
            self._hold(slot, self.joined[i])
        return 0

    cdef int _prepare(self) except -1:
        with nogil:
            index_conjunctions(&self.store, &self.index)
            invert(&self.held, self.store.nodes.size(), &self.owners)
        return 0

    cdef void _match(self) noexcept nogil:
        cdef uint32_t node, k
        cdef size_t i
        self.true_nodes = self.found
        self.visited += find_conjunctions(&self.index, &self.found, &self.true_nodes)
        for i in range(self.true_nodes.size()):
            node = self.true_nodes[i]
            for k in range(self.owners.first[node], self.owners.first[node + 1]):
                emit(self, self.owners.items[k])

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            k_index_bytes(&self.index) + bytes_of(self.owners.first) + bytes_of(self.owners.items)
        )


cdef class Conjunctive(Engine):
    def __init__(self, catalog, *, max_conjunctions=MAX_CONJUNCTIONS):
        super().__init__(catalog)
        self.max_conjunctions = max_conjunctions

    cdef int _read(self, uint32_t root) except -1:
        check_conjunctions(self.max_conjunctions, count_conjunctions(&self.form, root))
        self.parts.clear()
        translate(&self.form, root, &self.parts)
        return 0

    cdef int _add(self, uint32_t slot, uint32_t root) except -1:
        cdef vector[uint32_t] node_of
        cdef uint32_t number
        cdef size_t i, k
        node_of.assign(self.form.nodes.size(), NOTHING)
        if self.numbers.size() <= slot:
            self.numbers.resize(slot + 1)
        for i in range(self.parts.size()):
            for k in range(self.parts[i].size()):
                number = self.parts[i][k]
                if node_of[number] == NOTHING:
                    node_of[number] = self._hold(slot, number)
                self.parts[i][k] = node_of[number]
            sort(self.parts[i].begin(), self.parts[i].end())
            self.numbers[slot].push_back(self._number(slot))
            self.conjunctions[self.numbers[slot].back()].swap(self.parts[i])
        for i in range(self.numbers[slot].size()):
            self._link(self.numbers[slot][i])
        return 0

    def _number(self, uint32_t slot):
        cdef uint32_t number
        if self.free_numbers.size():
            number = self.free_numbers.back()
            self.free_numbers.pop_back()
        else:
            number = <uint32_t>self.owner.size()
            self.owner.push_back(NOTHING)
            self.conjunctions.resize(number + 1)
        self.owner[number] = slot
        return number

    cdef int _remove(self, uint32_t slot) except -1:
        cdef uint32_t number
        cdef size_t i
        for i in range(self.numbers[slot].size() if slot < self.numbers.size() else 0):
            number = self.numbers[slot][i]
            self._unlink(number)
            self.conjunctions[number].clear()
            self.owner[number] = NOTHING
            self.free_numbers.push_back(number)
        if slot < self.numbers.size():
            self.numbers[slot].clear()
        return 0

    cdef int _link(self, uint32_t number) except -1:
        return 0

    cdef int _unlink(self, uint32_t number) except -1:
        return 0

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            nested_bytes_of(self.conjunctions) + bytes_of(self.owner)
            + nested_bytes_of(self.numbers)
        )
