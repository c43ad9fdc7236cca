"""Measures how often predicates are true of a sample of visits."""
from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.catalog cimport CompiledCatalog

# Sets the rates of all predicates in use.
cdef int learn_rates(NodeStore* store, CompiledCatalog catalog, object visits) except -1
# Returns a truth rate as a float; raises for anything else, so that a job that measured it hears.
cdef object check_rate(object text, object rate)
