"""Interns many roots at once, and fetches what is to be compared before it is needed.

A large store lies far beyond the caches, and finding one node takes four lines that depend on each
other: its slot, the node, its links or predicate, the predicate's values. Each is fetched for some
nodes ahead of the one that is compared.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.nodes.store cimport NodeStore
from matcher_ext.values.normal_form cimport NormalForm

# Interns all roots of a form that was begun; the caller owns a use of each node in `nodes`.
cdef void intern_roots(
    NodeStore* store, const NormalForm* form, vector[uint32_t]* nodes
) noexcept nogil
