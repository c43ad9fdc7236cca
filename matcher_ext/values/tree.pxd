"""The tree of an expression as people wrote it: what the parser makes of a text.

    text --parser--> Tree (as written) --normal--> NormalForm (as indexed, normal_form.pxd)

Plain structs linked by 32-bit numbers. `parse_text` (parser.pxd) fills a tree; if it finds
problems, `problems` is not empty and there is no root. `clear_tree` keeps the memory for the next
text.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.values.spans cimport Span

cdef enum NodeKind:
    NODE_AND            # children: two or more
    NODE_OR
    NODE_XOR            # n-ary, left to right
    NODE_XNOR
    NODE_NOT            # one child
    NODE_CONDITION      # payload: index into conditions
    NODE_REFERENCE      # payload: index into names (`@name`)
    NODE_TRUE
    NODE_FALSE
    NODE_INVALID        # stands where a problem was found; never reaches the normal form

cdef enum Operator:
    OP_BARE             # a Boolean attribute alone
    OP_EQUAL
    OP_NOT_EQUAL
    OP_LESS
    OP_LESS_EQUAL
    OP_GREATER
    OP_GREATER_EQUAL
    OP_BETWEEN
    OP_IN
    OP_DURING
    OP_STARTS_WITH
    OP_ENDS_WITH
    OP_CONTAINS
    OP_LIKE
    OP_UNDER
    OP_ONE_OF
    OP_ALL_OF
    OP_NONE_OF
    OP_ONLY_OF
    OP_IS_EMPTY
    OP_IS_PRESENT
    OP_IS_MISSING
    OP_IN_NETWORK
    OP_WITHIN
    OP_INSIDE

cdef struct Node:
    uint32_t first      # children: edges[first : first + count]; or the payload
    uint32_t count
    uint32_t start      # bytes of the text
    uint32_t end
    uint8_t kind        # NodeKind
    uint8_t depth       # connectives on the longest way down, to bound nesting
    uint8_t noted       # owns notes, so the group that it is must stay a group

cdef struct Condition:
    uint32_t attribute
    uint32_t first      # operands: words[first : first + count], as those of a Predicate
    uint32_t count
    uint32_t raw_first  # texts as written: raw[raw_first : raw_first + raw_count], where the words
    uint32_t raw_count  #   keep another form of them (time stamps, addresses, hosts)
    uint32_t list_name  # index into names (`$name`) or NOTHING
    uint8_t op          # Operator
    uint8_t negated     # infix `not`
    uint8_t counted     # `count(attribute) <op> n`

cdef struct Note:       # a comment, or a disabled condition (`#- ...`)
    Span span           # bytes of the text, after the mark
    uint32_t owner      # node that it stands before
    uint8_t disabled

cdef struct Problem:    # described in words by errors.py, only when somebody asks
    uint32_t code       # ProblemCode (problems.pxd)
    uint32_t start
    uint32_t length
    uint32_t attribute  # or NOTHING
    uint32_t other      # by code: an operator, a limit, the start of the opening bracket, ..

cdef cppclass Tree:
    vector[Node] nodes          # children before parents
    vector[uint32_t] edges
    vector[Condition] conditions
    vector[int64_t] words
    vector[int64_t] raw
    vector[char] bytes          # decoded text operands
    vector[Span] names          # of references and lists, spans of the text
    vector[Note] notes
    vector[Problem] problems
    uint32_t root               # NOTHING when the text has problems

cdef void clear_tree(Tree* tree) noexcept nogil
