"""Chooses, orders and joins the ready texts of entries for one visit's answer.

    by_entry   place and row of each entry     made once, so that a match leads there without search
    offsets    row r's text is content[offsets[r] : offsets[r + 1]]     all columns are lent

    {"campaign_id":7,..,"net_cpm":4.2,"fee_percent":16.0,"path":["herald","adnet","globex"]}
                       '-- terms ------------------------'- path_at

What an entry that takes any path says behind its terms depends on the visit: then net CPM, fee and
path are those of the cheapest path that the visit may take, and the order follows them.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.match.paths cimport FoundPath
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.requests.json_requests cimport Wanted
from matcher_ext.routes.route_section cimport RoutePlan

cdef struct Place:
    double rank                     # the smallest comes first; no two are the same
    double price                    # what an any path's share is taken of; else the net CPM
    uint32_t row
    bint takes_any                  # any path, so that the visit's own counts

cdef cppclass ItemTable:
    vector[Place] by_entry
    const int64_t* ids              # ascending
    const int64_t* offsets
    const char* content
    const int64_t* campaigns
    const int32_t* path_at
    const int64_t* reaches          # what the graph knows an any path by (path_key), or 0

cdef struct Chosen:
    double rank                     # the smallest comes first, then the smaller campaign, then id
    double net_cpm                  # in ten-thousandths, where ranks do not hold
    const ItemTable* items
    uint32_t row
    uint32_t way                    # of the walk, or NOTHING: as the text says

cdef cppclass Choice:
    """The memory of one answer at a time."""
    vector[Chosen] chosen
    vector[Chosen] ordered          # room to put them in order
    vector[FoundPath] paths

cdef class Items:
    """Immutable, so any number of threads may read it; keeps the memory alive that it was lent."""
    cdef readonly Snapshot snapshot
    cdef ItemTable table
    cdef tuple lent

# Chooses among the entries that a visit matched in a snapshot, and in what lies beside it
# (`changed` and `beside`, or None), and puts the first of them in order; says how many there are
# without the limit. Paths are those of the snapshot's graph.
cdef size_t choose_among(
    Choice* choice, Snapshot snapshot, ScratchHolder holder, Items below, ScratchHolder changed,
    Items beside, const Wanted* wanted
) noexcept
# Writes the texts of the first `count`, with commas between them.
cdef void write_items(
    string* text, const Choice* choice, size_t count, const RoutePlan* routes, const Scratch* below,
    bint has_paths
) noexcept nogil
