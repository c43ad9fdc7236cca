"""Runs the programs of many records (plan.pxd) in rounds, one test of each.

Which way a test goes is as good as random, and a processor that guesses wrong throws away what it
has begun: that took visits of ads1m a third of their time. In a round nothing is guessed, and the
memory is asked for many records at once. Records of one level do not depend on each other, so they
may wait for the others (lanes.pxd).
"""
from libc.stdint cimport uint32_t

from matcher_ext.machine.bitmaps cimport fetch_line
from matcher_ext.match.lanes cimport LANES
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.record_format cimport (
    BEFORE_TESTS, RECORD_NEVER, RECORD_WIDE, program_of, test_words,
)
from matcher_ext.values.catalog cimport CatalogTable

cdef enum:
    ENOUGH = 64         # lanes that wait for others to join them: rounds of few do not pay

# Sets the target and lists the entries of a record whose program is true.
cdef void pass_record(Scratch* scratch, const uint32_t* record) noexcept nogil
# Runs a record at once, whatever its program.
cdef void run_record(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* record
) noexcept nogil
# Runs rounds until no more than `left` records wait.
cdef void run_rounds(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, size_t left
) noexcept nogil


cdef inline void run_soon(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* record
) noexcept nogil:
    """Lets a record wait for run_rounds."""
    cdef const uint32_t* program = program_of(record)
    cdef uint32_t place = <uint32_t>(record - plan.records)
    cdef size_t lane = scratch.lanes.count
    if program[0] & (RECORD_WIDE | RECORD_NEVER) or test_words(program) == 0:
        run_record(plan, table, scratch, record)
        return
    fetch_line(record + 8)
    scratch.lanes.record[lane] = place
    scratch.lanes.at[lane] = place + BEFORE_TESTS
    scratch.lanes.end[lane] = place + BEFORE_TESTS + test_words(program)
    scratch.lanes.count = lane + 1
    if lane + 1 == LANES:
        run_rounds(plan, table, scratch, ENOUGH)
