"""Chooses who is pushed, and by what (plan.pxd), which makes matching fast or slow.

Measured truth rates come from the store; a predicate without one gets a guess from its kind and
from how many different values its attribute is asked for. Independence is good enough for the
rest. Rejected: the paper's random access child, 1.5 to 4 times slower.
"""
from matcher_ext.freeze.draft cimport Draft

cdef enum:
    SLOT_SIZE = 32      # instructions; a larger pulled node with several parents becomes a slot
    PAIR_VALUES = 8     # a predicate with more values is no half of a pair
    PAIR_MINIMUM = 64   # expressions on the partition's attribute

# Guesses rates, weighs nodes, and fills what the draft says of pushing.
cdef void choose_access(Draft* draft) noexcept nogil
