"""Asks predicates of conjunctions in three orders, and counts what it asks (overlapping.pxd)."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.engines.conjunctions cimport Conjunctive
from matcher_ext.engines.face cimport bytes_of, emit, nested_bytes_of
from matcher_ext.machine.hashing cimport mix
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.normal_form cimport NORMAL_PREDICATE
from matcher_ext.visits.dict_reader cimport read_visit

from matcher_ext.engines.conjunctions import MAX_CONJUNCTIONS

cdef enum:
    PAIRS = 8           # neighbours that a chain is compared with, for each of its predicates

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <vector>
    // Sorts savings: the greatest first, then by chains.
    template <class Saving> static void sort_savings(std::vector<Saving>& savings) {
        std::sort(savings.begin(), savings.end(), [](const Saving& a, const Saving& b) {
            if (a.amount != b.amount) return a.amount > b.amount;
            return a.before != b.before ? a.before < b.before : a.after < b.after;
        });
    }
    """
    void sort_savings[S](vector[S]& savings)


cdef class Naive(Conjunctive):
    """Each conjunction by itself, in the order of arrival; answers are kept for the visit."""

    def __init__(self, catalog, *, costs=None, max_conjunctions=MAX_CONJUNCTIONS):
        super().__init__(catalog, max_conjunctions=max_conjunctions)
        self.asks = True
        self.costs.assign(len(self.catalog.names), 1.0)
        for name, cost in (costs or {}).items():
            self.costs[self.catalog.numbers[name]] = cost

    def learn_truth_rates(self, visits):
        """Measures how often each predicate is true of a sample."""
        cdef uint32_t node
        self.prepare()
        self.seen.assign(self.store.nodes.size(), 0)
        self.held_true.assign(self.store.nodes.size(), 0)
        for visit in visits:
            read_visit(self.catalog, visit, &self.holder.scratch.visit)
            self.signature += 1
            for node in range(<uint32_t>self.store.nodes.size()):
                if self.store.nodes[node].uses and self.store.nodes[node].kind == NORMAL_PREDICATE:
                    self.seen[node] += 1
                    self.held_true[node] += self._ask(node)
        self.tested = 0
        self.is_stale = True

    cdef float _selectivity(self, uint32_t predicate) noexcept nogil:
        if predicate >= self.seen.size() or self.seen[predicate] == 0:
            return 0.5
        return <float>(self.held_true[predicate] + 0.5) / <float>(self.seen[predicate] + 1.0)

    cdef float _cost_of(self, uint32_t predicate) noexcept nogil:
        return self.costs[
            self.store.predicates[self.store.nodes[predicate].first].attribute
        ]

    cdef int _prepare(self) except -1:
        cdef uint32_t number
        cdef size_t i
        self.seen.resize(self.store.nodes.size())
        self.held_true.resize(self.store.nodes.size())
        with nogil:
            self.order.clear()
            self.users.assign(self.store.nodes.size(), vector[uint32_t]())
            self.chains.resize(self.conjunctions.size())
            for number in range(<uint32_t>self.owner.size()):
                if self.owner[number] != NOTHING:
                    self.order.push_back(number)
                    self.chains[number] = self.conjunctions[number]
                    self._shuffle(number)
                    for i in range(self.conjunctions[number].size()):
                        self.users[self.conjunctions[number][i]].push_back(number)
        return 0

    cdef void _shuffle(self, uint32_t number) noexcept nogil:
        """Puts a chain into an arbitrary order, as the paper's is: by number, the commonest would
        come first, for they came first."""
        cdef vector[uint32_t]* chain = &self.chains[number]
        cdef uint32_t moved
        cdef size_t i, k
        for i in range(1, chain.size()):
            k = <size_t>(mix(number, i) % (i + 1))
            moved = chain[0][i]
            chain[0][i] = chain[0][k]
            chain[0][k] = moved

    cdef bint _pay(self, uint32_t predicate) noexcept nogil:
        if self.asked_at[predicate] != self.signature:
            self.cost += self._cost_of(predicate)
        return self._ask(predicate)

    cdef void _match(self) noexcept nogil:
        cdef uint32_t number
        cdef bint holds
        cdef size_t i, k
        for i in range(self.order.size()):
            number = self.order[i]
            self.visited += 1
            holds = True
            k = 0
            while holds and k < self.chains[number].size():
                holds = self._pay(self.chains[number][k])
                k += 1
            if holds:
                emit(self, self.owner[number])

    # Decisions of the two that share them.

    cdef void _open_visit(self) noexcept nogil:
        cdef size_t i
        self.is_decided.assign(self.owner.size(), 0)
        self.left.resize(self.owner.size())
        self.open_users.resize(self.users.size())
        for i in range(self.order.size()):
            self.left[self.order[i]] = <uint32_t>self.chains[self.order[i]].size()
        for i in range(self.users.size()):
            self.open_users[i] = <uint32_t>self.users[i].size()

    cdef void _decide(self, uint32_t number) noexcept nogil:
        cdef size_t i
        self.is_decided[number] = 1
        for i in range(self.chains[number].size()):
            self.open_users[self.chains[number][i]] -= 1

    cdef void _ask_for_all(self, uint32_t predicate) noexcept nogil:
        """Asks a predicate, and lets the answer count for every conjunction that has it."""
        cdef bint holds = self._pay(predicate)
        cdef uint32_t number
        cdef size_t i
        for i in range(self.users[predicate].size()):
            number = self.users[predicate][i]
            if self.is_decided[number]:
                continue
            self.visited += 1
            self.left[number] -= 1
            if not holds:
                self._decide(number)
            elif self.left[number] == 0:
                self._decide(number)
                emit(self, self.owner[number])

    cdef size_t _count_bytes(self) noexcept nogil:
        return (
            Conjunctive._count_bytes(self) + bytes_of(self.order) + nested_bytes_of(self.chains)
            + nested_bytes_of(self.users)
        )

    cdef int _describe(self, dict stats) except -1:
        stats["cost"] = round(self.cost)
        return 0


cdef class Sequential(Naive):
    """Any undecided conjunction, with all of its predicates (algorithm 1)."""

    cdef void _match(self) noexcept nogil:
        cdef vector[uint32_t] marked
        cdef uint32_t number
        cdef size_t i, k
        self._open_visit()
        for i in range(self.order.size()):
            number = self.order[i]
            if self.is_decided[number]:
                continue
            marked = self.chains[number]
            for k in range(marked.size()):
                if self.asked_at[marked[k]] != self.signature and self.open_users[marked[k]]:
                    self._ask_for_all(marked[k])


cdef class Suborder(Naive):
    """Linked chains in the order of their shared benefit (section 4.2)."""

    cdef int _prepare(self) except -1:
        cdef vector[Saving] savings
        cdef uint32_t number
        Naive._prepare(self)
        with nogil:
            for number in range(<uint32_t>self.owner.size()):
                if self.owner[number] != NOTHING:
                    self._sort_chain(number)
            self._collect_savings(&savings)
            sort_savings(savings)
            self._join_chains(&savings)
        return 0

    cdef void _sort_chain(self, uint32_t number) noexcept nogil:
        """Sorts a chain by selectivity times cost, by insertion: chains are short."""
        cdef vector[uint32_t]* chain = &self.chains[number]
        cdef uint32_t moved
        cdef size_t i, k
        for i in range(1, chain.size()):
            moved = chain[0][i]
            k = i
            while k and (
                self._selectivity(chain[0][k - 1]) * self._cost_of(chain[0][k - 1])
                > self._selectivity(moved) * self._cost_of(moved)
            ):
                chain[0][k] = chain[0][k - 1]
                k -= 1
            chain[0][k] = moved

    cdef float _compare(self, uint32_t left, uint32_t right) noexcept nogil:
        """Returns how much more it costs to ask the left chain first (section 4.2.4).

        C1 - C2 = sum over shared predicates of (1 - p) (P2 C1' - P1 C2'): P is the chance that all
        before it hold, C' the cost of those that are not shared.
        """
        cdef const vector[uint32_t]* a = &self.chains[left]
        cdef const vector[uint32_t]* b = &self.chains[right]
        cdef float total = 0.0, p
        cdef size_t i, k
        for i in range(a.size()):
            for k in range(b.size()):
                if a[0][i] == b[0][k]:
                    p = self._selectivity(a[0][i])
                    total += (1.0 - p) * (
                        self._chance_before(b, k) * self._cost_before(a, i, b)
                        - self._chance_before(a, i) * self._cost_before(b, k, a)
                    )
        return total

    cdef float _chance_before(self, const vector[uint32_t]* chain, size_t place) noexcept nogil:
        cdef float chance = 1.0
        cdef size_t i
        for i in range(place):
            chance *= self._selectivity(chain[0][i])
        return chance

    cdef float _cost_before(
        self, const vector[uint32_t]* chain, size_t place, const vector[uint32_t]* other
    ) noexcept nogil:
        cdef float total = 0.0, chance = 1.0
        cdef bint shared
        cdef size_t i, k
        for i in range(place):
            shared = False
            for k in range(other.size()):
                shared = shared or other[0][k] == chain[0][i]
            if not shared:
                total += chance * self._cost_of(chain[0][i])
                chance *= self._selectivity(chain[0][i])
        return total

    cdef void _collect_savings(self, vector[Saving]* savings) noexcept nogil:
        cdef Saving saving
        cdef uint32_t left, right
        cdef size_t predicate, i, k
        for predicate in range(self.users.size()):
            for i in range(self.users[predicate].size()):
                left = self.users[predicate][i]
                for k in range(i + 1, min(i + 1 + <size_t>PAIRS, self.users[predicate].size())):
                    right = self.users[predicate][k]
                    saving.amount = self._compare(left, right)
                    saving.before, saving.after = right, left
                    if saving.amount < 0:
                        saving.amount = -saving.amount
                        saving.before, saving.after = left, right
                    if saving.amount > 0:
                        savings.push_back(saving)

    cdef void _join_chains(self, const vector[Saving]* savings) noexcept nogil:
        """Takes edges, the greatest saving first, unless a chain would have two before or after it
        or a cycle would close (section 4.2.5); the paths are asked one after another."""
        cdef vector[uint32_t] after, before, path
        cdef uint32_t number, first, second
        cdef size_t i
        after.assign(self.owner.size(), NOTHING)
        before.assign(self.owner.size(), NOTHING)
        path.resize(self.owner.size())
        for number in range(<uint32_t>path.size()):
            path[number] = number
        for i in range(savings.size()):
            first, second = savings[0][i].before, savings[0][i].after
            if after[first] == NOTHING and before[second] == NOTHING and (
                find_path(&path, first) != find_path(&path, second)
            ):
                after[first] = second
                before[second] = first
                path[find_path(&path, first)] = find_path(&path, second)
        self.order.clear()
        self._follow_paths(&before, &after)

    cdef void _follow_paths(
        self, const vector[uint32_t]* before, const vector[uint32_t]* after
    ) noexcept nogil:
        """Lists the paths; first those whose head has the best chance to decide many others."""
        cdef vector[Saving] heads
        cdef Saving head
        cdef uint32_t number
        cdef size_t i
        for number in range(<uint32_t>self.owner.size()):
            if self.owner[number] != NOTHING and before[0][number] == NOTHING:
                head.amount = 0.0
                head.before = head.after = number
                if self.chains[number].size():
                    head.amount = (1.0 - self._selectivity(self.chains[number][0])) * (
                        <float>self.users[self.chains[number][0]].size()
                    ) / self._cost_of(self.chains[number][0])
                heads.push_back(head)
        sort_savings(heads)
        for i in range(heads.size()):
            number = heads[i].before
            while number != NOTHING:
                self.order.push_back(number)
                number = after[0][number]

    cdef void _match(self) noexcept nogil:
        cdef uint32_t number
        cdef size_t i, k
        self._open_visit()
        for i in range(self.order.size()):
            number = self.order[i]
            k = 0
            while not self.is_decided[number] and k < self.chains[number].size():
                if self.asked_at[self.chains[number][k]] != self.signature:
                    self._ask_for_all(self.chains[number][k])
                k += 1


cdef uint32_t find_path(vector[uint32_t]* path, uint32_t number) noexcept nogil:
    while path[0][number] != number:
        path[0][number] = path[0][path[0][number]]
        number = path[0][number]
    return number
