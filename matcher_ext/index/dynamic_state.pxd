"""What a dynamic index consists of: entries and definitions over one store of shared nodes, and
what changed since it was last frozen.

Texts come into it by given_texts.pxd, the exchange graph by reaches.pxd; freezing.pxd makes
snapshots of it. ATree is its face.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.index.snapshot cimport Snapshot
from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.routes.route_section cimport RouteSpec
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.tree cimport Tree

cdef class DynamicState:
    """One lock guards all of it: whoever reads or changes it holds that."""
    cdef readonly CompiledCatalog catalog
    cdef object lock
    cdef NodeStore store
    cdef unordered_map[int64_t, uint32_t] roots     # id -> node, of which it owns one use
    cdef Tree tree                                  # scratch of the parser
    cdef NormalForm form
    cdef Snapshot frozen                            # of the present state, or None
    cdef Snapshot base                              # the last freeze, and what changed since:
    cdef set added                                  # ids
    cdef set dead                                   # ids
    cdef set redefined                              # names
    cdef tuple view                                 # what to match on, or None
    cdef Py_ssize_t patch_from                      # entries: see freezing.pxd
    cdef list answers                               # SlotAnswers, of definitions that code answers
    cdef RouteSpec spec                             # the exchange graph, if `nodes` is set
    cdef dict nodes                                 # party -> node of the graph, or None
    cdef readonly set borrowed                      # names of reaches that another index answers
    cdef dict reaches                               # name -> (party, hops)
    cdef vector[uint8_t] is_reach                   # by definition; those beyond its end are none

    # Forgets what was frozen; to be called after each change.
    cdef int _change(self) except -1
