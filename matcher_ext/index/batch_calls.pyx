"""Matches batches of visits on a snapshot: which ids match each row, how many rows each id.

Stands behind the methods of Snapshot with the same names; owns how rows are fed to the compiled
code, not what a match or a count is (matching.pxd, counting.pxd).
"""
import time

import numpy

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.count.arrow_input cimport IdBuffer, to_numpy
from matcher_ext.count.blocks cimport MOST_ROWS, RowSource
from matcher_ext.count.circuit cimport Circuit, write_circuit
from matcher_ext.count.counting cimport (
    VISITS_AT_ONCE, Counter, count_singly, count_sliced, exchange_visits, is_worth_slicing,
    most_circuit_words, open_counter, rows_of_trial,
)
from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.match.matching cimport match_visit
from matcher_ext.match.results cimport copy_ids, count_matched
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.arrow cimport Batch
from matcher_ext.visits.arrow_cells cimport read_row, read_rows
from matcher_ext.visits.visit cimport Visit

from matcher_ext.count.arrow_input import read_batches, read_groups
from matcher_ext.tables.visit_table import VisitTable

cdef enum:
    FIRST_ROWS = 16         # matched one by one to see how long that takes
    # What a table of the demo costs, rounded up: preparing and counting a row, binding an
    # expression; and the most that a value takes while it is made.
    FEWEST_TABLE_ROWS = 2000
    TABLE_ROW_NS = 12000
    BIND_NS = 10000
    TABLE_CELL_BYTES = 24


cdef class CounterHolder:
    """The memory of one thread at a time; taken from the snapshot's and given back."""
    cdef Counter counter


cdef class CircuitHolder:
    """The index as counting reads it; shared by all threads."""
    cdef Circuit circuit


def match_batch(Snapshot snapshot, record_batch):
    cdef ScratchHolder holder = snapshot._take()
    cdef Batch batch
    cdef vector[int64_t] offsets
    cdef vector[Visit] visits
    cdef IdBuffer ids = IdBuffer()
    cdef size_t before
    cdef int64_t first, rows, row
    answers = snapshot._lend_rows(holder) if snapshot.answers else None
    visits.resize(VISITS_AT_ONCE)
    offsets.push_back(0)
    for batch in read_batches(snapshot.catalog, record_batch):
        with nogil:
            first = 0
            before = ids.size
            while first < batch.rows:
                rows = min(<int64_t>VISITS_AT_ONCE, batch.rows - first)
                read_rows(
                    &snapshot.catalog.table, &batch.columns, &batch.leaves, first, rows,
                    visits.data(),
                )
                for row in range(rows):
                    exchange_visits(&holder.scratch.visit, &visits[row])
                    match_visit(&snapshot.plan, &snapshot.catalog.table, &holder.scratch)
                    exchange_visits(&holder.scratch.visit, &visits[row])
                    copy_ids(
                        &snapshot.plan, &holder.scratch, ids.take(count_matched(&holder.scratch))
                    )
                    offsets.push_back(<int64_t>ids.size)
                    if first + row == 0:
                        ids.expect(before, 1, batch.rows)
                first += rows
                ids.expect(before, first, batch.rows)
    if answers is not None:
        answers.settle(holder)
    snapshot.pool.append(holder)
    return to_numpy(&offsets), ids.to_numpy()


def count_batch(Snapshot snapshot, record_batch, groups, group_count, working_bytes):
    lines, codes = read_groups(groups, group_count)
    if is_worth_a_table(snapshot, record_batch, lines, working_bytes):
        return count_by_table(snapshot, record_batch, lines, codes)
    counts = numpy.zeros((lines, len(snapshot)), dtype=numpy.int64)
    add_counts(snapshot, record_batch, codes, counts, working_bytes)
    snapshot.ids    # makes the order
    counts = counts.take(snapshot.id_order, axis=1)
    return counts[0] if groups is None else counts


def count_by_table(Snapshot snapshot, record_batch, lines, codes):
    """Counts over rows that are prepared first: an array, or a line for each code."""
    by = snapshot.catalog.names[snapshot.plan.routes.attribute]
    if codes is None:
        table = VisitTable.from_arrow(record_batch, snapshot.catalog, by=by, users=None)
        return table.count(snapshot)
    if len(codes) < record_batch.num_rows:
        raise ValueError("there are fewer group codes than rows")
    table = VisitTable.from_arrow(
        record_batch, snapshot.catalog, by=by, users=None, groups=codes[:record_batch.num_rows]
    )
    counts = numpy.zeros((lines, len(snapshot)), dtype=numpy.int64)
    found = table.count(snapshot, groups=True)
    for number, (code,) in enumerate(table.groups):
        if code >= 0:
            counts[code] = found[:, number]
    return counts


def is_worth_a_table(Snapshot snapshot, record_batch, int64_t lines, int64_t working_bytes):
    """Says whether to prepare the rows first (docs/counting.md), by how long a match of one visit
    takes. Only bookings on any path, since all others have blocks."""
    cdef CounterHolder held
    cdef double single_ns
    cdef int64_t rows = getattr(record_batch, "num_rows", 0)
    if not snapshot.plan.routes.reach_count or snapshot.answers or rows < FEWEST_TABLE_ROWS:
        return False
    if rows * TABLE_CELL_BYTES * len(snapshot.catalog) > working_bytes:
        return False
    if lines > 1 and 2 * sizeof(int64_t) * lines * len(snapshot) > working_bytes:
        return False
    held = take_counter(snapshot)
    single_ns = held.counter.single_ns
    snapshot.counters.append(held)
    if single_ns == 0:
        first = record_batch.slice(0, FIRST_ROWS)
        count_batch(snapshot, first, None, None, working_bytes)
        return is_worth_a_table(snapshot, record_batch, lines, working_bytes)
    return rows * (single_ns - TABLE_ROW_NS) > <double>BIND_NS * snapshot.plan.expression_count


def malformed_rows(Snapshot snapshot, record_batch):
    cdef ScratchHolder holder = snapshot._take()
    cdef Batch batch
    cdef vector[int64_t] counts
    cdef int64_t row
    for batch in read_batches(snapshot.catalog, record_batch):
        for row in range(batch.rows):
            read_row(
                &snapshot.catalog.table, &batch.columns, &batch.leaves, row, &holder.scratch.visit
            )
            counts.push_back(<int64_t>holder.scratch.visit.malformed.size())
    snapshot.pool.append(holder)
    return to_numpy(&counts)


def add_counts(
    Snapshot snapshot, record_batch, const int64_t[::1] codes, int64_t[:, ::1] counts,
    int64_t working_bytes,
):
    cdef CounterHolder held = take_counter(snapshot)
    cdef ScratchHolder holder = snapshot._take()
    cdef RowSource source
    cdef Batch batch
    cdef int64_t start = 0
    if counts.shape[0] == 0 or counts.shape[1] == 0:
        return
    answers = snapshot._lend_rows(holder) if snapshot.answers else None
    for batch in read_batches(snapshot.catalog, record_batch):
        if codes is not None and start + batch.rows > codes.shape[0]:
            raise ValueError("there are fewer group codes than rows")
        source.columns = &batch.columns
        source.leaves = &batch.leaves
        source.rows = batch.rows
        source.groups = NULL
        if codes is not None and batch.rows:
            source.groups = &codes[start]
        count_rows(snapshot, &source, holder, held, working_bytes, &counts[0, 0])
        start += batch.rows
    if answers is not None:
        answers.settle(holder)
    snapshot.pool.append(holder)
    snapshot.counters.append(held)


cdef int count_rows(
    Snapshot snapshot, const RowSource* source, ScratchHolder holder, CounterHolder held,
    int64_t working_bytes, int64_t* counts,
) except -1:
    """Counts the first few rows one by one, to see how long that takes; then as is faster."""
    cdef const CatalogTable* table = &snapshot.catalog.table
    cdef Counter* counter = &held.counter
    cdef int64_t first = 0, end
    while first < source.rows:
        if counter.single_ns == 0:
            end = min(source.rows, <int64_t>FIRST_ROWS)
        elif is_sliced(snapshot, counter, source.rows - first):
            end = first + rows_of_trial(&snapshot.plan, counter, source.rows - first)
            count_blocks(snapshot, source, first, end, counter, working_bytes, counts)
            if not is_sliced(snapshot, counter, MOST_ROWS):
                snapshot.circuit = None     # as large as the file, and of no use
            first = end
            continue
        else:
            end = min(source.rows, first + MOST_ROWS)
        with nogil:
            count_singly(
                &snapshot.plan, table, source, first, end, &holder.scratch, counter, counts
            )
        first = end
    return 0


cdef bint is_sliced(Snapshot snapshot, const Counter* counter, int64_t rows):
    return not snapshot.answers and is_worth_slicing(
        &snapshot.plan, counter, rows, snapshot.circuit is not None
    )


cdef int count_blocks(
    Snapshot snapshot, const RowSource* source, int64_t first, int64_t end, Counter* counter,
    int64_t working_bytes, int64_t* counts,
) except -1:
    cdef uint32_t expression = 0
    cdef CircuitHolder circuit
    snapshot._thaw()
    started = time.perf_counter_ns()
    while expression < snapshot.plan.expression_count:
        circuit = take_circuit(snapshot, expression, most_circuit_words(working_bytes))
        with nogil:
            count_sliced(
                &snapshot.plan, &snapshot.catalog.table, source, first, end, &circuit.circuit,
                counter, working_bytes, counts,
            )
        expression = circuit.circuit.end_expression
    if snapshot.circuit is None:
        # Pieces of a circuit are written anew for every batch, so the writing counts.
        counter.sliced_ns = <double>(time.perf_counter_ns() - started) * MOST_ROWS / (end - first)
    return 0


cdef CircuitHolder take_circuit(Snapshot snapshot, uint32_t expression, size_t most_words):
    """Takes the circuit of the expressions from this one on; that of all of them is kept."""
    cdef CircuitHolder held = snapshot.circuit
    if held is not None and expression == 0 and held.circuit.code.size() <= most_words:
        return held
    held = CircuitHolder()
    with nogil:
        write_circuit(
            &snapshot.plan, &snapshot.catalog.table, expression, most_words, &held.circuit
        )
    if expression == 0 and (
        held.circuit.end_expression == snapshot.plan.expression_count
    ):
        snapshot.circuit = held
    return held


cdef CounterHolder take_counter(Snapshot snapshot):
    cdef CounterHolder held
    if snapshot.counters:
        return snapshot.counters.pop()
    held = CounterHolder()
    open_counter(&snapshot.plan, &snapshot.catalog.table, &held.counter)
    return held
