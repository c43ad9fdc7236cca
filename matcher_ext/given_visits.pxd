"""Visits as callers give them: a flat mapping, or the bytes of a plain request."""
from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.visit cimport Visit

# Raises if it cannot, and the visit is then of no use.
cdef int read_given(CompiledCatalog catalog, object given, Visit* visit) except -1
