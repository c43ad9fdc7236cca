"""Text to tree: one pass of recursive descent, typed as it goes, with all its problems."""

from matcher_ext.values.arena cimport Tree
from matcher_ext.values.catalog cimport CatalogTable

cdef enum Limit:                # on what people write
    MAX_TEXT = 65536            # bytes
    MAX_LEVELS = 100
    MAX_PREDICATES = 5000
    MAX_VALUES = 10000          # of inline lists
    MAX_LIST = 1000000          # values of a managed list
    MAX_PROBLEMS = 50           # reported at once
    MAX_COMPOSED = 67108864     # bytes of a text that the platform composed

# Clears the tree first. `tree.root` is NOTHING exactly when `tree.problems` is not empty.
# `composed`: the text was put together from others by the platform (a booking), so the limits on
# what people write do not apply, except nesting.
cdef void parse_text(
    const CatalogTable* table, const char* text, size_t length, bint composed, Tree* tree
) noexcept nogil
