"""Tests one canonical predicate (predicate.pxd) on one visit.

The truth is three-valued: a test of an attribute that the visit does not carry is UNDEFINED, except
the test whether it does.
"""
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport Predicate, PredicateView, Truth
from matcher_ext.visits.visit cimport Visit

cdef Truth test_predicate(
    PredicateView view, const Predicate* predicate, const CatalogTable* table, const Visit* visit
) noexcept nogil
