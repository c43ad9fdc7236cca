"""How often predicates are true of a sample of visits."""
from matcher_ext.catalog cimport CompiledCatalog
from matcher_ext.store cimport NodeStore

# Sets the rates of all predicates in use.
cdef int learn_rates(NodeStore* store, CompiledCatalog catalog, object visits) except -1
# A truth rate as a float. A job that measured something else must hear of it.
cdef object check_rate(object text, object rate)
