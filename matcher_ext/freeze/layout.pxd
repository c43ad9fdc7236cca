"""A draft laid out flat: what the steps of freezing (building.pxd) hand on to each other."""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.freeze.leaves cimport LeafIndex
from matcher_ext.freeze.programs cimport Programs
from matcher_ext.plan.plan cimport Guard, LastHop, LeafStream, Pair, PairRecord, Partition, Seller

cdef cppclass Layout:
    Draft draft
    LeafIndex leaves
    Programs programs
    vector[uint32_t] bit_of             # inner node -> its own bit or NOTHING
    vector[uint32_t] levels
    vector[uint32_t] bit_nodes          # inner bit - first inner bit -> node or NOTHING
    vector[uint32_t] terminal_nodes
    vector[uint32_t] leaf_nodes         # leaf -> the node that may be a root, or NOTHING
    # Links by source (a leaf, or leaves + an inner bit), found by counting.
    vector[uint32_t] source_of          # by pushed node, or NOTHING
    vector[uint32_t] or_first
    vector[uint32_t] or_targets         # bits
    vector[uint32_t] and_first
    vector[uint32_t] and_nodes
    # Sections.
    vector[LeafStream] leaf_streams
    vector[uint32_t] inner_offsets
    vector[uint32_t] records
    vector[uint32_t] terminals
    vector[uint32_t] slots
    vector[uint32_t] always
    vector[Pair] pairs
    vector[PairRecord] pair_records
    vector[Partition] partitions
    vector[Guard] guards
    vector[Seller] sellers
    vector[LastHop] last_hops
    vector[int64_t] ids
    vector[char] routes
    vector[uint32_t] reach_of           # definition -> reach, or NOTHING; or empty
