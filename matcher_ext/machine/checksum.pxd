"""Checks snapshot files by a sum: against accidents, not against people, at the speed of memory."""
from libc.stdint cimport uint64_t

# Sums up a piece of memory; `seed` is the sum of the piece before, or 0.
cdef uint64_t sum_words(const char* bytes, uint64_t size, uint64_t seed) noexcept nogil
