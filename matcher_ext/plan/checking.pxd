"""Checks every index of a plan once, so that matching can trust them: bytes come from disk.

What is checked is that no index leads out of its section and that nothing runs in circles. A file
that was altered with care can still give wrong answers; the checksum is against accidents.
"""

from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable

# Returns the first thing wrong with a plan whose header was read, or NULL.
cdef const char* check_plan(const Plan* plan, const CatalogTable* table) noexcept nogil
