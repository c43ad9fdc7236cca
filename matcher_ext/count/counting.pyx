"""Chooses between the two ways to count, and feeds them with rows (counting.pxd)."""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.count.block_counts cimport count_block
from matcher_ext.count.blocks cimport MOST_ROWS, RowSource, open_block, read_block
from matcher_ext.count.circuit cimport Circuit
from matcher_ext.match.matching cimport match_visit
from matcher_ext.match.results cimport list_entries
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport CANDIDATES, Plan, section_count
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.arrow_cells cimport read_rows
from matcher_ext.visits.visit cimport Value, Visit

cdef extern from * nogil:
    """
    #include <chrono>
    #include <utility>
    static inline double nanoseconds() {
        return (double)std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    template <class T> static inline void exchange_values(T& a, T& b) { std::swap(a, b); }
    """
    double nanoseconds()
    void exchange_values(Visit& a, Visit& b)

cdef enum:
    FEW = 256           # rows; fewer are matched one by one until both ways are measured
    FEWEST_ROWS = 64    # of a block
    MANY_CANDIDATES = 1000
    LARGE = 50000       # entries; the circuit of fewer is made at once
    MAKING_NS = 3000    # graph and circuit, for each entry
    TRIED_ROWS = 512


cdef void exchange_visits(Visit* a, Visit* b) noexcept nogil:
    exchange_values(a[0], b[0])


cdef void open_counter(
    const Plan* plan, const CatalogTable* table, Counter* counter
) noexcept nogil:
    open_block(plan, table, &counter.block)
    counter.slices.plan = plan
    counter.slices.table = table
    counter.slices.block = &counter.block
    counter.slices.used = 0
    counter.single_ns = 0
    counter.sliced_ns = 0
    counter.spent_ns = 0


# One by one.

cdef void count_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, Visit* visit, int64_t* line
) noexcept nogil:
    cdef size_t i
    exchange_visits(&scratch.visit, visit)
    match_visit(plan, table, scratch)
    exchange_visits(&scratch.visit, visit)
    list_entries(plan, scratch)
    for i in range(scratch.matched.size()):
        line[scratch.matched[i]] += 1


cdef void count_singly(
    const Plan* plan,
    const CatalogTable* table,
    const RowSource* source,
    int64_t first,
    int64_t end,
    Scratch* scratch,
    Counter* counter,
    int64_t* counts,
) noexcept nogil:
    cdef int64_t size = <int64_t>plan.totals.entries
    cdef double started = nanoseconds()
    cdef int64_t begin = first, group = 0
    cdef int64_t rows, row
    counter.visits.resize(VISITS_AT_ONCE)
    while begin < end:
        rows = min(<int64_t>VISITS_AT_ONCE, end - begin)
        read_rows(table, source.columns, source.leaves, begin, rows, counter.visits.data())
        for row in range(rows):
            if source.groups != NULL:
                group = source.groups[begin + row]
            if group >= 0:
                count_visit(
                    plan, table, scratch, &counter.visits[row], counts + group * size
                )
        begin += rows
    if end > first:
        counter.single_ns = (nanoseconds() - started) / (end - first) + 1
        counter.spent_ns += nanoseconds() - started


# Block by block.

cdef double share_of_block(int64_t rows) noexcept nogil:
    """Returns a block's share of a full one's cost, which grows by less than its rows: part of it
    is the circuit's length."""
    return 0.3 + 0.7 * rows / MOST_ROWS


cdef bint is_worth_making(const Plan* plan, const Counter* counter) noexcept nogil:
    """Says whether matching has taken as long as the making of the circuit would."""
    return plan.totals.entries < LARGE or (
        counter.spent_ns > <double>MAKING_NS * plan.totals.entries
    )


cdef int64_t rows_of_trial(const Plan* plan, const Counter* counter, int64_t rows) noexcept nogil:
    if plan.totals.entries < LARGE or counter.sliced_ns:
        return rows
    return min(rows, <int64_t>TRIED_ROWS)


cdef bint is_worth_slicing(
    const Plan* plan, const Counter* counter, int64_t rows, bint has_circuit
) noexcept nogil:
    if plan.routes.reach_count:
        return False        # a walk is one visit's
    if section_count(plan, CANDIDATES) > MANY_CANDIDATES:
        return False        # clues find a visit's few; a block would test each leaf on each row
    if counter.sliced_ns == 0 or counter.single_ns == 0:
        return rows >= FEW and (has_circuit or is_worth_making(plan, counter))
    cdef double full = share_of_block(rows)
    if rows > MOST_ROWS:
        full = <double>((rows + MOST_ROWS - 1) // MOST_ROWS)
    return counter.sliced_ns * full < counter.single_ns * rows


cdef size_t most_circuit_words(int64_t working_bytes) noexcept nogil:
    return <size_t>(working_bytes // 2 // sizeof(uint32_t))


cdef uint32_t rows_of_block(
    const CatalogTable* table, bint keeps_visits, int64_t working_bytes
) noexcept nogil:
    """Says how many rows a block may have. One costs two bytes an attribute, and a visit in full
    where it must be kept."""
    cdef int64_t row_bytes = 8 * <int64_t>table.attributes.size() + 64
    cdef int64_t rows
    if keeps_visits:
        row_bytes += <int64_t>(table.attributes.size() * sizeof(Value)) + 512
    rows = working_bytes // 8 // row_bytes // 64 * 64
    return <uint32_t>max(<int64_t>FEWEST_ROWS, min(<int64_t>MOST_ROWS, rows))


cdef void count_sliced(
    const Plan* plan,
    const CatalogTable* table,
    const RowSource* source,
    int64_t first,
    int64_t end,
    const Circuit* circuit,
    Counter* counter,
    int64_t working_bytes,
    int64_t* counts,
) noexcept nogil:
    cdef int64_t most = rows_of_block(table, circuit.is_lazy, working_bytes)
    cdef int64_t rows
    cdef double started
    counter.slices.circuit = circuit
    counter.slices.most_answers = <size_t>(working_bytes // 8 * 3)
    counter.block.keeps_visits = circuit.is_lazy
    while first < end:
        rows = min(most, end - first)
        started = nanoseconds()
        read_block(plan, table, source, first, first + rows, &counter.block)
        if counter.block.count:
            count_block(&counter.slices, counts)
        if rows == MOST_ROWS or rows == TRIED_ROWS:
            counter.sliced_ns = (nanoseconds() - started) / share_of_block(rows) + 1
        first += rows
