"""Asks texts of a table that are in no index: parses and binds them, answers, forgets them."""
from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.tables.bound_index cimport BoundIndex, Thread
from matcher_ext.values.normal_form cimport NormalForm

cdef class AskedTexts:
    """Adds texts to a thread's question; `end` takes them out again."""
    cdef BoundIndex bound
    cdef Thread thread
    cdef readonly list roots            # nodes
    cdef uint32_t base                  # node of the form's first
    cdef size_t nodes
    cdef size_t children
    cdef size_t bounds
    cdef size_t runs
    cdef size_t shapes
    cdef size_t reaches

    cdef NormalForm form

    cdef int end(self) except -1

cdef AskedTexts begin_texts(BoundIndex bound, list texts)
# Returns the three bitmaps of a text over the whole table, as numpy arrays.
cdef tuple ask_text(BoundIndex bound, str text, uint64_t words)
