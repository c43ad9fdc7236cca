"""Checks the tables of clues that a plan holds (CLUE_INDEXES, CLUE_ROWS and CANDIDATES)."""
from matcher_ext.plan.plan cimport Plan

# Returns the first thing wrong, or NULL. The attributes are checked before.
cdef const char* check_clues(const Plan* plan) noexcept nogil
