"""Makes the canonical predicate (predicate.pxd) of a condition as written."""
from libc.stdint cimport uint32_t

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.tree cimport Condition, Tree

# Appends the predicate of a condition to the form; returns its index.
cdef uint32_t make_predicate(
    const CatalogTable* table,
    const Tree* tree,
    const Condition* condition,
    bint negated,
    NormalForm* form,
) noexcept nogil
