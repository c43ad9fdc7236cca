"""Text to tree: one pass of recursive descent, typed as it goes, with all its problems."""
from libc.stdint cimport uint32_t

from matcher_ext.arena cimport Tree
from matcher_ext.catalog cimport CatalogTable

# Clears the tree first. `tree.root` is NOTHING exactly when `tree.problems` is not empty.
cdef void parse_text(
    const CatalogTable* table, const char* text, size_t length, Tree* tree
) noexcept nogil
