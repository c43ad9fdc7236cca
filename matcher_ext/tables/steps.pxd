"""Follows bookings step by step: where visits are lost, and which condition alone loses them.

A booking is a list of steps, each a node, and a rest, the campaign's own conditions:

    publisher -> edge -> edge -> .. -> campaign         on a fixed path
    publisher -> some path is open -> campaign          on any path

  The *funnel* counts after each step the visits that passed it, and those of which it is false; the
  rest is unknown. A *sole blocker* is the only step or condition that a visit does not satisfy.

Bookings of one publisher are taken in the order of their steps. What the first steps of one came
to is left on a stack, and the next one goes on from where both part.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.tables.asking cimport Asker

cdef cppclass Followed:
    """Bookings to follow. Of each: nodes[first of it : steps] are its steps, up to its end the
    rest."""
    vector[uint32_t] gates      # NOTHING: any block
    vector[uint32_t] firsts     # and one more
    vector[uint32_t] rests
    vector[uint32_t] nodes
    vector[uint32_t] results    # where the booking's results begin
    vector[uint32_t] order      # by gate, then by steps

# Puts all bookings into their order, once they are there.
cdef int order_followed(Followed* followed) except -1 nogil
# Adds of each booking: visits, then (passed, false) of each step and of the campaign.
cdef int follow_steps(Asker* asker, const Followed* followed, int64_t* results) except -1 nogil
# Adds of each booking, by node: visits that fail it and nothing else.
cdef int find_sole_blockers(
    Asker* asker, const Followed* followed, int64_t* results
) except -1 nogil
