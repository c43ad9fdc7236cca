"""Texts that a dynamic index is given: read into its form, or refused. Changes nothing else of it."""
from matcher_ext.atree cimport ATree

# Fills the form, one root per text; NOTHING where a text is refused.
cdef int read_texts(ATree index, list texts) except -1
cdef bint has_refused(ATree index)
# The language's errors of all texts, also of those after the first bad chunk, by id.
cdef dict describe_refused(ATree index, ids, texts)
# Raises if the form names a definition that there is not.
cdef int check_names(ATree index) except -1
