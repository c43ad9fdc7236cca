"""The predicate index of a plan: which leaves are true for a value, without looking at each of
them.

Leaves are numbered so that those that one value makes true lie together: by attribute, by kind of
test, by bound. A value is looked up once (KEYS or TEXTS), and its point says where the true leaves
of each kind begin. What neither values nor bounds find is found by clues. Knows nothing of records.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from matcher_ext.values.predicate cimport (
    BETWEEN, EQUAL, FLOAT, IN, LESS, LESS_EQUAL, ONE_OF, PRESENT, Predicate,
)

cdef enum Role:
    PUSHED
    TESTED
    ROLES

cdef enum Group:                # in the order of their leaves; `negated` in brackets
    G_EQUAL                     # true: one
    G_UNEQUAL                   # [=]: all but one
    G_UP_TO                     # v <= bound: from a bound on
    G_ABOVE                     # [<=]: up to a bound
    G_BELOW                     # v < bound
    G_FROM                      # [<]
    G_BETWEEN                   # those that a scan finds
    G_OUTSIDE                   # [between]: all but those
    G_MEMBER                    # in, one of: listed per value
    G_STRANGER                  # [in, one of]: all but those
    G_PRESENT                   # the attribute is carried
    G_LAZY                      # tested one by one; those that are pushed, by clues
    GROUPS

cdef struct RoleIndex:
    uint32_t starts[13]         # leaves of group g: starts[g] : starts[g + 1]
    uint32_t bounds             # BOUNDS of the first BETWEEN leaf; those of OUTSIDE follow; in each
                                #   by width_class, then by the lower bound

cdef struct AttributeIndex:
    uint32_t keys               # KEYS or TEXTS, the first
    uint32_t key_count          # different values
    uint32_t mask               # of the table in TEXTS
    uint32_t point              # number of the first point; there are key_count + 1
    uint32_t lazy               # PREDICATES of its first pushed lazy leaf
    RoleIndex roles[2]

cdef struct PointRow:           # one value, for one role; see fill_scalar in leaf_bits.pyx
    uint32_t equal              # leaf or NOTHING
    uint32_t unequal            # leaf or NOTHING
    uint32_t up_to              # first leaf whose bound is not below the key
    uint32_t above              # the same, of each group
    uint32_t below
    uint32_t from_
    uint32_t member             # MEMBERS, the first
    uint32_t stranger           # MEMBERS, the first

cdef struct TextKey:
    int64_t word                # span of BYTES
    uint32_t rank               # NOTHING: an empty slot
    uint32_t hash

cdef struct Bound:
    uint32_t low
    uint32_t high

cdef struct ClueIndex:          # of the pushed lazy leaves; see clue_lookup.pxd
    uint64_t shapes[3]          # bits: the shapes of its clues
    uint32_t rows               # CLUE_ROWS, the first of the table
    uint32_t mask
    uint32_t plain              # leaf; those before have no clues
    uint32_t negated            # leaf; from here on, true but for some candidates

cdef struct ClueRow:
    uint32_t hash               # the upper half of the clue; the lower one is its place
    uint32_t first              # CANDIDATES; NOTHING: an empty row
    uint32_t count

cdef extern from * nogil:
    """
    // Counts the bits of an interval's width in ranks: those of one class are nearly as wide.
    static inline uint32_t width_class(uint32_t low, uint32_t high) {
        return low < high ? 32 - (uint32_t)__builtin_clz(high - low) : 0;
    }
    """
    uint32_t width_class(uint32_t low, uint32_t high)

cdef inline int64_t order_float(int64_t word) noexcept nogil:
    """Turns float bits into an integer of the same order (no NaN, no -0.0); its own inverse."""
    return word if word >= 0 else word ^ 0x7FFFFFFFFFFFFFFFLL

cdef inline int group_of(const Predicate* predicate) noexcept nogil:
    """Finds a predicate's group. A negation's comes after its plain one's; `is missing` is
    GROUPS."""
    cdef int group
    if predicate.test == EQUAL:
        group = G_EQUAL
    elif predicate.test == IN or predicate.test == ONE_OF:
        group = G_MEMBER
    elif predicate.test == LESS_EQUAL:
        group = G_UP_TO
    elif predicate.test == LESS:
        group = G_BELOW
    elif predicate.test == BETWEEN:
        group = G_BETWEEN
    elif predicate.test == PRESENT:
        return GROUPS if predicate.negated else G_PRESENT
    else:
        return G_LAZY
    return group + predicate.negated

cdef inline int64_t order_word(const Predicate* predicate, int64_t word) noexcept nogil:
    return order_float(word) if predicate.type == FLOAT else word
