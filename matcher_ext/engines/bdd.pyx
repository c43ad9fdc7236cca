"""Makes and walks the shared decision diagram (bdd.pxd)."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.engines.face cimport Engine, bytes_of, emit, is_true
from matcher_ext.machine.hashing cimport mix
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport find_empty, first_place, next_place, size_table
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NormalNode

from matcher_ext.engines.limits import EngineLimitError

MAX_NODES = 20000

cdef enum:
    NO                          # the two answers
    YES
    FIRST
    MUCH_GARBAGE = 1 << 18


cdef inline uint64_t hash_node(const BddNode* node) noexcept nogil:
    return mix(mix(node.variable, node.low), node.high)


cdef class Bdd(Engine):
    def __init__(self, catalog, *, max_nodes=MAX_NODES):
        cdef BddNode answer
        super().__init__(catalog)
        self.max_nodes = max_nodes
        answer.variable, answer.low, answer.high = NOTHING, 0, 0
        self.nodes.assign(FIRST, answer)
        self.table.assign(64, NOTHING)

    cdef int _add(self, uint32_t slot, uint32_t root) except -1:
        cdef vector[uint32_t] built         # by node of the form
        cdef NormalNode source
        cdef uint32_t number, k, result
        self.made = 0
        self.is_stale = self.has_garbage = True     # whatever becomes of what is made on the way
        if self.live > 2 * self.swept + MUCH_GARBAGE:
            self._sweep()
        built.assign(root + 1, NOTHING)
        mark_reached(self, root, &built)
        for number in range(root + 1):
            source = self.form.nodes[number]
            if built[number] == NOTHING:
                continue
            if source.kind != NORMAL_AND and source.kind != NORMAL_OR:
                built[number] = self._make(self._hold(slot, number), NO, YES)
                continue
            result = YES if source.kind == NORMAL_AND else NO
            for k in range(source.count):
                self.memo.clear()
                result = self._apply(
                    result, built[self.form.edges[source.first + k]], source.kind == NORMAL_AND
                )
            built[number] = result
        if self.made > self.max_nodes:
            raise EngineLimitError("max_nodes", self.max_nodes, self.made)
        if self.root_of.size() <= slot:
            self.root_of.resize(slot + 1, NOTHING)
        self.root_of[slot] = built[root]
        return 0

    cdef int _remove(self, uint32_t slot) except -1:
        if slot < self.root_of.size():
            self.root_of[slot] = NOTHING
            self.has_garbage = True
        return 0

    cdef uint32_t _make(self, uint32_t variable, uint32_t low, uint32_t high) noexcept nogil:
        """Finds or makes a node; one whose answers are the same is no node."""
        cdef BddNode node
        cdef uint64_t hash
        cdef size_t mask = self.table.size() - 1, place
        cdef uint32_t number
        if low == high:
            return low
        node.variable, node.low, node.high = variable, low, high
        hash = hash_node(&node)
        place = first_place(hash, mask)
        while self.table[place] != NOTHING:
            number = self.table[place]
            if self.nodes[number].variable == variable and self.nodes[number].low == low and (
                self.nodes[number].high == high
            ):
                return number
            place = next_place(place, mask)
        if self.free_nodes.size():
            number = self.free_nodes.back()
            self.free_nodes.pop_back()
            self.nodes[number] = node
        else:
            number = <uint32_t>self.nodes.size()
            self.nodes.push_back(node)
        self.live += 1
        self.made += 1
        self.table[place] = number
        if self.live * 2 > self.table.size():
            self._fill_table()
        return number

    cdef void _fill_table(self) noexcept nogil:
        cdef uint32_t number
        self.table.assign(size_table(self.live, 64), NOTHING)
        for number in range(FIRST, <uint32_t>self.nodes.size()):
            if self.nodes[number].variable != NOTHING:
                self.table[find_empty(
                    self.table.data(), hash_node(&self.nodes[number]), self.table.size() - 1
                )] = number

    cdef uint32_t _apply(self, uint32_t left, uint32_t right, bint is_and) noexcept nogil:
        """Joins two diagrams; beyond the limit it gives up with any answer."""
        cdef BddNode a, b
        cdef uint64_t key
        cdef uint32_t variable, low, high
        if left == right or self.made > self.max_nodes:
            return left
        if left > right:
            left, right = right, left
        if left == NO:
            return NO if is_and else right
        if left == YES:
            return right if is_and else YES
        key = <uint64_t>left << 32 | right
        if self.memo.count(key):
            return self.memo[key]
        a, b = self.nodes[left], self.nodes[right]
        variable = min(a.variable, b.variable)
        low = self._apply(
            a.low if a.variable == variable else left,
            b.low if b.variable == variable else right, is_and,
        )
        high = self._apply(
            a.high if a.variable == variable else left,
            b.high if b.variable == variable else right, is_and,
        )
        low = self._make(variable, low, high)
        self.memo[key] = low
        return low

    # Garbage: what no root reaches.

    cdef int _prepare(self) except -1:
        if self.has_garbage:
            self._sweep()
        self.answered_at.resize(self.nodes.size())
        self.answers.resize(self.nodes.size())
        return 0

    cdef void _sweep(self) noexcept nogil:
        cdef vector[uint8_t] marks
        cdef uint32_t number
        cdef size_t slot
        marks.assign(self.nodes.size(), 0)
        for slot in range(self.root_of.size()):
            if self.root_of[slot] != NOTHING:
                self._mark(self.root_of[slot], &marks)
        self.free_nodes.clear()
        self.live = 0
        for number in range(FIRST, <uint32_t>self.nodes.size()):
            if marks[number]:
                self.live += 1
            else:
                self.nodes[number].variable = NOTHING
                self.free_nodes.push_back(number)
        self.swept = self.live
        self._fill_table()
        self.has_garbage = False

    cdef void _mark(self, uint32_t node, vector[uint8_t]* marks) noexcept nogil:
        while node >= FIRST and not marks[0][node]:
            marks[0][node] = 1
            self._mark(self.nodes[node].low, marks)
            node = self.nodes[node].high

    # Matching.

    cdef void _match(self) noexcept nogil:
        cdef size_t slot
        cdef uint32_t root
        for slot in range(self.root_of.size()):
            root = self.root_of[slot]
            if root != NOTHING and self._walk(root):
                emit(self, <uint32_t>slot)

    cdef bint _walk(self, uint32_t root) noexcept nogil:
        """Follows one path down, to an answer or to a node that knows it."""
        cdef uint32_t node = root
        cdef bint answer
        cdef size_t i
        self.path.clear()
        while node >= FIRST and self.answered_at[node] != self.signature:
            self.path.push_back(node)
            node = (
                self.nodes[node].high if is_true(self, self.nodes[node].variable)
                else self.nodes[node].low
            )
        self.visited += self.path.size() + 1
        answer = self.answers[node] if node >= FIRST else node == YES
        for i in range(self.path.size()):
            self.answered_at[self.path[i]] = self.signature
            self.answers[self.path[i]] = answer
        return answer

    cdef size_t _count_nodes(self) noexcept nogil:
        return self.live

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            bytes_of(self.nodes) + bytes_of(self.table) + bytes_of(self.root_of)
            + bytes_of(self.answered_at) + bytes_of(self.answers)
        )


cdef void mark_reached(Bdd engine, uint32_t root, vector[uint32_t]* built) noexcept nogil:
    """Marks the nodes of the form below the root: 0 where NOTHING was."""
    cdef const NormalNode* node
    cdef uint32_t number = root + 1, k
    built[0][root] = 0
    while number:
        number -= 1
        node = &engine.form.nodes[number]
        if built[0][number] != NOTHING and (node.kind == NORMAL_AND or node.kind == NORMAL_OR):
            for k in range(node.count):
                built[0][engine.form.edges[node.first + k]] = 0
