"""The memory that one match works in, and nothing that is done with it.

A Scratch belongs to one call at a time; several threads match on one plan, each with its own. What
the steps (matching.pxd) leave in it stays until the next visit.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.match.lanes cimport Lanes
from matcher_ext.plan.graph cimport GraphScratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.routes.routes cimport Walk
from matcher_ext.visits.visit cimport Visit

cdef struct Run:                # of true pushed leaves
    uint32_t first
    uint32_t end

cdef struct Rank:               # of a value among its attribute's keys
    uint32_t rank               # of the first that is not below
    bint exact                  # it is that key

cdef struct Reached:
    uint32_t reach
    uint32_t way                # of the walk, or NOTHING

# Called when the first of its slots is asked for a visit. It says what it knows by
# answer_definition, of as many slots as it likes, and may ask others by ask_definition: both take
# the Match that it is given (slots.pxd). What it does not answer is undefined.
ctypedef void (*AnswerSlots)(void* context, void* match) noexcept nogil

cdef struct Answerer:
    AnswerSlots answer
    void* context
    bint was_asked              # of this visit

cdef struct Meaning:
    uint32_t root               # node of another plan
    bint negated

cdef cppclass Scratch:
    Visit visit
    vector[uint64_t] bits
    vector[uint8_t] memos       # of lazy leaves and slots
    vector[uint32_t] asked      # those that are set
    vector[uint64_t] turns      # pair records that were run
    vector[uint32_t] turned
    vector[Rank] ranks          # of visit.carried; not of sets, addresses and places
    vector[uint32_t] points     # values that predicates name
    uint32_t partition          # the point of the partition's value, or NOTHING
    vector[uint64_t] clues      # of one attribute's value ..
    vector[uint32_t] rows       # .. and the rows of CLUE_ROWS that they find
    vector[uint32_t] found      # candidates that all rows list
    vector[Run] runs
    Lanes lanes                 # records that wait to be run (rounds.pxd)
    vector[uint32_t] nodes      # true inner nodes of a level
    vector[uint32_t] matched    # entries, but those of ..
    size_t direct               # .. so many direct terminals, whose bits are set
    Walk walk
    vector[Reached] reached     # what was asked of it
    vector[Answerer] answerers
    const uint32_t* answered_by  # by slot: 1 + its answerer, or 0; NULL: no slot has one
    vector[uint32_t] wanted     # reaches to ask for, whether an entry does or not
    const Plan* definitions     # of slots that were replaced: where their meanings are ..
    GraphScratch* graph
    const Meaning* meanings
    const uint32_t* meaning_of  # .. by slot: 1 + the place of its meaning
    bint wants_paths            # of what matched: asks for the reach behind each
    # Counted work, of all visits.
    uint64_t tested             # predicates that were tested by themselves
    uint64_t answered           # slots whose truth was found out
