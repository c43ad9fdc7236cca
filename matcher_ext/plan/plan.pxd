"""The frozen index: one buffer of sections, the same bytes in memory and in a file.

Nothing in it is a pointer; checking.pyx checks every index once, so that matching can trust it.

Bits. Matching works on one bitmap per visit, cut into ranges of *bit numbers*:

    0 ........ pushed leaves | tested leaves | level 1 | level 2 | .. | terminals
               '---- leaves, filled ---'      '---- inner nodes ----'

  A leaf is a predicate. Leaves are ordered so that what is true together lies together: by
  attribute, by kind of test (Group), by bound. Behind the filled leaves come the *lazy* ones (geo,
  globs, networks .., and intervals that few visits ask for, see deferred_intervals.pxd), tested
  only when a program asks for them; a lazy leaf that is pushed is found by its clues.

Pushing and pulling (the paper's propagation on demand, section 5.2.2). An entry's root is pushed:
it must be found from below. A pushed OR is found by each of its children, so they are pushed. A
pushed AND is found by one child, its access child: the one that costs least to push. Everything
else is pulled: tested by a program when the access child is true.

  - A true pushed leaf or inner node has a *stream*: the ORs that it makes true, the records of
    the ANDs that it is the access child of, the entries that it is the root of. The streams of
    neighbouring leaves are neighbours, so a run of true leaves is one run of each. An inner
    node's stream lies in one piece: one or two cache lines for all that it needs.
  - A *record* is an AND: its target bit (or none), a program over all its other children, and its
    entries. Some records are found by a pair of values (PAIRS), by the value of one attribute that
    most expressions demand (PARTITIONS), or by every visit (ALWAYS).
  - A *program* is a list of (atom, sense, jump): if the atom's truth equals the sense, jump, else
    go on. Past the end by 0 is true, by 1 is false. Atoms are leaves (a bit), lazy leaves, slots.
    The words of records, programs and streams are in record_format.pxd.
  - A *terminal* is an OR that is a root and nothing else. Those with one entry come first, in the
    order of their ids: the bits that are set are the answer, and the ids are read from front to
    back, a byte each where they lie close together.
  - A *slot* is a program whose truth is remembered for the visit: a definition, its negation, or a
    pulled subexpression that several records share: a large one, or the campaign of bookings that
    pairs find. Every definition has one, before its negation's. Partitions have a copy of the
    campaign in each record instead: a visit reads thousands of them one after another, and a slot
    takes it three lines more (a third of its time, measured).

Partitions. Bookings of one publisher need the same edges. The records of a partition stand below
*guards*, slots that all of them need, which are a trie in preorder; a guard that is not true skips
all that stands below it:

    guards    e1 | e2 | e3 | e4 ..         skip of e1: e4; of e2: e3
    records   those without a guard | own of e1 | own of e2 | own of e3 | .. | routed

  A *routed* record ends with a reach (route_section.pxd), true if a seller of the party is reached
  and the visit satisfies the edge from there, the last hop. So these records are listed by seller,
  and those of sellers that the walk does not reach are not looked at.

What is not in the file, because it follows from what is, is made by graph_from_plan.pyx when
somebody asks for reasons or counts:

    expressions -> nodes -> edges -> nodes .. -> predicates | definitions -> nodes

  An expression stands for all entries with the same text: ids[first : first + count]. Nodes come
  after their children and after what their references stand for: no cycles. The children of an
  AND begin with its access child. Predicates of the groups up to G_PRESENT follow from the
  predicate index.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.plan.predicate_index cimport (
    G_LAZY, PUSHED, AttributeIndex, Bound, ClueIndex, ClueRow, PointRow, TextKey,
)
from matcher_ext.routes.route_section cimport RoutePlan
from matcher_ext.values.predicate cimport Predicate, PredicateView
from matcher_ext.values.spans cimport Span

cdef enum Section:
    CATALOG             # JSON of the catalogue's rows
    PREDICATES          # those that are tested: lazy leaves and `is missing`, in their order
    WORDS               # of PREDICATES
    BYTES               # of PREDICATES and TEXTS
    IDS                 # by entry number from totals.stepped on, less totals.first_id; empty if ..
    WIDE_IDS            # .. one does not fit: by entry number
    ID_BASES            # of each 64 entries up to totals.stepped: the lowest id, as in IDS ..
    ID_STEPS            # .. and by entry number how much higher its id is
    NAMES               # of definitions: spans of ..
    NAME_BYTES
    ATTRIBUTES          # AttributeIndex, by attribute number
    POINTS              # PointRow, two per key: pushed, tested
    KEYS                # numbers of an attribute, ascending
    TEXTS               # open addressing, one table per attribute
    MEMBERS             # leaves by point
    BOUNDS              # of `between` leaves, as ranks of keys
    LEAF_STREAMS        # LeafStream, by pushed leaf, and one more
    OR_TARGETS          # bits
    LEVELS              # first bit of each level, 64-aligned, and the end
    INNER_OFFSETS       # into RECORDS, by inner bit
    RECORDS             # of slots, of leaves, streams of inner nodes, of ALWAYS, of partitions, of
                        #   pairs: no gap
    TERMINALS           # first entry of each terminal behind the direct ones, and the end
    SLOTS               # offsets into RECORDS
    DEFINITION_SLOTS    # of each definition and of its negation, or NOTHING
    ALWAYS              # offsets into RECORDS
    PAIRS
    PAIR_RECORDS
    PARTITIONS          # by value of the partition's attribute, and one more; or empty
    GUARDS
    SELLERS             # and one more
    LAST_HOPS
    CLUE_INDEXES        # ClueIndex, by attribute number
    CLUE_ROWS           # open addressing, one table per attribute
    CANDIDATES          # leaves by clue
    ROUTES              # bytes: see route_section.pxd
    TOTALS              # one Totals
    SECTIONS            # how many there are

cdef enum:
    MAX_SECTIONS = 40

cdef struct Header:
    char magic[8]
    uint32_t version
    uint32_t sections
    uint64_t size               # of the whole buffer
    uint64_t checksum           # of the whole buffer with 0 in its place
    uint64_t offsets[40]
    uint64_t counts[40]         # elements, not bytes

cdef struct PlanNode:
    uint32_t first              # and, or: edges[first : first + count]; leaf; definition
    uint32_t count
    uint8_t kind                # NormalKind
    uint8_t negated             # references only
    uint8_t unused[2]

cdef struct Expression:
    uint32_t node
    uint32_t first              # entries
    uint32_t count

cdef struct PlanDefinition:
    uint32_t root
    uint32_t dual               # the root's negation, where a reference is negated; or NOTHING

# Streams and records.

cdef struct LeafStream:
    uint32_t ors                # OR_TARGETS, the first; up to the next leaf's
    uint32_t records            # RECORDS, the first; they lie one after another
    uint32_t entry              # entry numbers of leaves that are roots are consecutive

cdef struct Pair:               # open addressing by pair_hash; count 0: empty
    uint32_t partition          # point
    uint32_t point
    uint32_t first              # PAIR_RECORDS
    uint32_t count

cdef struct PairRecord:
    uint32_t record             # RECORDS; the word before it is the leaf of the other value
    uint32_t turn               # NOTHING, or a bit number: a visit may find it more than once

cdef struct Partition:
    uint32_t records            # RECORDS, the first: those that have no guard
    uint32_t routed             # RECORDS, the first routed one; up to the next partition's records
    uint32_t guards             # GUARDS, the first; up to the next partition's
    uint32_t sellers            # SELLERS, the first; up to the next partition's

cdef struct Guard:
    uint32_t atom               # a slot
    uint32_t skip               # GUARDS: the next one that does not stand below
    uint32_t records            # RECORDS: its own ..
    uint32_t end                # .. up to here

cdef struct Seller:
    uint32_t node               # of ROUTES
    uint32_t hops               # that it may be away from the publisher
    uint32_t first              # LAST_HOPS; up to the next seller's

cdef struct LastHop:
    uint32_t atom               # the edge's slot
    uint32_t record             # RECORDS: a routed one
    uint32_t turn               # see PairRecord

cdef struct Totals:
    int64_t first_id            # the lowest, if IDS are narrow
    uint32_t entries
    uint32_t met                # entries from here on belong to `false`: no visit meets them
    uint32_t pushed             # leaves
    uint32_t filled             # leaves
    uint32_t leaves
    uint32_t missing[2]         # `is missing` leaves of a role: from here ..
    uint32_t missing_end[2]
    uint32_t missing_tests[2]   # .. and PREDICATES of the first
    uint32_t lazy_tests         # PREDICATES of the first leaf behind the filled ones
    uint32_t terminals          # the first one's bit
    uint32_t direct             # so many of them are one entry each: the entries 0, 1, ..
    uint32_t stepped            # direct, or 0 where steps do not fit
    uint32_t bits
    uint32_t partition          # attribute of PAIRS, or NOTHING
    uint32_t turns
    uint32_t partition_records  # RECORDS of the first partition
    uint32_t pair_records       # RECORDS of the first pair, and the leaf before it
    uint32_t expressions        # for stats, like ..
    uint32_t nodes
    uint32_t edges

cdef struct Plan:
    const Header* header
    const Totals* totals
    PredicateView tests         # PREDICATES
    const uint32_t* ids
    const int64_t* wide_ids
    const uint32_t* id_bases
    const uint8_t* id_steps
    const Span* names
    const char* name_bytes
    const AttributeIndex* attributes
    const PointRow* points
    const int64_t* keys
    const TextKey* texts
    const uint32_t* members
    const Bound* bounds
    const LeafStream* leaf_streams
    const uint32_t* or_targets
    const uint32_t* levels
    const uint32_t* inner_offsets
    const uint32_t* records
    const uint32_t* terminals
    const uint32_t* slots
    const uint32_t* definition_slots
    const uint32_t* always
    const Pair* pairs
    const PairRecord* pair_records
    const Partition* partitions
    const Guard* guards
    const Seller* sellers
    const LastHop* last_hops
    const ClueIndex* clue_indexes
    const ClueRow* clue_rows
    const uint32_t* candidates
    RoutePlan routes
    # From graph_from_plan.pyx; before that, NULL and 0.
    PredicateView predicates    # by leaf number
    const PlanNode* nodes
    const uint32_t* edges
    const Expression* expressions
    const PlanDefinition* definitions
    uint32_t node_count
    uint32_t expression_count

# Sums up a whole buffer, with 0 in the place of the sum itself.
cdef uint64_t sum_buffer(const char* buffer, uint64_t size) noexcept nogil
cdef uint64_t element_size(int section) noexcept nogil

# A buffer is begun, given its sections one after another, and ended with its checksum.
cdef void begin_buffer(vector[char]* buffer, Header* header) noexcept nogil
cdef void put_section(
    vector[char]* buffer, Header* header, Section section, const void* source, size_t count
) noexcept nogil
cdef void end_buffer(vector[char]* buffer, Header* header) noexcept nogil

# Reads magic, version, sizes and sections; returns what is wrong, or NULL.
cdef const char* read_header(const char* buffer, uint64_t size, Plan* plan) noexcept nogil

cdef inline uint64_t section_count(const Plan* plan, int section) noexcept nogil:
    return plan.header.counts[section]

cdef inline bint is_within(uint64_t first, uint64_t count, uint64_t size) noexcept nogil:
    return first + count <= size

cdef inline uint32_t first_guarded(const Plan* plan, const Partition* partition) noexcept nogil:
    """Returns where the records of a partition end that have no guard."""
    if partition.guards == partition[1].guards:
        return partition.routed
    return plan.guards[partition.guards].records

cdef inline bint has_wide_ids(const Plan* plan) noexcept nogil:
    return plan.header.counts[<int>WIDE_IDS] != 0

cdef inline int64_t id_of(const Plan* plan, uint32_t entry) noexcept nogil:
    if has_wide_ids(plan):
        return plan.wide_ids[entry]
    if entry < plan.totals.stepped:
        return plan.totals.first_id + plan.id_bases[entry >> 6] + plan.id_steps[entry]
    return plan.totals.first_id + plan.ids[entry - plan.totals.stepped]

cdef inline const Predicate* lazy_test(const Plan* plan, uint32_t leaf) noexcept nogil:
    """Returns the predicate of a leaf behind the filled ones."""
    return plan.tests.predicates + plan.totals.lazy_tests + (leaf - plan.totals.filled)

cdef inline PredicateView pushed_tests(const Plan* plan, uint32_t attribute) noexcept nogil:
    """Returns a view of an attribute's pushed lazy leaves, whose predicates are by leaf number."""
    cdef const AttributeIndex* index = &plan.attributes[attribute]
    cdef PredicateView view = plan.tests
    view.predicates += index.lazy
    view.predicates -= index.roles[<int>PUSHED].starts[<int>G_LAZY]
    return view

cdef inline const Predicate* missing_test(const Plan* plan, int role, uint32_t leaf) noexcept nogil:
    return plan.tests.predicates + plan.totals.missing_tests[role] + (
        leaf - plan.totals.missing[role]
    )

cdef inline uint64_t pair_hash(uint32_t partition, uint32_t point) noexcept nogil:
    cdef uint64_t value = (<uint64_t>partition << 32 | point) * 0x9E3779B97F4A7C15ULL
    return value ^ value >> 29
