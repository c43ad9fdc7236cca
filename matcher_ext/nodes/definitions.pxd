"""Finds and adds the names of a store's definitions, and follows references to them.

A name stays for as long as its store: nodes refer to definitions by number. What a definition means
is a node, of which it owns one use; replace_definition (shared_nodes.pxd) gives it another.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.normal_form cimport NormalForm

# Finds the definition of a name, or NOTHING.
cdef uint32_t find_definition(
    const NodeStore* store, const char* name, size_t length
) noexcept nogil
# Finds the definition of one of a form's names, or NOTHING.
cdef uint32_t find_named(
    const NodeStore* store, const NormalForm* form, uint32_t name
) noexcept nogil
# Finds the first name below a node of the form that has no definition, or NOTHING.
cdef uint32_t find_unknown_name(
    const NodeStore* store, const NormalForm* form, uint32_t node
) noexcept nogil
# Lists the definitions that a node refers to, directly or through others, each once.
cdef void collect_references(
    const NodeStore* store, uint32_t node, vector[uint32_t]* found
) noexcept nogil
# Adds a definition of a new name; takes over the caller's use of `root`.
cdef uint32_t add_definition(
    NodeStore* store, const char* name, size_t length, uint32_t root
) noexcept nogil
