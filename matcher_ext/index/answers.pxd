"""Definitions that Python code answers instead of an expression.

    index.answer_slots(["late", "rich"], function, asks=["hours"])

`function(ask)` is called when a visit first needs one of the names, at most once per visit, and
returns truths by name: True, False, None for undefined; names that it leaves out are undefined.
`ask(name)` says whether another definition is true of the visit; one that is being answered
just then is not. Compiled code needs none of this: an Answerer (scratch.pxd) takes no lock.

Where two snapshots answer together (a LiveIndex, an index with few changes), the one beside is
begun first and everything is asked through it, because it has the newest meanings.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.match.slots cimport Match

cdef class SlotAnswers:
    """Immutable. `asks` are the definitions that the function may ask for."""
    cdef readonly tuple names
    cdef readonly object function
    cdef readonly tuple asks

cdef struct AnswerContext:
    void* answers               # a VisitAnswers
    void* snapshot              # whose definitions are asked for ..
    uint32_t place              # .. among its `answers`

cdef class VisitAnswers:
    """What was answered of one visit, or of the present row of a batch. For one thread."""
    cdef Snapshot snapshot      # through which is asked
    cdef ScratchHolder holder
    cdef Match match
    cdef bint is_begun
    cdef bint keeps             # answers, for a second snapshot; not from row to row
    cdef dict kept              # by place: truths by name
    cdef set running            # places that are being answered
    cdef object error
    cdef vector[AnswerContext] contexts

    cdef dict _ask_function(self, uint32_t place)
    cdef int _answer(self, uint32_t place, const Match* match, Snapshot snapshot) except -1
