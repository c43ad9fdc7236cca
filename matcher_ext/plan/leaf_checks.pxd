"""Checks the predicate index of a plan, and the predicates that are tested one by one."""
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable

# Each returns the first thing wrong, or NULL. The totals are checked before.
cdef const char* check_tests(const Plan* plan, const CatalogTable* table) noexcept nogil
cdef const char* check_points(const Plan* plan) noexcept nogil
cdef const char* check_attributes(const Plan* plan, const CatalogTable* table) noexcept nogil
