"""Chooses between the two ways to count a block (counting.pxd)."""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.matching cimport match_visit
from matcher_ext.slices cimport ROWS, count_block, open_slices
from matcher_ext.visit cimport Visit

cdef extern from * nogil:
    """
    #include <chrono>
    #include <utility>
    static inline int64_t nanoseconds() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    template <class T> static inline void exchange_values(T& a, T& b) { std::swap(a, b); }
    """
    int64_t nanoseconds()
    void exchange_values(Visit& a, Visit& b)


cdef void exchange_visits(Visit* a, Visit* b) noexcept nogil:
    """Lends a visit to a scratch without copying it."""
    exchange_values(a[0], b[0])


cdef enum:
    FEW = 64            # rows; below, slices are not worth their set-up


cdef void open_counter(const Plan* plan, Counter* counter) noexcept nogil:
    open_slices(plan, &counter.slices)
    counter.slices.rows = 0
    counter.groups = NULL
    counter.sliced_ns = 0
    counter.single_ns = 0


cdef void count_singly(
    const Plan* plan,
    const CatalogTable* table,
    Scratch* scratch,
    Counter* counter,
    int64_t* counts,
) noexcept nogil:
    cdef int64_t size = plan.totals.entries
    cdef int64_t* line = counts
    cdef uint32_t row
    cdef size_t i
    for row in range(counter.slices.rows):
        if counter.groups != NULL:
            if counter.groups[row] < 0:
                continue
            line = counts + counter.groups[row] * size
        exchange_visits(&scratch.visit, &counter.slices.visits[row])
        match_visit(plan, table, scratch)
        exchange_visits(&scratch.visit, &counter.slices.visits[row])
        for i in range(scratch.matched.size()):
            line[scratch.matched[i]] += 1


cdef bint is_sliced(const Counter* counter) noexcept nogil:
    if counter.slices.rows < FEW:
        return False
    if counter.sliced_ns == 0:
        return True
    return counter.single_ns != 0 and counter.sliced_ns <= counter.single_ns


cdef void count_rows(
    const Plan* plan,
    const CatalogTable* table,
    Scratch* scratch,
    Counter* counter,
    int64_t* counts,
) noexcept nogil:
    # A walk is one visit's: what asks for reaches is counted visit by visit.
    cdef bint sliced = is_sliced(counter) and plan.routes.reach_count == 0
    cdef bint is_full = counter.slices.rows == ROWS
    cdef int64_t started = nanoseconds()
    if sliced:
        count_block(plan, table, &counter.slices, counter.groups, counts)
    else:
        count_singly(plan, table, scratch, counter, counts)
    if is_full:
        if sliced:
            counter.sliced_ns = nanoseconds() - started + 1
        else:
            counter.single_ns = nanoseconds() - started + 1
    counter.slices.rows = 0
