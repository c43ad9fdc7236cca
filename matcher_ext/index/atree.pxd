"""The dynamic index: entries by id and named definitions over one store of shared nodes."""
from matcher_ext.index.dynamic_state cimport DynamicState

cdef class ATree(DynamicState):
    """One lock guards all of it: several threads may use an index, one at a time changes it."""
