"""Finds the rows of each part of a circuit, for a block of visits at once.

The rows of which a part is true are a list, or a bitmap when they are many. Truth is sparse: most
parts are true of a hundredth of a block, most ANDs of no row at all.

  - A predicate's rows are a piece of its attribute's sorted rows: nothing is made.
  - An AND starts from the child with the fewest rows (known exactly, for predicates and answered
    nodes) and tests those rows with the other children, one by one.
  - An OR sets its children's rows in a bitmap; of one child with rows it is that child.
  - A node's answer is kept. One that an AND asks about a few rows only is tested row by row until
    that has cost as much as an answer.

Answers are kept in a pool up to `most_answers` bytes; beyond, all are forgotten before the next
expression, and made again when asked for.
"""
from libc.stdint cimport uint32_t

from matcher_ext.count.rows cimport Rows
from matcher_ext.count.slices cimport Slices

cdef enum:
    FEW_TESTS = 16              # rows; a node that was tested so often is answered
    FEW_MARKED = 4              # rows; so few are tested as they are

# Finds the rows of a part: in the block, in a kept answer, or in the scratch of this depth or
# below.
cdef void find_rows(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil
# Finds the rows of a node, and keeps them.
cdef void answer_node(Slices* slices, uint32_t node, uint32_t depth, Rows* found) noexcept nogil
