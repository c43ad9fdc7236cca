"""Whoever fills a visit by itself, where otherwise a dict would be read."""


cdef class VisitSource:
    cdef int read_into(self, CompiledCatalog catalog, Visit* visit) except -1:
        raise NotImplementedError
