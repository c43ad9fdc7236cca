"""The names of a store's definitions: found, added, and what lies behind them.

A name stays for as long as its store: nodes refer to definitions by number. What a definition means
is a node, of which it owns one use; giving it another meaning is the store's (replace_definition).
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.normal_form cimport NormalForm

# The definition of this name, or NOTHING.
cdef uint32_t find_definition(
    const NodeStore* store, const char* name, size_t length
) noexcept nogil
# The same, for one of the form's names.
cdef uint32_t find_named(
    const NodeStore* store, const NormalForm* form, uint32_t name
) noexcept nogil
# The first name below a node of the form that has no definition, or NOTHING.
cdef uint32_t find_unknown_name(
    const NodeStore* store, const NormalForm* form, uint32_t node
) noexcept nogil
# Definitions that a node refers to, directly or through others, each once.
cdef void collect_references(
    const NodeStore* store, uint32_t node, vector[uint32_t]* found
) noexcept nogil
# Takes over the caller's use of `root`. The name must be new.
cdef uint32_t add_definition(
    NodeStore* store, const char* name, size_t length, uint32_t root
) noexcept nogil
