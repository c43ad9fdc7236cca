"""Finds, makes and removes the nodes of a store (store.pxd): one for each content, by use
counts."""
from libc.stdint cimport uint32_t

from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.normal_form cimport NormalForm

cdef void open_store(NodeStore* store) noexcept nogil

# Prepares a store for a form; to be called once, before the form's first `intern`. Gives back the
# memory of what was removed, when most of it is waste.
cdef void begin_form(NodeStore* store, const NormalForm* form) noexcept nogil
# Finds the node of this content, or NOTHING.
cdef uint32_t find(NodeStore* store, const NormalForm* form, uint32_t node) noexcept nogil
# Finds the node of this content, or makes it; the caller owns one use of it. Every name below must
# have a definition.
cdef uint32_t intern(NodeStore* store, const NormalForm* form, uint32_t node) noexcept nogil
# Gives back one use of a node; the last one removes it.
cdef void release(NodeStore* store, uint32_t node) noexcept nogil

# Gives a definition another root: takes over the caller's use of it, releases the old one.
cdef void replace_definition(NodeStore* store, uint32_t definition, uint32_t root) noexcept nogil
