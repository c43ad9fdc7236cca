"""From a visit to the text of its answer in one call: match, order, copy (items.pxd)."""
import numpy

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy
from libcpp.algorithm cimport partial_sort
from libcpp.vector cimport vector

from matcher_ext.arena cimport NOTHING
from matcher_ext.filling cimport Scratch
from matcher_ext.paths cimport copy_paths
from matcher_ext.results cimport count_matched, list_entries
from matcher_ext.snapshot cimport Overlay, ScratchHolder, Snapshot


cdef class Items:
    def __init__(self, Snapshot snapshot, ids, ranks, offsets, content):
        """A text for each entry of the snapshot, in ascending order of `ids`."""
        if len(ranks) != len(ids) or len(offsets) != len(ids) + 1:
            raise ValueError("every entry needs one rank and one text")
        if not numpy.array_equal(snapshot.ids, ids):
            raise ValueError("the texts are not those of the snapshot's entries")
        sizes = numpy.diff(offsets)
        if offsets[0] < 0 or offsets[len(ids)] > len(content) or (len(ids) and sizes.min() < 0):
            raise ValueError("a text is not where it is said to be")
        self.snapshot = snapshot
        self.ids = ids
        self.offsets = offsets
        self.content = content
        self.bytes = <const char*>&self.content[0] if len(content) else NULL
        self.by_entry.resize(len(ids))
        cdef const int64_t[::1] order = numpy.ascontiguousarray(snapshot.id_order, numpy.int64)
        cdef const double[::1] rank = numpy.ascontiguousarray(ranks, numpy.float64)
        cdef Py_ssize_t row
        for row in range(order.shape[0]):
            self.by_entry[order[row]].rank = rank[row]
            self.by_entry[order[row]].row = <uint32_t>row

    def __len__(self):
        return self.by_entry.size()

    cdef int _choose(self, uint32_t entry, vector[Chosen]* chosen) except -1:
        cdef const Place* place = &self.by_entry[entry]
        cdef Chosen found
        found.rank = place.rank
        found.length = self.offsets[place.row + 1] - self.offsets[place.row]
        found.text = self.bytes + self.offsets[place.row]
        chosen.push_back(found)
        return 0

    cdef int _choose_id(self, int64_t entry_id, vector[Chosen]* chosen) except -1:
        return self._choose(<uint32_t>self.snapshot.entry_of(entry_id), chosen)


def answer_visit(
    Snapshot snapshot not None, Items below not None, Items beside, Overlay overlay, visit,
    size_t limit, bint keeps_ids=False,
):
    """(text, count, malformed, ids, paths): the first `limit` entries' texts with commas between
    them; how many entries match; as match_with_paths. The ids are None unless kept.

    Where the visit found paths of its own the text is empty and the ids are kept: what such entries
    say depends on the visit. `below` are the snapshot's items, `beside` those of the entries that
    `overlay` was made with.
    """
    if snapshot.plan.totals.entries != below.by_entry.size():
        raise ValueError("the texts are not those of the snapshot's entries")
    cdef ScratchHolder holder = snapshot._match(visit, overlay, None, True)
    cdef vector[Chosen] chosen
    cdef size_t count = count_matched(&holder.scratch)
    cdef uint32_t entry
    cdef int64_t entry_id
    changed = paths = ids = None
    text = b""
    malformed = ()
    if beside is not None:
        changed = beside.snapshot._match_lent(visit, overlay, holder)
        count += len(changed)
    if has_paths(&holder.scratch):
        paths = copy_paths(snapshot, &snapshot.plan.routes, &holder.scratch)
    if keeps_ids or paths is not None:
        ids = snapshot._copy_matched(holder)
        ids = ids if changed is None else numpy.concatenate([ids, changed])
        ids.sort()
    if paths is None:
        list_entries(&snapshot.plan, &holder.scratch)
        chosen.reserve(count)
        for entry in holder.scratch.matched:
            below._choose(entry, &chosen)
        if changed is not None:
            for entry_id in changed:
                beside._choose_id(entry_id, &chosen)
        text = join(&chosen, limit)
    if holder.scratch.visit.malformed.size():
        malformed = tuple([snapshot.catalog.names[entry] for entry in holder.scratch.visit.malformed])
    snapshot.pool.append(holder)
    return text, count, malformed, ids, paths


cdef bint has_paths(const Scratch* scratch) noexcept nogil:
    cdef size_t i
    for i in range(scratch.reached.size()):
        if scratch.reached[i].way != NOTHING:
            return True
    return False


cdef bint comes_before(const Chosen& a, const Chosen& b) noexcept nogil:
    return a.rank < b.rank


cdef bytes join(vector[Chosen]* chosen, size_t limit):
    cdef size_t count = min(limit, chosen.size()), length = 0, i
    cdef bytes text
    cdef char* target
    if count == 0:
        return b""
    partial_sort(chosen.begin(), chosen.begin() + count, chosen.end(), comes_before)
    for i in range(count):
        length += chosen.at(i).length + 1
    text = PyBytes_FromStringAndSize(NULL, length - 1)
    target = PyBytes_AS_STRING(text)
    for i in range(count):
        if i:
            target[0] = b","
            target += 1
        memcpy(target, chosen.at(i).text, chosen.at(i).length)
        target += chosen.at(i).length
    return text
