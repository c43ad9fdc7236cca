"""Checks slots, streams, records and pairs of a plan: they fill RECORDS from its first word on."""
from matcher_ext.plan.plan cimport Plan

# Returns the first thing wrong, or NULL. The totals are checked before.
cdef const char* check_records(const Plan* plan) noexcept nogil
