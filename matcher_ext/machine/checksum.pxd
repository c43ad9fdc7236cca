"""The checksum of snapshot files: against accidents, not against people, at the speed of memory."""
from libc.stdint cimport uint64_t

# `seed` chains the sums of several pieces.
cdef uint64_t sum_words(const char* bytes, uint64_t size, uint64_t seed) noexcept nogil
