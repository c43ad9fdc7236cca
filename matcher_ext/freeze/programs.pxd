"""Writes short-circuit programs (plan.pxd): pulled subexpressions as lists of tests with jumps.

Tests are ordered by what they cost and how likely they end the matter: in an AND by
cost / (1 - rate), in an OR by cost / rate (overlapping-subscriptions-debs07). A slot's answer
is kept for the visit and counts for all that ask it, so what many share comes sooner: its cost is
divided by the root of their number, halfway between what one asker pays and an equal part.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft

cdef struct Instruction:
    uint32_t atom
    uint32_t label              # where to jump
    uint8_t sense               # if the atom's truth is this

cdef cppclass Programs:
    """Slots that programs asked for, and the scratch of one program."""
    vector[uint32_t] slot_of            # node -> slot of a shared part
    vector[uint32_t] definition_slots   # of each definition and of its negation; never shared with
                                        #   a part of the same content: it may be replaced
    vector[uint32_t] slot_nodes         # slot -> node; after the slots that it asks
    vector[pair[float, uint32_t]] ranked    # children that are being written, as a stack
    vector[Instruction] instructions
    vector[uint32_t] labels
    bint copies_parts           # programs have a copy of what ANDs share, instead of its slot

# Appends header and program of the AND of some nodes (none: true). Slots must have numbers.
cdef void write_program(
    const Draft* draft,
    Programs* programs,
    const vector[uint32_t]* children,
    uint32_t flags,
    vector[uint32_t]* records,
) noexcept nogil
# Appends header and program of one node as a slot: it tests the children, not itself.
cdef void write_slot(
    const Draft* draft, Programs* programs, uint32_t node, vector[uint32_t]* records
) noexcept nogil
cdef void begin_slots(const Draft* draft, Programs* programs) noexcept nogil
# Says whether any program asks a slot.
cdef bint has_slots(const Draft* draft) noexcept nogil
# Gives a definition's slot a number, unless it has one, after those that it asks.
cdef void number_definition(
    const Draft* draft, Programs* programs, uint32_t definition
) noexcept nogil
# Gives numbers to the slots that a node's program asks, innermost first.
cdef void number_slots(const Draft* draft, Programs* programs, uint32_t node) noexcept nogil
# Returns the atom that a program tests for a node: a leaf or a slot.
cdef uint32_t atom_of(const Draft* draft, Programs* programs, uint32_t node) noexcept nogil
