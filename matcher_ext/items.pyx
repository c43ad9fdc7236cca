"""From a visit to the text of its answer in one call: match, order, copy (items.pxd)."""
import numpy

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport partial_sort, sort
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.arena cimport NOTHING
from matcher_ext.filling cimport Scratch
from matcher_ext.overlay cimport Overlay
from matcher_ext.paths cimport copy_paths
from matcher_ext.results cimport count_matched, list_entries
from matcher_ext.snapshot cimport ScratchHolder, Snapshot


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


cdef class Frame:
    def __init__(
        self, bytes heading not None, bytes opening not None, bytes closing not None,
        bytes ending not None,
    ):
        self.heading, self.opening, self.closing, self.ending = heading, opening, closing, ending


def answer_visit(
    Snapshot snapshot not None, Items below not None, Items beside, Overlay overlay, visit,
    size_t limit, bint keeps_ids=False, Frame frame=None, double age_seconds=0,
):
    """(text, count, malformed, ids, paths): the first `limit` entries' texts with commas between
    them; how many entries match; as match_with_paths. The ids are None unless kept.

    Where the visit found paths of its own the text is empty and the ids are kept: what such entries
    say depends on the visit. With a frame the text is the whole answer, unless there are such
    paths or malformed values, which the frame says nothing about. `below` are the snapshot's items,
    `beside` those of the entries that `overlay` was made with.
    """
    return answer(
        snapshot, below, beside, overlay, visit, limit, keeps_ids, frame, age_seconds
    )


cdef tuple answer(
    Snapshot snapshot, Items below, Items beside, Overlay overlay, object visit, size_t limit,
    bint keeps_ids, Frame frame, double age_seconds,
):
    if snapshot.plan.totals.entries != below.by_entry.size():
        raise ValueError("the texts are not those of the snapshot's entries")
    cdef ScratchHolder holder = snapshot._match(visit, overlay, None, True)
    cdef vector[Chosen] chosen
    cdef string before, after
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
        if frame is None or holder.scratch.visit.malformed.size():
            text = join(&chosen, limit, &before, &after)
        else:
            add(&before, frame.heading)
            add_tenths(&before, age_seconds)
            add(&before, frame.opening)
            add(&after, frame.closing)
            add_whole(&after, count)
            add(&after, frame.ending)
            text = join(&chosen, limit, &before, &after)
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


cdef bytes join(
    vector[Chosen]* chosen, size_t limit, const string* before, const string* after
):
    cdef size_t count = min(limit, chosen.size()), length = before.size() + after.size(), i
    cdef bytes text
    cdef char* target
    if count == chosen.size():
        sort(chosen.begin(), chosen.end(), comes_before)
    else:
        partial_sort(chosen.begin(), chosen.begin() + count, chosen.end(), comes_before)
    for i in range(count):
        length += chosen.at(i).length + (i > 0)
    text = PyBytes_FromStringAndSize(NULL, length)
    target = append(PyBytes_AS_STRING(text), before.data(), before.size())
    for i in range(count):
        if i:
            target = append(target, b",", 1)
        target = append(target, chosen.at(i).text, chosen.at(i).length)
    append(target, after.data(), after.size())
    return text


cdef inline char* append(char* target, const char* text, size_t length) noexcept nogil:
    memcpy(target, text, length)
    return target + length


cdef int add(string* text, bytes more) except -1:
    text.append(PyBytes_AS_STRING(more), PyBytes_GET_SIZE(more))
    return 0


cdef int add_whole(string* text, uint64_t number) except -1:
    cdef char[20] digits
    cdef int at = 20
    while True:
        at -= 1
        digits[at] = <char>(c"0" + number % 10)
        number //= 10
        if not number:
            text.append(digits + at, 20 - at)
            return 0


cdef int add_tenths(string* text, double number) except -1:
    """As `%.1f`, of what is not negative and not astronomical."""
    cdef uint64_t tenths = <uint64_t>(number * 10 + 0.5)
    add_whole(text, tenths // 10)
    text.append(b".", 1)
    add_whole(text, tenths % 10)
    return 0
