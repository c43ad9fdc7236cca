"""Empties a tree (tree.pxd)."""
from matcher_ext.machine.links cimport NOTHING


cdef void clear_tree(Tree* tree) noexcept nogil:
    tree.nodes.clear()
    tree.edges.clear()
    tree.conditions.clear()
    tree.words.clear()
    tree.raw.clear()
    tree.bytes.clear()
    tree.names.clear()
    tree.notes.clear()
    tree.problems.clear()
    tree.root = NOTHING
