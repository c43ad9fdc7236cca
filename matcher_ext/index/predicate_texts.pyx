"""Lists what there is to measure in a snapshot: its predicates, as texts."""
from libc.stdint cimport uint32_t

from matcher_ext.index.snapshot cimport Snapshot
from matcher_ext.plan.graph cimport word_leaf


def list_predicates(Snapshot snapshot):
    """Lists the texts of all predicates, in the snapshot's own order; `ATree.set_truth_rates` reads
    them back."""
    cdef uint32_t leaf
    snapshot._thaw()
    return [
        word_leaf(&snapshot.plan, snapshot.catalog, leaf)
        for leaf in range(snapshot.plan.totals.leaves)
    ]
