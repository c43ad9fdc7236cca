"""Counts a whole circuit over a block, expression by expression."""
from libc.stdint cimport int64_t

from matcher_ext.count.slices cimport Slices

# Evaluates a circuit over a block and adds to counts: one line per group.
cdef void count_block(Slices* slices, int64_t* counts) noexcept nogil
