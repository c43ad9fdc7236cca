"""Whoever fills a visit by itself, where otherwise a dict would be read."""
from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.visit cimport Visit

cdef class VisitSource:
    # Into a cleared visit; raises if it cannot, and the visit is then of no use.
    cdef int read_into(self, CompiledCatalog catalog, Visit* visit) except -1
