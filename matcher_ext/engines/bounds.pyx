"""Lists the intervals of predicates and keeps bounds in slots (bounds.pxd)."""
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.predicate_index cimport order_float
from matcher_ext.values.predicate cimport (
    BETWEEN, BOOLEAN, EQUAL, FLOAT, INTEGER, LESS, LESS_EQUAL, TIMESTAMP, TIMESTAMP_LOCAL,
    Predicate,
)

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <vector>
    template <class Item> static void sort_bounds(std::vector<Item>& items) {
        std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
            return a.bound != b.bound ? a.bound < b.bound : a.subscription < b.subscription;
        });
    }
    """
    void sort_bounds[Item](vector[Item]& items)


# Intervals.

cdef bint is_ordered(const Predicate* predicate) noexcept nogil:
    return (
        predicate.type == BOOLEAN or predicate.type == INTEGER or predicate.type == FLOAT
        or predicate.type == TIMESTAMP or predicate.type == TIMESTAMP_LOCAL
    ) and (
        predicate.test == EQUAL or predicate.test == LESS or predicate.test == LESS_EQUAL
        or predicate.test == BETWEEN
    )


cdef int64_t read_bound(const Predicate* predicate, const int64_t* words, int place) noexcept nogil:
    cdef int64_t word = words[predicate.first + place]
    return order_float(word) if predicate.type == FLOAT else word


cdef void list_intervals(
    const Predicate* predicate, const int64_t* words, vector[Constraint]* intervals
) noexcept nogil:
    """Lists what makes an ordered predicate true: one interval, two, or none."""
    cdef int64_t low = INT64_MIN, high = read_bound(predicate, words, 0)
    if predicate.test == EQUAL or predicate.test == BETWEEN:
        low = high
    if predicate.test == BETWEEN:
        high = read_bound(predicate, words, 1)
    elif predicate.test == LESS:
        if high == INT64_MIN:
            if predicate.negated:
                add_interval(predicate, INT64_MIN, INT64_MAX, intervals)
            return
        high -= 1
    if not predicate.negated:
        add_interval(predicate, low, high, intervals)
        return
    if low > INT64_MIN:
        add_interval(predicate, INT64_MIN, low - 1, intervals)
    if high < INT64_MAX:
        add_interval(predicate, high + 1, INT64_MAX, intervals)


cdef void add_interval(
    const Predicate* predicate, int64_t low, int64_t high, vector[Constraint]* intervals
) noexcept nogil:
    cdef Constraint made
    made.attribute, made.low, made.high = predicate.attribute, low, high
    intervals.push_back(made)


cdef bint narrow(vector[Constraint]* taken, const Constraint* interval) noexcept nogil:
    """Adds an interval, or cuts the attribute's one by it; False: nothing is left."""
    cdef Constraint* own
    cdef size_t i
    for i in range(taken.size()):
        own = &taken[0][i]
        if own.attribute == interval.attribute:
            own.low = max(own.low, interval.low)
            own.high = min(own.high, interval.high)
            return own.low <= own.high
    taken.push_back(interval[0])
    return True


# Slots.

cdef size_t find_slot(const BoundArray* array, int64_t bound) noexcept nogil:
    cdef double place = (<double>bound - <double>array.first) / array.width
    if not place > 0.0:
        return 0
    if place >= <double>array.slots.size():
        return array.slots.size() - 1
    return <size_t>place


cdef void put_bound(
    BoundArray* array, int64_t bound, uint32_t subscription, size_t most
) noexcept nogil:
    cdef Bounded item
    cdef size_t slot
    item.bound, item.subscription = bound, subscription
    array.count += 1
    if array.slots.empty() or (
        array.slots.size() < most and array.count > 2 * array.slots.size()
    ):
        spread(array, &item, most)
        return
    slot = find_slot(array, bound)
    array.slots[slot].push_back(item)
    array.is_sorted[slot] = 0


cdef void spread(BoundArray* array, const Bounded* added, size_t most) noexcept nogil:
    """Cuts the range that bounds have now into more slots."""
    cdef vector[Bounded] items
    cdef int64_t last
    cdef size_t i
    for i in range(array.slots.size()):
        items.insert(items.end(), array.slots[i].begin(), array.slots[i].end())
    items.push_back(added[0])
    array.first = last = items[0].bound
    for i in range(items.size()):
        array.first = min(array.first, items[i].bound)
        last = max(last, items[i].bound)
    array.slots.assign(min(most, 2 * items.size()), vector[Bounded]())
    array.is_sorted.assign(array.slots.size(), 0)
    array.width = max(
        1.0, (<double>last - <double>array.first + 1.0) / <double>array.slots.size()
    )
    for i in range(items.size()):
        array.slots[find_slot(array, items[i].bound)].push_back(items[i])


cdef void drop_bound(BoundArray* array, int64_t bound, uint32_t subscription) noexcept nogil:
    cdef size_t slot = find_slot(array, bound), i
    cdef vector[Bounded]* items = &array.slots[slot]
    for i in range(items.size()):
        if items[0][i].subscription == subscription:
            items[0][i] = items.back()
            items.pop_back()
            array.is_sorted[slot] = 0
            array.count -= 1
            return


cdef void sort_slot(BoundArray* array, size_t slot) noexcept nogil:
    if not array.is_sorted[slot]:
        sort_bounds(array.slots[slot])
        array.is_sorted[slot] = 1


cdef void sum_slots(BoundArray* array) noexcept nogil:
    cdef uint32_t total = 0
    cdef size_t i
    array.sums.resize(array.slots.size() + 1)
    for i in range(array.slots.size()):
        array.sums[i] = total
        total += <uint32_t>array.slots[i].size()
    array.sums[array.slots.size()] = total
