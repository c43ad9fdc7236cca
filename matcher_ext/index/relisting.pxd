"""Lists routed records by seller anew (plan.pxd), for publishers that another graph concerns.

Records stay where they are: partitions, sellers and last hops are copied, with other lists for
those publishers.
"""
from libc.stdint cimport uint8_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport LastHop, Partition, Plan, Seller, Totals

cdef enum:
    MOST_RELISTED = 8000000     # words of half a million records; more take too long for a change

cdef cppclass Relisted:
    vector[Partition] partitions
    vector[Seller] sellers
    vector[LastHop] last_hops
    Totals totals

# Lets a plan, whose graph is the new one, point to the lists. False, with nothing done: more than
# `most_words` of records are concerned. `is_rerouted` by node of the graph.
cdef bint relist_sellers(
    Plan* plan, const vector[uint8_t]* is_rerouted, uint64_t most_words, Relisted* made
) noexcept nogil
