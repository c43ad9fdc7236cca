"""Reads texts that a dynamic index is given into its form, or refuses them; changes nothing
else."""
from matcher_ext.index.dynamic_state cimport DynamicState

# Fills the form, one root per text; NOTHING where a text is refused.
cdef int read_texts(DynamicState index, list texts) except -1
# Says whether one of them was refused.
cdef bint has_refused(DynamicState index)
# Describes the language's errors of all texts, also of those after the first bad chunk, by id.
cdef dict describe_refused(DynamicState index, ids, texts)
# Raises if the form names a definition that there is not.
cdef int check_names(DynamicState index) except -1
