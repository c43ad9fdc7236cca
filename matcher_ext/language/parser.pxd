"""Parses a text into a tree: one pass of recursive descent, typed as it goes, with all problems."""

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.tree cimport Tree

# Clears the tree first. `tree.root` is NOTHING exactly when `tree.problems` is not empty.
# `composed`: the text was put together from others by the platform (a booking), so the limits on
# what people write do not apply, except nesting.
cdef void parse_text(
    const CatalogTable* table, const char* text, size_t length, bint composed, Tree* tree
) noexcept nogil
