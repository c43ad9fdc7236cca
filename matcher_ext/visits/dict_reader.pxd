"""Reads a Python mapping into a typed visit (visit.pxd)."""
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.visits.visit cimport Visit

# Clears the visit and fills it from a flat mapping; keys that the catalogue does not name are
# ignored. Needs the GIL.
cdef int read_visit(CompiledCatalog catalog, object mapping, Visit* visit) except -1
