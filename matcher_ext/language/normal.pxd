"""Brings trees into normal form: negation in the predicates, and/or flattened, children sorted.

Memoised by (node, polarity), so that xor chains do not explode: at most two entries per node of
the tree, where an xor of n children stands for n - 1 entries of three nodes each.
"""
from libc.stdint cimport uint32_t

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.tree cimport Tree

# Appends the expression to the form and its root to `form.roots`; returns the root, or NOTHING
# for a tree with problems or with a managed list that the catalogue did not know.
cdef uint32_t normalise(
    const CatalogTable* table, const char* text, const Tree* tree, NormalForm* form
) noexcept nogil

# Parses and normalises `count` texts, one root each; `tree` is scratch. Returns how many
# texts had problems (their roots are NOTHING; `check_text` in reading.pyx says what they are).
cdef uint32_t normalise_texts(
    const CatalogTable* table,
    const char* const* texts,
    const size_t* lengths,
    uint32_t count,
    bint composed,
    Tree* tree,
    NormalForm* form,
) noexcept nogil
