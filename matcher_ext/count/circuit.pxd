"""Circuits: a plan's graph written anew for counting, to be evaluated over blocks (block_rows.pyx).

One array of 32-bit words. A part that is used more than once stands once, as a numbered *node*
whose answer is kept; everything else stands where it is used. So a block reads the array nearly
from front to back, and a predicate costs no look at the plan at all.

    word 0: kind | number << 4

    C_RANGE, C_OUTSIDE      attribute;  first position | end position << 16
    C_WIDE, C_WIDE_OUTSIDE  attribute;  first position;  end position
    C_MEMBER, C_STRANGER    attribute;  count;  positions, ascending
    C_ANY_OF, C_NONE_OF     the same for an attribute that is a set
    C_MISSING               attribute
    C_LAZY                  leaf: tested visit by visit
    C_TRUE
    C_NODE                  node
    C_AND, C_OR             number of children (none of an OR: false);  words;  leaves;  children ..

Children stand in the order of their kinds, so that each kind has a loop of its own instead of a
guess for each child: ranges (the narrowest first, it is the likeliest to be empty), what lies
outside of one, members, strangers, all else. `leaves` says how many there are of the first four, a
byte each, from the lowest; more than MOST_COUNTED of a kind count as all else.

A *position* of an attribute is 2 * rank + 1 for the key of that rank, 2 * rank for what lies below
it and above the key before: an interval of values is an interval of positions. Whether a set, an
address or a place is carried is an attribute of its own, behind the catalogue's: `presence_of`.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport Expression, Plan
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport INTEGER_SET, STRING_SET

cdef enum CircuitKind:
    C_RANGE
    C_OUTSIDE
    C_WIDE
    C_WIDE_OUTSIDE
    C_MEMBER
    C_STRANGER
    C_TRUE
    C_ANY_OF                    # from here on the answer is worth keeping ..
    C_NONE_OF
    C_MISSING
    C_LAZY
    C_NODE
    C_AND
    C_OR

cdef enum:
    KIND_BITS = 4
    KIND_MASK = 15
    # A node larger than this, written out as a tree, is never tested visit by visit.
    HEAVY = 64
    # No evaluation recurses deeper: what lies deeper is answered first.
    DEEPEST = 64
    # Values of a member that still stands where it is used.
    SHORT_LIST = 8
    # Words of an AND or an OR before its children.
    HEADER_WORDS = 3
    # Leaves of a kind that it counts.
    MOST_COUNTED = 63

cdef cppclass Circuit:
    """The expressions first_expression : end_expression of a plan. Never changed once written.

    Those numbers are in an order of its own: expressions with the same first child are neighbours.
    """
    vector[uint32_t] code
    vector[Expression] expressions
    vector[uint32_t] roots          # by expression: offset into code
    vector[uint32_t] starts         # by node: offset into code
    vector[uint8_t] heavy           # by node
    vector[uint32_t] early          # nodes to be answered first, in this order
    uint32_t first_expression
    uint32_t end_expression
    bint is_lazy                    # has a C_LAZY: visits must be at hand

# Writes as many expressions as fit, one at least.
cdef void write_circuit(
    const Plan* plan,
    const CatalogTable* table,
    uint32_t first_expression,
    size_t most_words,
    Circuit* circuit,
) noexcept nogil

cdef inline bint is_set(int type) noexcept nogil:
    return type == STRING_SET or type == INTEGER_SET

cdef inline uint32_t presence_of(const CatalogTable* table, uint32_t attribute) noexcept nogil:
    """Returns the attribute whose cells say that this one is carried."""
    if is_set(table.attributes[attribute].type):
        return attribute + <uint32_t>table.attributes.size()
    return attribute

cdef inline const uint32_t* behind(const uint32_t* code) noexcept nogil:
    """Returns what stands behind a part."""
    cdef uint32_t kind = code[0] & KIND_MASK
    if kind <= C_OUTSIDE:
        return code + 2
    if kind <= C_WIDE_OUTSIDE:
        return code + 3
    if kind >= C_AND:
        return code + 2 + code[1]
    if kind <= C_STRANGER or kind == C_ANY_OF or kind == C_NONE_OF:
        return code + 2 + code[1]
    return code + 1
