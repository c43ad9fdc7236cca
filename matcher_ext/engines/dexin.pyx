"""Subscribes intervals, plans a pipeline for each visit and runs it (dexin.pxd)."""
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.engines.bounds cimport (
    BoundArray, Bounded, Constraint, drop_bound, find_slot, is_ordered, list_intervals, narrow,
    put_bound, sort_slot, sum_slots,
)
from matcher_ext.engines.conjunctions cimport Conjunctive
from matcher_ext.engines.face cimport bytes_of, emit, nested_bytes_of, read_clock
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.predicate_index cimport order_float
from matcher_ext.values.predicate cimport FLOAT, Predicate

from matcher_ext.engines.conjunctions import MAX_CONJUNCTIONS, check_conjunctions
from matcher_ext.engines.limits import EngineLimitError

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <vector>
    template <class Step> static void sort_steps(std::vector<Step>& steps) {
        std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
            return a.rate != b.rate ? a.rate < b.rate : a.attribute < b.attribute;
        });
    }
    """
    void sort_steps[S](vector[S]& steps)

SLOTS = 1500                # the paper's number


cdef class Dexin(Conjunctive):
    def __init__(
        self, catalog, *, method="both", order="near-optimal", slots=SLOTS, max_attributes=22,
        max_conjunctions=MAX_CONJUNCTIONS,
    ):
        if method not in ("both", "exclusive", "inclusive"):
            raise ValueError(f"no method: {method}")
        if order not in ("near-optimal", "optimal"):
            raise ValueError(f"no order: {order}")
        super().__init__(catalog, max_conjunctions=max_conjunctions)
        self.asks = True
        self.method = method
        self.order = order
        self.is_exclusive_alone = method == "exclusive"
        self.is_inclusive_alone = method == "inclusive"
        self.is_optimal = order == "optimal"
        self.slot_count = slots
        self.max_attributes = max_attributes
        self.lows.resize(len(self.catalog.names))
        self.highs.resize(len(self.catalog.names))
        self.askers.assign(len(self.catalog.names), 0)

    # Subscribing.

    cdef int _read(self, uint32_t root) except -1:
        cdef vector[Constraint] intervals
        cdef const Predicate* predicate
        cdef double needed = 0.0, ways
        cdef size_t i, k
        Conjunctive._read(self, root)
        asked = {number for number in range(self.askers.size()) if self.askers[number]}
        for i in range(self.parts.size()):
            ways = 1.0
            for k in range(self.parts[i].size()):
                predicate = &self.form.predicates[self.form.nodes[self.parts[i][k]].first]
                if is_ordered(predicate):
                    asked.add(predicate.attribute)
                    intervals.clear()
                    list_intervals(predicate, self.form.words.data(), &intervals)
                    ways *= <double>intervals.size()
            needed += ways
        check_conjunctions(self.max_conjunctions, needed)
        if self.order == "optimal" and len(asked) > self.max_attributes:
            raise EngineLimitError("max_attributes", self.max_attributes, len(asked))
        return 0

    cdef int _link(self, uint32_t number) except -1:
        cdef vector[Constraint] taken
        cdef vector[uint32_t] others
        if self.made_of.size() <= number:
            self.made_of.resize(number + 1)
        self._expand(number, 0, &taken, &others)
        return 0

    cdef void _expand(
        self, uint32_t number, size_t at, vector[Constraint]* taken, vector[uint32_t]* others
    ) noexcept nogil:
        """Subscribes every choice of one interval for each predicate; none that is empty."""
        cdef vector[Constraint] intervals, longer
        cdef vector[uint32_t] more
        cdef const Predicate* predicate
        cdef uint32_t node
        cdef size_t i
        if at == self.conjunctions[number].size():
            self._subscribe(number, taken, others)
            return
        node = self.conjunctions[number][at]
        predicate = &self.store.predicates[self.store.nodes[node].first]
        if not is_ordered(predicate):
            more = others[0]
            more.push_back(node)
            self._expand(number, at + 1, taken, &more)
            return
        list_intervals(predicate, self.store.words.data(), &intervals)
        for i in range(intervals.size()):
            longer = taken[0]
            if narrow(&longer, &intervals[i]):
                self._expand(number, at + 1, &longer, others)

    cdef void _subscribe(
        self, uint32_t number, const vector[Constraint]* taken, const vector[uint32_t]* others
    ) noexcept nogil:
        cdef const Constraint* asked
        cdef uint32_t subscription
        cdef size_t i
        if self.free_subscriptions.size():
            subscription = self.free_subscriptions.back()
            self.free_subscriptions.pop_back()
        else:
            subscription = <uint32_t>self.conjunction_of.size()
            self.conjunction_of.push_back(NOTHING)
            self.constraints.resize(subscription + 1)
            self.others.resize(subscription + 1)
        self.conjunction_of[subscription] = number
        self.made_of[number].push_back(subscription)
        self.constraints[subscription] = taken[0]
        self.others[subscription] = others[0]
        self.total += 1
        for i in range(taken.size()):
            asked = &self.constraints[subscription][i]
            self.askers[asked.attribute] += 1
            # One without any bound still asks for a value, so it must be found by its absence.
            if asked.low != INT64_MIN or asked.high == INT64_MAX:
                put_bound(
                    &self.lows[asked.attribute], asked.low, subscription, self.slot_count
                )
            if asked.high != INT64_MAX:
                put_bound(
                    &self.highs[asked.attribute], asked.high, subscription, self.slot_count
                )

    cdef int _unlink(self, uint32_t number) except -1:
        cdef size_t i
        for i in range(self.made_of[number].size()):
            self._unsubscribe(self.made_of[number][i])
        self.made_of[number].clear()
        return 0

    cdef void _unsubscribe(self, uint32_t subscription) noexcept nogil:
        cdef const Constraint* asked
        cdef size_t i
        for i in range(self.constraints[subscription].size()):
            asked = &self.constraints[subscription][i]
            self.askers[asked.attribute] -= 1
            if asked.low != INT64_MIN or asked.high == INT64_MAX:
                drop_bound(&self.lows[asked.attribute], asked.low, subscription)
            if asked.high != INT64_MAX:
                drop_bound(&self.highs[asked.attribute], asked.high, subscription)
        self.conjunction_of[subscription] = NOTHING
        self.constraints[subscription].clear()
        self.others[subscription].clear()
        self.free_subscriptions.push_back(subscription)
        self.total -= 1

    cdef int _prepare(self) except -1:
        cdef size_t i
        self.out_at.resize(self.conjunction_of.size())
        for i in range(self.lows.size()):
            sum_slots(&self.lows[i])
            sum_slots(&self.highs[i])
        return 0

    # Planning.

    cdef void _plan(self) noexcept nogil:
        """Plans by algorithm 4; the matching rates come from the counts of slots."""
        cdef double accumulated = 1.0
        cdef bint is_inclusive = self.is_inclusive_alone
        cdef size_t i
        self.pipeline.clear()
        for i in range(self.askers.size()):
            if self.askers[i]:
                self.pipeline.push_back(self._rate(<uint32_t>i))
        sort_steps(self.pipeline)
        if self.is_optimal:
            self._plan_optimal()
            return
        for i in range(self.pipeline.size()):
            if i and not self.is_exclusive_alone and accumulated <= self.pipeline[i].excluded:
                is_inclusive = True
            self.pipeline[i].inclusive = is_inclusive
            self.planned_cost += accumulated if is_inclusive else self.pipeline[i].excluded
            accumulated *= self.pipeline[i].rate

    cdef Step _rate(self, uint32_t attribute) noexcept nogil:
        cdef const BoundArray* low = &self.lows[attribute]
        cdef const BoundArray* high = &self.highs[attribute]
        cdef uint32_t out = self.askers[attribute]
        cdef int64_t value = 0
        cdef Step step
        if self._read_value(attribute, &value):
            out = 0
            if low.slots.size():
                out += low.sums.back() - low.sums[find_slot(low, value)]
            if high.slots.size():
                out += high.sums[find_slot(high, value) + 1]
        step.attribute = attribute
        step.excluded = min(1.0, <double>out / <double>self.total)
        step.rate = 1.0 - step.excluded
        step.inclusive = 0
        return step

    cdef bint _read_value(self, uint32_t attribute, int64_t* value) noexcept nogil:
        if not self.holder.scratch.visit.values[attribute].known:
            return False
        value[0] = self.holder.scratch.visit.values[attribute].word
        if self.catalog.table.attributes[attribute].type == FLOAT:
            value[0] = order_float(value[0])
        return True

    cdef void _plan_optimal(self) noexcept nogil:
        """Tries every choice of exclusive attributes, the rest by inclusion in ascending order."""
        cdef uint64_t best = 0, choice
        cdef double least = 1e300, cost
        cdef vector[Step] sorted_steps = self.pipeline
        cdef size_t i
        for choice in range(1, <uint64_t>1 << self.pipeline.size()):
            cost = self._cost(choice)
            if cost < least:
                least = cost
                best = choice
        self.pipeline.clear()
        for i in range(sorted_steps.size()):
            if best >> i & 1:
                self.pipeline.push_back(sorted_steps[i])
        for i in range(sorted_steps.size()):
            if not best >> i & 1:
                sorted_steps[i].inclusive = 1
                self.pipeline.push_back(sorted_steps[i])
        if sorted_steps.size():
            self.planned_cost += least

    cdef double _cost(self, uint64_t choice) noexcept nogil:
        """Estimates by formula (6): what exclusion goes through, then what is left before each
        inclusion."""
        cdef double cost = 0.0, left = 1.0
        cdef size_t i
        for i in range(self.pipeline.size()):
            if choice >> i & 1:
                cost += self.pipeline[i].excluded
                left *= self.pipeline[i].rate
        for i in range(self.pipeline.size()):
            if not choice >> i & 1:
                cost += left
                left *= self.pipeline[i].rate
        return cost

    # Matching.

    cdef void _match(self) noexcept nogil:
        """Matches by algorithm 3: exclusions mark, inclusions filter the list of what is left."""
        cdef uint64_t started = read_clock()
        cdef uint32_t subscription
        cdef size_t at = 0, i, kept
        self._plan()
        self.planning_ns += read_clock() - started
        while at < self.pipeline.size() and not self.pipeline[at].inclusive:
            self._exclude(self.pipeline[at].attribute)
            at += 1
        self.remaining.clear()
        for subscription in range(<uint32_t>self.conjunction_of.size()):
            if self.out_at[subscription] != self.signature and (
                self.conjunction_of[subscription] != NOTHING
            ):
                self.remaining.push_back(subscription)
        while at < self.pipeline.size():
            kept = 0
            self.checked += self.remaining.size()
            for i in range(self.remaining.size()):
                self.remaining[kept] = self.remaining[i]
                kept += self._meets(self.remaining[i], self.pipeline[at].attribute)
            self.remaining.resize(kept)
            at += 1
        for i in range(self.remaining.size()):
            if self._holds(self.remaining[i]):
                emit(self, self.owner[self.conjunction_of[self.remaining[i]]])
        self.visited = self.excluded + self.checked

    cdef void _exclude(self, uint32_t attribute) noexcept nogil:
        """Excludes by algorithm 1; without a value, all subscriptions that ask for one are out."""
        cdef BoundArray* low = &self.lows[attribute]
        cdef BoundArray* high = &self.highs[attribute]
        cdef int64_t value = 0
        cdef bint known = self._read_value(attribute, &value)
        cdef size_t slot, at
        if low.slots.size():
            slot = find_slot(low, value) if known else 0
            if known:
                sort_slot(low, slot)
                at = low.slots[slot].size()
                while at and low.slots[slot][at - 1].bound > value:
                    at -= 1
                self._mark_out(&low.slots[slot], at, low.slots[slot].size())
            for slot in range(slot + 1 if known else 0, low.slots.size()):
                self._mark_out(&low.slots[slot], 0, low.slots[slot].size())
        if high.slots.size():
            slot = find_slot(high, value) if known else high.slots.size()
            for at in range(slot):
                self._mark_out(&high.slots[at], 0, high.slots[at].size())
            if known:
                sort_slot(high, slot)
                at = 0
                while at < high.slots[slot].size() and high.slots[slot][at].bound < value:
                    at += 1
                self._mark_out(&high.slots[slot], 0, at)

    cdef void _mark_out(
        self, const vector[Bounded]* items, size_t first, size_t end
    ) noexcept nogil:
        cdef size_t i
        self.excluded += end - first
        for i in range(first, end):
            self.out_at[items[0][i].subscription] = self.signature

    cdef bint _meets(self, uint32_t subscription, uint32_t attribute) noexcept nogil:
        """Tells by algorithm 2 whether one subscription is met."""
        cdef const Constraint* asked
        cdef int64_t value = 0
        cdef size_t i
        for i in range(self.constraints[subscription].size()):
            asked = &self.constraints[subscription][i]
            if asked.attribute == attribute:
                return self._read_value(attribute, &value) and asked.low <= value <= asked.high
        return True

    cdef bint _holds(self, uint32_t subscription) noexcept nogil:
        cdef size_t i
        for i in range(self.others[subscription].size()):
            if not self._ask(self.others[subscription][i]):
                return False
        return True

    cdef size_t _count_nodes(self) noexcept nogil:
        return self.total

    cdef size_t _count_bytes(self) noexcept nogil:
        cdef size_t total = (
            Conjunctive._count_bytes(self) + nested_bytes_of(self.constraints)
            + nested_bytes_of(self.others) + nested_bytes_of(self.made_of)
            + bytes_of(self.conjunction_of) + bytes_of(self.out_at)
        )
        cdef size_t i
        for i in range(self.lows.size()):
            total += nested_bytes_of(self.lows[i].slots) + nested_bytes_of(self.highs[i].slots)
        return total

    cdef int _describe(self, dict stats) except -1:
        stats["excluded"] = self.excluded
        stats["checked"] = self.checked
        stats["planning_ns"] = self.planning_ns
        stats["planned_cost_millionths"] = round(1e6 * self.planned_cost)
        return 0
