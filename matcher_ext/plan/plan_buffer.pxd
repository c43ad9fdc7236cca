"""The memory of a frozen index: made by freezing or mapped from a file, checked, never changed.

Owns what can be said of an index without a visit: its ids, its names, its sizes, its graph. What
is true of a visit is asked of a Snapshot (snapshot.pxd), which is one of these.
"""
from libcpp.vector cimport vector

from matcher_ext.plan.graph_from_plan cimport Graph
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CompiledCatalog

cdef class PlanBuffer:
    """Immutable: any number of threads may read it. What is made when it is first asked for, the
    order of the ids and the graph, is the same whoever makes it."""
    cdef Plan plan
    cdef vector[char] owned         # the buffer of a frozen index, or empty
    cdef object mapping             # the memoryview of an opened file, or None
    cdef readonly CompiledCatalog catalog
    cdef object sorted_ids          # numpy, made when first asked for
    cdef object id_order
    cdef Graph graph                # what _thaw made
    cdef bint is_thawed
    cdef object lock                # of the making

    # One of these two comes first of all: it takes over what build_plan made, or maps a file.
    cdef int _take_over(self, CompiledCatalog catalog, vector[char]* buffer) except -1
    cdef int _map(self, object path, bint recheck) except -1
    # Makes the graph; to be called before anything reads nodes, expressions, definitions or
    # predicates.
    cdef int _thaw(self) except -1
