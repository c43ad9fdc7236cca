"""The forward walk: whom a visit reaches from its publisher, over edges that it satisfies.

The exchange graph as flat arrays, which can lie in a snapshot's buffer:

    nodes       parties, each with its rank in the order of names
    sales       edges into parties that sell on, by seller: all that the walk goes along
    purchases   all edges, by buyer: the last hop, looked at when somebody asks for the buyer
    edge_ids    ascending: a smaller number is the smaller id

One walk answers for all parties. Synchronous rounds, one per hop:

    ways   | source | one hop .. | two hops .. | .. | last hops, as asked |
           before:  <------'  <--------'             shorter: the same party, fewer hops

  A party's way goes on only if it leaves strictly more than every shorter way there; so a party's
  ways are its cheapest ones for growing limits of hops. An edge is asked for only when its seller
  is reached and the way over it would be kept.

A share is the product of numerators of 10,000: 10 ** 32 after eight hops, exact in 128 bits.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

cdef extern from * nogil:
    """
    typedef unsigned __int128 treeline_share;
    """
    ctypedef unsigned long long Share "treeline_share"  # wider than Cython knows

cdef enum:
    MOST_HOPS = 8
    NOT_REACHED = 0xFF
    WHOLE = 10_000              # the numerator of an edge without a fee

cdef struct RouteNode:
    int64_t party
    uint32_t sales              # the first; up to the next node's
    uint32_t purchases          # the same
    uint32_t label              # bytes: what answers call the party ..
    uint32_t label_length       # .. and visits, if it is a publisher
    uint32_t rank               # a smaller one is the earlier name
    uint32_t unused

cdef struct RouteHop:           # of a sale: to the buyer; of a purchase: from the seller
    uint32_t node
    uint32_t atom               # what the asker knows the edge's expression by
    uint32_t edge
    uint32_t numerator          # what the fee leaves: 1 to 10,000

cdef struct Routes:
    const RouteNode* nodes      # and one more
    const RouteHop* sales
    const RouteHop* purchases
    const int64_t* edge_ids
    uint32_t node_count
    uint32_t max_hops           # the longest path that anybody asks for

cdef struct Way:
    Share share
    uint32_t node
    uint32_t edge
    uint32_t before             # way of the seller; of the source: NOTHING
    uint32_t shorter            # the same party's with fewer hops, or NOTHING
    uint32_t hops

cdef cppclass Walk:
    """The memory of one walk at a time."""
    vector[uint32_t] last       # by node: its longest way, or NOTHING
    vector[uint8_t] fewest      # by node: the hops of its shortest way, or NOT_REACHED
    vector[Way] ways            # empty: not begun

# Says whether the visit satisfies an edge; must answer the same all through a walk.
ctypedef bint (*AskEdge)(void* asker, uint32_t atom) noexcept nogil

cdef void open_walk(const Routes* routes, Walk* walk) noexcept nogil
cdef void end_walk(Walk* walk) noexcept nogil
# Walks from a source to all parties that sell on.
cdef void walk_from(
    const Routes* routes, Walk* walk, uint32_t source, AskEdge ask, void* asker
) noexcept nogil
# Finds the cheapest way to a party within some hops and adds it to `ways`; NOTHING: not reached.
cdef uint32_t find_last_hop(
    const Routes* routes, Walk* walk, uint32_t target, uint32_t hops, AskEdge ask, void* asker
) noexcept nogil
# Returns what is left of 1 at the end of a way.
cdef double share_of(const Way* way) noexcept nogil

cdef struct RouteEdge:
    int64_t id
    uint32_t seller             # node
    uint32_t buyer
    uint32_t atom
    uint32_t numerator

cdef cppclass RouteTables:
    """The arrays in the making."""
    vector[RouteNode] nodes
    vector[RouteHop] sales
    vector[RouteHop] purchases
    vector[int64_t] edge_ids

# Fills the tables from edges in the order of their ids; nodes are there, one more than parties.
cdef void fill_tables(RouteTables* tables, const vector[RouteEdge]* edges) noexcept nogil
# Makes the tables from parties in the order of their names and (edge id, seller, buyer, numerator)
# in the order of ids. The atom of an edge is its place in that order.
cdef int make_tables(RouteTables* tables, list parties, list links) except -1
cdef Routes view_tables(const RouteTables* tables) noexcept nogil
# Lists the edge ids of a way, from the source on.
cdef tuple spell_out(const Routes* routes, const Walk* walk, uint32_t way)
