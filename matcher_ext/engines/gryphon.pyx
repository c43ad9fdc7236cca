"""Makes and walks matching trees (gryphon.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.engines.conjunctions cimport Conjunctive
from matcher_ext.engines.face cimport bytes_of, emit, is_true, nested_bytes_of
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.predicate cimport EQUAL, Predicate

from matcher_ext.engines.conjunctions import MAX_CONJUNCTIONS


cdef class Gryphon(Conjunctive):
    def __init__(
        self, catalog, *, collapse=True, successors=False, factored=(), order=(),
        max_conjunctions=MAX_CONJUNCTIONS,
    ):
        """Makes an empty tree; `order` names the attributes that are tested first, `factored` those
        whose values have trees of their own."""
        super().__init__(catalog, max_conjunctions=max_conjunctions)
        self.collapse = collapse and not successors
        self.successors = successors
        numbers = self.catalog.numbers
        self.factored = [numbers[name] for name in factored]
        self.rank_of.resize(len(numbers))
        first = [numbers[name] for name in order]
        rest = [number for number in range(len(numbers)) if number not in set(first)]
        for rank, number in enumerate([*first, *rest]):
            self.rank_of[number] = rank
        self.true_by_rank.resize(len(numbers))

    cdef int _link(self, uint32_t number) except -1:
        if self.is_whole and self.factored.empty() and not self.successors:
            self.ends[self._place(self.roots[0], number)].push_back(number)
        else:
            self.is_whole = False
        return 0

    cdef int _unlink(self, uint32_t number) except -1:
        cdef vector[uint32_t]* ends
        cdef size_t i
        self.removed += 1
        if not self.is_whole or not self.factored.empty() or self.successors or (
            self.removed * 2 > self.owner.size()
        ):
            self.is_whole = False
            return 0
        ends = &self.ends[self._place(self.roots[0], number)]
        for i in range(ends.size()):
            if ends[0][i] == number:
                ends[0][i] = ends.back()
                ends.pop_back()
                break
        return 0

    # Making.

    cdef bint _is_equality(self, uint32_t predicate) noexcept nogil:
        cdef const Predicate* test = &self.store.predicates[self.store.nodes[predicate].first]
        return test.test == EQUAL and not test.negated

    cdef uint32_t _rank(self, uint32_t predicate) noexcept nogil:
        return self.rank_of[self.store.predicates[self.store.nodes[predicate].first].attribute]

    cdef uint32_t _new_node(self, uint32_t parent, uint32_t label) noexcept nogil:
        cdef TreeNode node
        node.rank, node.star, node.parent, node.label = NOTHING, NOTHING, parent, label
        self.nodes.push_back(node)
        self.edges.resize(self.nodes.size())
        self.ends.resize(self.nodes.size())
        return <uint32_t>(self.nodes.size() - 1)

    cdef uint32_t _star(self, uint32_t node) noexcept nogil:
        cdef uint32_t child = self.nodes[node].star
        if child == NOTHING:
            child = self._new_node(node, NOTHING)
            self.nodes[node].star = child
        return child

    cdef uint32_t _find_child(self, uint32_t node, uint32_t predicate) noexcept nogil:
        """Finds where an edge is or belongs."""
        cdef const vector[Edge]* edges = &self.edges[node]
        cdef uint32_t low = 0, high = <uint32_t>edges.size(), middle
        while low < high:
            middle = (low + high) // 2
            if edges[0][middle].predicate < predicate:
                low = middle + 1
            else:
                high = middle
        return low

    cdef uint32_t _follow(self, uint32_t node, uint32_t predicate) noexcept nogil:
        cdef uint32_t place = self._find_child(node, predicate)
        cdef Edge edge
        if place < self.edges[node].size() and self.edges[node][place].predicate == predicate:
            return self.edges[node][place].child
        edge.predicate = predicate
        edge.child = self._new_node(node, predicate)
        self.edges[node].insert(self.edges[node].begin() + place, edge)
        return edge.child

    cdef uint32_t _go_to_test(self, uint32_t node, uint32_t rank) noexcept nogil:
        """Follows stars to the node that tests an attribute, or makes it one or puts one before."""
        cdef uint32_t moved
        while self.nodes[node].rank < rank:
            node = self._star(node)
        if self.nodes[node].rank > rank and (
            self.nodes[node].star != NOTHING or self.edges[node].size()
        ):
            moved = self._new_node(node, NOTHING)
            self.nodes[moved].rank = self.nodes[node].rank
            self.nodes[moved].star = self.nodes[node].star
            self.edges[moved].swap(self.edges[node])
            self.nodes[node].star = moved
        self.nodes[node].rank = rank
        return node

    cdef uint32_t _place(self, uint32_t node, uint32_t number) noexcept nogil:
        """Finds or makes the node where a conjunction ends."""
        cdef vector[uint64_t] path
        cdef uint32_t predicate, level = 0, rank
        cdef size_t i
        for i in range(self.conjunctions[number].size()):
            predicate = self.conjunctions[number][i]
            if self._is_in_tree(predicate):
                path.push_back(<uint64_t>self._rank(predicate) << 32 | predicate)
        sort(path.begin(), path.end())
        for i in range(path.size()):
            rank = <uint32_t>(path[i] >> 32)
            while not self.collapse and level < rank:
                node = self._star(self._go_to_test(node, level))
                level += 1
            node = self._follow(self._go_to_test(node, rank), <uint32_t>path[i])
            level = rank + 1
        while not self.collapse and level < self.rank_of.size():
            node = self._star(self._go_to_test(node, level))
            level += 1
        return node

    cdef bint _is_in_tree(self, uint32_t predicate) noexcept nogil:
        """Says whether a predicate is an edge: not if its attribute is factored."""
        cdef size_t i
        if not self._is_equality(predicate):
            return not self.successors
        for i in range(self.factored.size()):
            if self._rank(predicate) == self.rank_of[self.factored[i]]:
                return False
        return True

    cdef int _prepare(self) except -1:
        if not self.is_whole:
            with nogil:
                self._build()
        self.seen_at.resize(self.nodes.size())
        return 0

    cdef void _build(self) noexcept nogil:
        cdef size_t trees = 1, i
        cdef uint32_t node, number
        self.nodes.clear()
        self.edges.clear()
        self.ends.clear()
        self.factors.assign(self.factored.size(), vector[uint32_t]())
        for i in range(self.factored.size()):
            for node in range(<uint32_t>self.store.nodes.size()):
                if self.store.nodes[node].uses and self._is_equality(node) and (
                    self._rank(node) == self.rank_of[self.factored[i]]
                ):
                    self.factors[i].push_back(node)
            trees *= self.factors[i].size() + 1
        self.roots.clear()
        while self.roots.size() < trees:
            self.roots.push_back(self._new_node(NOTHING, NOTHING))
        for number in range(<uint32_t>self.owner.size()):
            if self.owner[number] != NOTHING:
                self._place_in_trees(number, 0, 0, 1)
        if self.successors:
            self._find_covers()
        self.removed = 0
        self.is_whole = True

    cdef void _place_in_trees(
        self, uint32_t number, size_t factor, size_t tree, size_t step
    ) noexcept nogil:
        """Places a conjunction in the tree of its value, or in those of all values and of none.
        One that asks two values of a factored attribute is in no tree."""
        cdef const vector[uint32_t]* predicates = &self.conjunctions[number]
        cdef size_t size, i, k, own = 0, asked = 0
        if factor == self.factored.size():
            if self.successors and self._asks_twice(number):
                return
            self.ends[self._place(self.roots[tree], number)].push_back(number)
            return
        size = self.factors[factor].size()
        for i in range(predicates.size()):
            for k in range(size):
                if predicates[0][i] == self.factors[factor][k]:
                    own = k + 1
                    asked += 1
        if asked == 1:
            self._place_in_trees(number, factor + 1, tree + step * own, step * (size + 1))
        elif asked == 0:
            for k in range(size + 1):
                self._place_in_trees(number, factor + 1, tree + step * k, step * (size + 1))

    # Successors.

    cdef bint _asks_twice(self, uint32_t number) noexcept nogil:
        """Says whether a conjunction wants two values of one attribute, which no visit has."""
        cdef const vector[uint32_t]* predicates = &self.conjunctions[number]
        cdef size_t i, k
        for i in range(predicates.size()):
            for k in range(i):
                if self._is_equality(predicates[0][i]) and self._is_equality(predicates[0][k]) and (
                    self._rank(predicates[0][i]) == self._rank(predicates[0][k])
                ):
                    return True
        return False

    cdef void _find_covers(self) noexcept nogil:
        """Finds the nodes whose path is implied by a node's, without those that others imply.

        Parents come before children, and all that is implied is on one level.
        """
        cdef vector[vector[uint32_t]] implied
        cdef vector[uint32_t] marks
        cdef uint32_t node, other
        cdef size_t i, k
        implied.resize(self.nodes.size())
        marks.assign(self.nodes.size(), NOTHING)
        self.covers.assign(self.nodes.size(), vector[uint32_t]())
        for node in range(<uint32_t>self.nodes.size()):
            if self.nodes[node].parent != NOTHING:
                self._list_implied(node, &implied, &implied[node])
        for node in range(<uint32_t>self.nodes.size()):
            for i in range(implied[node].size()):
                other = implied[node][i]
                for k in range(implied[other].size()):
                    marks[implied[other][k]] = node
            for i in range(implied[node].size()):
                if marks[implied[node][i]] != node:
                    self.covers[node].push_back(implied[node][i])

    cdef void _list_implied(
        self, uint32_t node, const vector[vector[uint32_t]]* implied, vector[uint32_t]* into
    ) noexcept nogil:
        cdef uint32_t parent = self.nodes[node].parent, label = self.nodes[node].label, other, place
        cdef size_t i
        if label != NOTHING and self.nodes[parent].star != NOTHING:
            into.push_back(self.nodes[parent].star)
        for i in range(implied[0][parent].size()):
            other = implied[0][parent][i]
            if self.nodes[other].star != NOTHING:
                into.push_back(self.nodes[other].star)
            if label != NOTHING:
                place = self._find_child(other, label)
                if place < self.edges[other].size() and (
                    self.edges[other][place].predicate == label
                ):
                    into.push_back(self.edges[other][place].child)

    # Matching.

    cdef void _match(self) noexcept nogil:
        cdef size_t tree = 0, step = 1, i, k
        for i in range(self.true_by_rank.size()):
            self.true_by_rank[i].clear()
        for i in range(self.found.size()):
            self.true_by_rank[self._rank(self.found[i])].push_back(self.found[i])
        for i in range(self.factored.size()):
            for k in range(self.factors[i].size()):
                if is_true(self, self.factors[i][k]):
                    tree += step * (k + 1)
            step *= self.factors[i].size() + 1
        if self.successors:
            self._walk_covers(self.roots[tree])
        else:
            self._walk(self.roots[tree])

    cdef void _emit_ends(self, uint32_t node) noexcept nogil:
        cdef uint32_t number
        cdef bint holds
        cdef size_t i, k
        for i in range(self.ends[node].size()):
            number = self.ends[node][i]
            holds = True
            for k in range(self.conjunctions[number].size() if self.successors else 0):
                holds = holds and is_true(self, self.conjunctions[number][k])
            if holds:
                emit(self, self.owner[number])

    cdef void _walk(self, uint32_t root) noexcept nogil:
        cdef const vector[Edge]* edges
        cdef const vector[uint32_t]* truths
        cdef uint32_t node, place
        cdef size_t i
        self.stack.assign(1, root)
        while self.stack.size():
            node = self.stack.back()
            self.stack.pop_back()
            self.visited += 1
            self._emit_ends(node)
            if self.nodes[node].star != NOTHING:
                self.stack.push_back(self.nodes[node].star)
            edges = &self.edges[node]
            if edges.empty():
                continue
            self.tested += 1
            truths = &self.true_by_rank[self.nodes[node].rank]
            if edges.size() <= truths.size():
                for i in range(edges.size()):
                    if is_true(self, edges[0][i].predicate):
                        self.stack.push_back(edges[0][i].child)
                continue
            for i in range(truths.size()):
                place = self._find_child(node, truths[0][i])
                if place < edges.size() and edges[0][place].predicate == truths[0][i]:
                    self.stack.push_back(edges[0][place].child)

    cdef void _walk_covers(self, uint32_t root) noexcept nogil:
        """Goes down where a value leads; where none does, on to what else the values imply."""
        cdef const vector[uint32_t]* truths
        cdef uint32_t node, place, child
        cdef size_t i
        self.stack.assign(1, root)
        while self.stack.size():
            node = self.stack.back()
            self.stack.pop_back()
            if self.seen_at[node] == self.signature:
                continue
            self.seen_at[node] = self.signature
            self.visited += 1
            self._emit_ends(node)
            child = NOTHING
            if self.edges[node].size():
                self.tested += 1
                truths = &self.true_by_rank[self.nodes[node].rank]
                for i in range(truths.size()):
                    place = self._find_child(node, truths[0][i])
                    if place < self.edges[node].size() and (
                        self.edges[node][place].predicate == truths[0][i]
                    ):
                        child = self.edges[node][place].child
            if child != NOTHING:
                self.stack.push_back(child)
                continue
            if self.nodes[node].star != NOTHING:
                self.stack.push_back(self.nodes[node].star)
            self.stack.insert(
                self.stack.end(), self.covers[node].begin(), self.covers[node].end()
            )

    cdef size_t _count_nodes(self) noexcept nogil:
        return self.nodes.size()

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            Conjunctive._count_bytes(self) + bytes_of(self.nodes) + nested_bytes_of(self.edges)
            + nested_bytes_of(self.ends) + nested_bytes_of(self.covers)
        )
