"""Answers a question block by block: for each node the rows that it is true of, or false of.

Negation stands at the leaves and at links, so counts ask for "true" alone; "false" is as much work
again, and is asked only where somebody wants it apart from "unknown". Bitmaps that lie in the table
are returned as they are. An answer that will be asked for again is kept until the block is done;
others go into memory that the next one takes, which stays in the nearest cache.

The walk over the exchange graph, for all rows of a block at once, in rounds, one per hop:

    soon[buyer] |= new[seller] & rows of the edge;   new[buyer] = soon[buyer] without those before

  A party is walked to only while whoever is asked for can still be reached from it in time.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.routes.route_section cimport RoutePlan
from matcher_ext.tables.questions cimport Entry, Question

cdef struct Reached:                    # a party's rows, from some hop on
    const uint64_t* rows
    const uint64_t* fresh               # those that came with this hop
    uint32_t node
    uint32_t hops
    uint32_t before                     # the same party's with fewer hops, or NOTHING

cdef struct Answer:
    const uint64_t* rows
    uint32_t stamp                      # of the block that it is good for

# Says of which rows of a block code answers a definition with true, or false; NULL: of none.
ctypedef const uint64_t* (*AskCode)(
    void* context, uint32_t block, uint32_t definition, bint wanted
) noexcept nogil

cdef cppclass Asker:
    """The memory of one thread at a time. All that take more of it raise MemoryError; whoever gets
    one throws the asker away."""
    const Table* table
    const Question* question
    const RoutePlan* routes             # or NULL
    uint32_t leaves                     # of the plan that has the routes: its atoms' offset
    uint32_t block
    uint32_t words
    uint64_t* zero                      # no row
    uint64_t* every                     # all rows
    uint64_t* valid                     # rows that carry all that is required
    uint64_t* spare
    vector[Answer] answers              # by node: false, true
    uint32_t stamp
    vector[vector[uint64_t]] pool
    size_t taken
    vector[vector[uint64_t]] levels     # by depth: what is not kept
    AskCode ask_code
    void* code_context
    # Holds what the walk over the exchange graph needs.
    bint is_walked
    uint32_t walk_depth                 # the levels that edges may take begin here
    uint32_t most_hops                  # that anybody asks for
    vector[uint8_t] need                # by node: 1 + the most hops it may be away, or 0
    vector[uint32_t] last               # by node: its place in `reached`, or NOTHING
    vector[Reached] reached
    # Names an edge that a walk takes as always open, or as never, to find bottlenecks; or NOTHING.
    uint32_t forced_edge
    bint forced_open

cdef int open_asker(
    Asker* asker, const Table* table, const Question* question, const RoutePlan* routes,
    uint32_t leaves,
) except -1 nogil
# Lets walks answer for some of the question's reaches, and for no others.
cdef int measure_need(Asker* asker, uint32_t first, uint32_t end) except -1 nogil
cdef void open_block(Asker* asker, uint32_t block) noexcept nogil
# Returns memory of one bitmap, kept until the block is done.
cdef uint64_t* take_rows(Asker* asker) except NULL nogil
# Returns memory of one bitmap by its place; a shelf grows as it is asked for.
cdef uint64_t* shelf_rows(vector[vector[uint64_t]]* shelf, size_t place) except NULL nogil
# Returns the rows of which a node is true, or false; `asker.zero` where there are none. They are
# good until the block is done.
cdef const uint64_t* ask_node(Asker* asker, uint32_t node, bint wanted) except NULL nogil
# Returns the same, perhaps in `out`.
cdef const uint64_t* read_node(
    Asker* asker, uint32_t node, bint wanted, uint64_t* out
) except NULL nogil
# Returns the rows that a leaf is known of, true or false; NULL: the node is no leaf.
cdef const uint64_t* find_known(Asker* asker, uint32_t node) noexcept nogil
# Returns the rows that are eligible for an entry: `out`, or another bitmap, or `asker.zero`.
cdef const uint64_t* ask_entry(Asker* asker, const Entry* entry, uint64_t* out) except NULL nogil
# Finds the node of the block's publisher, or NOTHING.
cdef uint32_t find_block_source(Asker* asker) noexcept nogil
# Forgets the walk, so that another forced edge is taken.
cdef void forget_walk(Asker* asker) noexcept nogil
# Returns the rows that reach the party of a reach in time.
cdef const uint64_t* ask_reach(Asker* asker, uint32_t reach) except NULL nogil
