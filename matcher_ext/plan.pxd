"""The frozen index: one buffer of sections, the same bytes in memory and in a file.

    header | catalogue | predicates, words, bytes | nodes, edges | roots, ids | definitions, names
           | keys, postings, carried

Nothing in it is a pointer. `read_plan` checks every index once, so that matching can trust it:
  - nodes come after their children, definitions after those that they refer to: no cycles;
  - a root stands for all entries of the same expression, ids[first : first + count];
  - a root that is true of a visit is in the postings of one of the visit's keys (below).

Access keys. A true AND has all children true, so one of them finds it: the rarest. A true OR has
some child true, so all of them must find it. At the leaves, `=`, `in` and `one of` are found by
(attribute, value); other predicates by the attribute being carried; what may be true of a visit
that lacks the attribute, by every visit.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.arena cimport Predicate, PredicateView, Span
from matcher_ext.store cimport NodeStore

cdef enum Section:
    CATALOG             # JSON of the catalogue's rows
    PREDICATES
    WORDS
    BYTES
    NODES
    EDGES
    ROOTS
    IDS
    DEFINITIONS
    NAMES
    KEYS
    POSTINGS
    CARRIED
    SECTIONS            # how many there are

cdef struct Header:
    char magic[8]
    uint32_t version
    uint32_t sections
    uint64_t size               # of the whole buffer
    uint64_t checksum           # of the whole buffer with 0 in its place
    uint64_t offsets[16]
    uint64_t counts[16]         # elements, not bytes

cdef struct PlanNode:
    uint32_t first              # as in StoredNode
    uint32_t count
    uint8_t kind
    uint8_t negated
    uint8_t unused[2]

cdef struct Root:
    uint32_t node
    uint32_t first              # ids[first : first + count], ascending
    uint32_t count

cdef struct PlanDefinition:
    Span name
    uint32_t root

cdef struct Key:                # open addressing by key_hash; count 0: empty
    int64_t word                # as in Predicate
    uint32_t attribute
    uint32_t first              # postings[first : first + count]: roots
    uint32_t count
    uint8_t textual
    uint8_t unused[3]

cdef struct Range:
    uint32_t first
    uint32_t count

cdef struct Plan:
    const Header* header
    PredicateView predicates
    const PlanNode* nodes
    const uint32_t* edges
    const Root* roots
    const int64_t* ids
    const PlanDefinition* definitions
    const char* names
    const Key* keys             # a power of two of them
    const uint32_t* postings
    const Range* carried        # by attribute; the last one: of every visit
    uint32_t key_mask
    uint32_t attributes

cdef struct Entry:
    int64_t id
    uint32_t root               # node of the store

cdef uint64_t checksum(const char* buffer, uint64_t size) noexcept nogil
cdef uint64_t key_hash_word(uint32_t attribute, int64_t word) noexcept nogil
cdef uint64_t key_hash_text(uint32_t attribute, const char* text, size_t length) noexcept nogil
cdef uint64_t section_count(const Plan* plan, Section section) noexcept nogil

# Lays the live part of a store out in one buffer. Sorts the entries.
cdef void build_plan(
    const NodeStore* store,
    vector[Entry]* entries,
    const char* catalog,
    size_t catalog_length,
    uint32_t attributes,
    vector[char]* buffer,
) noexcept nogil

# Checks a buffer and gives its plan; returns the first thing wrong with it, or NULL.
cdef const char* read_plan(
    const char* buffer, uint64_t size, uint32_t attributes, Plan* plan
) noexcept nogil
# Magic, version, sizes and sections only: enough to read the catalogue.
cdef const char* read_header(const char* buffer, uint64_t size, Plan* plan) noexcept nogil
