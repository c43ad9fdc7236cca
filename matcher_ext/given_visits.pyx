"""Which reader a visit needs (given_visits.pxd)."""
from matcher_ext.plain_requests cimport PlainVisit
from matcher_ext.visit cimport clear_visit, read_visit


cdef int read_given(CompiledCatalog catalog, object given, Visit* visit) except -1:
    if type(given) is not PlainVisit:
        return read_visit(catalog, given, visit)
    clear_visit(&catalog.table, visit)
    return (<PlainVisit>given).read_into(catalog, visit)
