"""The design of the language's memory: what a text becomes on its way to the index.

    text --parser--> Tree (as written) --normal--> NormalForm (as indexed)

Everything is an array of plain structs linked by 32-bit index; no pointers are stored, so any of
these arrays can be written to a file and mapped. All functions are `noexcept nogil`.

How the index uses it:
  1. `CompiledCatalog` (catalog.pxd) is built once from the catalogue's rows; `catalog.table` is
     its plain form for nogil code.
  2. `parse_text(table, text, length, composed, &tree)` (parser.pxd), then, if `tree.problems` is empty,
     `normalise(text, &tree, &form)` (normal.pxd) appends one root to `form.roots`. One form can
     take any number of expressions; `form.clear()` keeps the memory for the next chunk.
     `normalise_texts` does both for many texts.
  3. A predicate is known by (hash, full comparison): `predicate_hash`, `predicate_equal`; move
     one into another store with `predicate_copy`. A store is three arrays, so a mapped snapshot
     gives a `PredicateView` over its own buffer.
  4. `Visit` (visit.pxd) is one visit in typed form; `test_predicate(view, predicate, visit)`
     answers TRUE, FALSE or UNDEFINED.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

cdef extern from * nogil:
    """
    #include <cstdint>
    static const uint32_t NOTHING = 0xFFFFFFFFu;
    """
    const uint32_t NOTHING      # "no such index"

cdef enum Type:
    BOOLEAN
    INTEGER
    FLOAT
    TIMESTAMP
    TIMESTAMP_LOCAL
    STRING
    STRING_SET
    INTEGER_SET
    IP
    GEO

cdef enum Truth:
    FALSE
    TRUE
    UNDEFINED

# The tree: what people wrote.

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
    uint32_t first      # operands: words[first : first + count], see below
    uint32_t count
    uint32_t raw_first  # texts as written: raw[raw_first : raw_first + raw_count], where the words
    uint32_t raw_count  #   keep another form of them (time stamps, addresses, hosts)
    uint32_t list_name  # index into names (`$name`) or NOTHING
    uint8_t op          # Operator
    uint8_t negated     # infix `not`
    uint8_t counted     # `count(attribute) <op> n`

cdef struct Span:       # bytes of the text, or of a pool
    uint32_t offset
    uint32_t length

cdef struct Note:       # a comment, or a disabled condition (`#- ...`)
    Span span           # the text after the mark
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

# The normal form: what the index takes.
#
# A second set of node kinds, without negation, so that "no not after normalisation" is a fact of
# the types. It is exact in Kleene's logic (true, false AND undefined), so it also serves
# definitions that are used under `not`. TRUE and FALSE occur only as a root.

cdef enum NormalKind:
    NORMAL_PREDICATE    # first: index into predicates
    NORMAL_REFERENCE    # first: index into names; negated: `not @name`
    NORMAL_AND          # children: edges[first : first + count], two or more, sorted by (hash,
    NORMAL_OR           #   content), no duplicates; an AND never has an AND child, nor an OR an OR
    NORMAL_TRUE
    NORMAL_FALSE

cdef struct NormalNode:
    uint64_t hash       # of the content: equal content has equal hash in every process that uses
    uint32_t first      #   the same catalogue; equal hash says nothing, compare with node_equal
    uint32_t count
    uint8_t kind        # NormalKind
    uint8_t negated     # references only
    uint32_t part       # AND: a node that is the AND of some of its children and that others may
                        #   share; or NOTHING

# Canonical tests. `>` is a negated LESS_EQUAL, `!=` a negated EQUAL, `none of` a negated ONE_OF,
# `is missing` a negated PRESENT, a Boolean is EQUAL 1, `ip = x` is IN_NETWORK x/128, `is empty` is
# COUNT_EQUAL 0, integers and timestamps have no LESS except `< -2^63` (which nothing satisfies).
cdef enum Test:
    PRESENT             # no operand; never undefined
    EQUAL               # 1 value: Boolean, integer, float, timestamp, string
    IN                  # 2 or more values, ascending, distinct
    LESS                # 1 value
    LESS_EQUAL          # 1 value
    BETWEEN             # 2 values, lower < upper, both included
    DURING              # pairs (from, to) of minutes of the week, Monday 00:00 = 0, `to` excluded
    STARTS_WITH         # 1 text
    ENDS_WITH
    CONTAINS
    LIKE                # 1 pattern, `*` and `?`
    UNDER               # host names, folded, no trailing dot, ascending, none under another
    ONE_OF              # 1 or more values, ascending, distinct
    ALL_OF              # 2 or more values
    ONLY_OF             # 1 or more values
    COUNT_EQUAL         # 1 integer
    COUNT_LESS_EQUAL    # 1 integer
    IN_NETWORK          # triples (high 64 bits, low 64 bits, prefix length 0..128); v4 is mapped
    WITHIN              # (latitude, longitude, km) as float bits
    INSIDE              # pairs (latitude, longitude) as float bits, 3 points or more

# Operands are 64-bit words, by the attribute's type: Boolean 0/1; integer; float as its bits
# (never NaN, never -0.0); timestamp in milliseconds since 1970 UTC; text as a span of the pool,
# `offset << 32 | length`, UTF-8. Ascending is by number, or by the bytes of the text (which is by
# code points). A managed list may be empty: then IN, UNDER, ONE_OF, .. have no operand.
cdef struct Predicate:
    uint32_t attribute
    uint32_t first      # words[first : first + count]
    uint32_t count      # words, not values
    uint8_t test        # Test
    uint8_t type        # Type of the attribute
    uint8_t negated     # plain and negated are both undefined exactly when the value is missing
    uint8_t unused

cdef struct PredicateView:
    const Predicate* predicates
    const int64_t* words
    const char* bytes

cdef cppclass NormalForm:
    vector[NormalNode] nodes    # children before parents; a few may be reached from no root
    vector[uint32_t] edges
    vector[Predicate] predicates
    vector[int64_t] words
    vector[char] bytes
    vector[Span] names          # of references, spans of bytes
    vector[uint32_t] roots      # one per expression; NOTHING where the text had problems

cdef void clear_tree(Tree* tree) noexcept nogil
cdef void clear_form(NormalForm* form) noexcept nogil

cdef PredicateView view_predicates(const NormalForm* form) noexcept nogil
cdef uint64_t predicate_hash(PredicateView view, const Predicate* predicate) noexcept nogil
cdef bint predicate_equal(
    PredicateView left, const Predicate* a, PredicateView right, const Predicate* b
) noexcept nogil
# Appends a copy to the three arrays of another store and returns its index.
cdef uint32_t predicate_copy(
    PredicateView view,
    const Predicate* predicate,
    vector[Predicate]* predicates,
    vector[int64_t]* words,
    vector[char]* bytes,
) noexcept nogil
# Full comparison of two nodes' content, below and including them. It walks the forms as trees,
# which nested xors make exponential: whoever shares nodes compares level by level, bottom up.
cdef bint node_equal(
    const NormalForm* left, uint32_t a, const NormalForm* right, uint32_t b
) noexcept nogil

cdef bint span_equal(const char* left, Span a, const char* right, Span b) noexcept nogil
# Order of two texts, each a word with its pool: negative, 0, positive.
cdef int compare_text(const char* left, int64_t a, const char* right, int64_t b) noexcept nogil

cdef inline bint holds_text(uint8_t type, uint8_t test) noexcept nogil:
    """True where the words are spans of the pool."""
    return type == STRING and test != PRESENT or (
        type == STRING_SET and (test == ONE_OF or test == ALL_OF or test == ONLY_OF)
    )

cdef inline uint32_t text_offset(int64_t word) noexcept nogil:
    return <uint32_t>(<uint64_t>word >> 32)

cdef inline uint32_t text_length(int64_t word) noexcept nogil:
    return <uint32_t>word

cdef inline int64_t text_word(uint32_t offset, uint32_t length) noexcept nogil:
    return <int64_t>(<uint64_t>offset << 32 | length)

cdef inline double float_of(int64_t word) noexcept nogil:
    cdef double value
    memcpy(&value, &word, 8)
    return value

cdef inline int64_t word_of(double value) noexcept nogil:
    value += 0.0        # -0.0 becomes 0.0
    cdef int64_t word
    memcpy(&word, &value, 8)
    return word
