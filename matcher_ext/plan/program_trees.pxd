"""Turns programs (plan.pxd) back into the trees of AND and OR that they were written from.

A program is a chain of tests; each goes on to the next test in one case and jumps in the other. Two
neighbours are one part of a tree if only the first leads to the second and both lead to the same
place: to it when false, for an AND; when true, for an OR. Joining neighbours until one is left
gives the tree, up to the nesting of ANDs in ANDs, which the normal form does not have either.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport PlanNode

cdef struct Part:
    uint32_t start              # instruction
    uint32_t when_true          # where it leads: an instruction, the end, or one behind it
    uint32_t when_false
    uint32_t first              # children: from here on, up to those of the next part
    uint8_t kind                # NORMAL_AND, NORMAL_OR, or NORMAL_PREDICATE: a single one

cdef cppclass Trees:
    """Nodes and edges that were made so far, and the scratch of one program."""
    vector[PlanNode]* nodes
    vector[uint32_t]* edges
    vector[uint32_t] slots      # slot -> the node that a program which asks it has
    uint32_t leaves
    vector[Part] parts
    vector[uint32_t] children
    vector[uint32_t] leads      # by instruction: how many lead to it
    uint32_t truths[2]          # the nodes of `false` and `true`, or NOTHING

cdef void begin_trees(
    Trees* trees, vector[PlanNode]* nodes, vector[uint32_t]* edges, uint32_t leaves
) noexcept nogil
# Adds the node of a constant, once.
cdef uint32_t add_truth(Trees* trees, bint truth) noexcept nogil
# Adds the node of an AND of some nodes and of a program, or of the program alone; NOTHING if the
# program is no tree.
cdef uint32_t add_tree(
    Trees* trees, const uint32_t* program, const uint32_t* also, uint32_t also_count
) noexcept nogil
cdef uint32_t add_inner(
    Trees* trees, uint8_t kind, const uint32_t* children, uint32_t count
) noexcept nogil
