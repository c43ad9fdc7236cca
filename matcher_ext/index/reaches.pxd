"""Gives a dynamic index the exchange graph, and the definitions that the graph answers: reaches.

Whoever calls holds the index's lock and notes the change.
"""
from libc.stdint cimport uint32_t

from matcher_ext.index.dynamic_state cimport DynamicState

# Gives the index a graph, in which all reaches that it has are found again.
cdef int give_routes(DynamicState index, names, links, labels, sources, spare, attribute) except -1
# Returns the name of a reach; raises if there cannot be one.
cdef str find_reach(DynamicState index, party, hops)
# Adds a reach and its definition.
cdef int add_reach_of(DynamicState index, str name, party, hops) except -1
# Adds a definition that is never true for whoever does not know of reaches.
cdef uint32_t add_false(DynamicState index, str name) except? 0
# Raises if the form negates a reach, or uses one within a definition.
cdef int check_reaches(DynamicState index, bint within_definition) except -1
