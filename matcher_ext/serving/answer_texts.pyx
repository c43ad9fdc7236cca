"""From the entries that a visit matched to the texts of its answer: choose, order, copy
(answer_texts.pxd)."""
import numpy

from libc.math cimport INFINITY, fma, rint
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.algorithm cimport partial_sort, sort
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.index.overlay cimport Overlay
from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.machine.bitmaps cimport fetch_line
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.paths cimport find_path, list_paths
from matcher_ext.match.results cimport list_entries
from matcher_ext.plan.plan cimport Plan
from matcher_ext.routes.routes cimport MOST_HOPS, RouteNode, share_of
from matcher_ext.serving.json_text cimport add_ten_thousandths, add_text

cdef extern from * nogil:
    """
    // With all of a machine's registers (bitmaps.pxd).
    FOR_EACH_MACHINE
    static void count_below(const double* ranks, size_t count, int64_t* below) {
        for (size_t i = 0; i < count; i++) {
            int64_t found = 0;
            for (size_t k = 0; k < (count + 3) / 4 * 4; k++) found += ranks[k] < ranks[i];
            below[i] = found;
        }
    }
    """
    # Counts for each rank those that are smaller; behind the last is room for three, which are not.
    void count_below(const double* ranks, size_t count, int64_t* below)

cdef extern from "<cstring>" nogil:
    const void* memrchr(const void* text, int character, size_t length)

cdef enum:
    IS_ANY = 0xFFFFFFFE             # a way that is still to be found
    AHEAD = 8                       # entries and texts whose lines are fetched before they are read
    FEW = 64                        # that are put in order by counting


cdef class Items:
    def __init__(
        self, Snapshot snapshot, ids, ranks, offsets, content, *, campaigns, path_at, reaches,
        prices,
    ):
        """Takes a text for each entry of the snapshot, in ascending order of `ids`."""
        columns = (ranks, campaigns, path_at, reaches, prices)
        if any(len(column) != len(ids) for column in columns) or len(offsets) != len(ids) + 1:
            raise ValueError("every entry needs one rank and one text")
        if not numpy.array_equal(snapshot.ids, ids):
            raise ValueError("the texts are not those of the snapshot's entries")
        sizes = numpy.diff(offsets)
        if offsets[0] < 0 or offsets[len(ids)] > len(content) or (
            len(ids) and (sizes.min() < 0 or numpy.any(path_at < 0) or numpy.any(path_at > sizes))
        ):
            raise ValueError("a text is not where it is said to be")
        self.snapshot = snapshot
        self.lent = lend(&self.table, ids, offsets, content, campaigns, path_at, reaches)
        order = numpy.ascontiguousarray(snapshot.id_order, numpy.int64)
        find_places(
            &self.table, order, numpy.ascontiguousarray(ranks, numpy.float64),
            numpy.ascontiguousarray(prices, numpy.float64),
        )

    def __len__(self):
        return self.table.by_entry.size()


cdef tuple lend(ItemTable* table, ids, offsets, content, campaigns, path_at, reaches):
    """Points the table at these columns; returns what has to stay alive while it is read."""
    cdef const int64_t[::1] of_ids = numpy.ascontiguousarray(ids, numpy.int64)
    cdef const int64_t[::1] of_offsets = numpy.ascontiguousarray(offsets, numpy.int64)
    cdef const unsigned char[::1] of_content = content
    cdef const int64_t[::1] of_campaigns = numpy.ascontiguousarray(campaigns, numpy.int64)
    cdef const int32_t[::1] of_path_at = numpy.ascontiguousarray(path_at, numpy.int32)
    cdef const int64_t[::1] of_reaches = numpy.ascontiguousarray(reaches, numpy.int64)
    if len(ids):
        table.ids = &of_ids[0]
        table.campaigns = &of_campaigns[0]
        table.path_at = &of_path_at[0]
        table.reaches = &of_reaches[0]
    table.offsets = &of_offsets[0]
    table.content = <const char*>&of_content[0] if len(content) else NULL
    return of_ids, of_offsets, of_content, of_campaigns, of_path_at, of_reaches


cdef int find_places(
    ItemTable* table, const int64_t[::1] order, const double[::1] ranks, const double[::1] prices
) except -1:
    cdef Py_ssize_t row
    cdef Place* place
    table.by_entry.resize(order.shape[0])
    for row in range(order.shape[0]):
        place = &table.by_entry[order[row]]
        place.rank = ranks[row]
        place.price = prices[row]
        place.row = <uint32_t>row
        place.takes_any = table.reaches[row] != 0
    return 0


def answer_visit(
    Snapshot snapshot not None, Items below not None, Items beside, Overlay overlay, visit, *,
    limit=None, campaigns=None, bint by_campaign=False, bint has_paths=True,
):
    """Answers a visit by (text, count): the texts of the first entries that match, with commas
    between them, and how many match without the limit. `below` are the snapshot's items, `beside`
    those of the entries that the overlay was made with."""
    cdef ScratchHolder holder, changed = None
    cdef Wanted wanted
    cdef Choice choice
    cdef string text
    cdef size_t count
    if snapshot.plan.totals.entries != below.table.by_entry.size():
        raise ValueError("the texts are not those of the snapshot's entries")
    wanted.limit = -1 if limit is None else limit
    wanted.has_campaigns = campaigns is not None
    wanted.campaigns = sorted(campaigns or ())
    wanted.by_campaign, wanted.has_paths = by_campaign, has_paths
    holder = snapshot._match(visit, overlay, None, True)
    if beside is not None:
        changed = beside.snapshot._match_beside(overlay, holder)
    count = choose_among(&choice, snapshot, holder, below, changed, beside, &wanted)
    write_items(
        &text, &choice, count if limit is None else min(count, <size_t>limit),
        &snapshot.plan.routes, &holder.scratch, has_paths,
    )
    if changed is not None:
        beside.snapshot.pool.append(changed)
    snapshot.pool.append(holder)
    return <bytes>text, count


cdef size_t choose_among(
    Choice* choice, Snapshot snapshot, ScratchHolder holder, Items below, ScratchHolder changed,
    Items beside, const Wanted* wanted
) noexcept:
    cdef const Plan* plan = NULL
    cdef Scratch* scratch = NULL
    cdef const ItemTable* table = NULL
    if changed is not None:
        plan, scratch, table = &beside.snapshot.plan, &changed.scratch, &beside.table
    return choose_items(
        choice, &snapshot.plan, &holder.scratch, &below.table, plan, scratch, table, wanted
    )


cdef size_t choose_items(
    Choice* choice, const Plan* plan, Scratch* below, const ItemTable* items,
    const Plan* beside_plan, Scratch* beside, const ItemTable* items_beside, const Wanted* wanted
) noexcept nogil:
    cdef bint has_any
    choice.chosen.clear()
    choice.paths.clear()
    has_any = choose_from(choice, plan, below, items, wanted)
    if beside != NULL:
        has_any = choose_from(choice, beside_plan, beside, items_beside, wanted) or has_any
    if has_any:
        list_paths(&choice.paths, &plan.routes, below)
        find_worth(choice, below, not wanted.by_campaign)
    put_in_order(choice, wanted.limit)
    return choice.chosen.size()


cdef bint choose_from(
    Choice* choice, const Plan* plan, Scratch* scratch, const ItemTable* items, const Wanted* wanted
) noexcept nogil:
    """Chooses the wanted ones of the entries that matched; tells whether one of them takes any
    path."""
    cdef const Place* place
    cdef Chosen found
    cdef bint has_any = False
    cdef size_t count, i
    list_entries(plan, scratch)
    count = scratch.matched.size()
    found.items = items
    for i in range(count):
        if i + AHEAD < count:
            fetch_line(&items.by_entry[scratch.matched[i + AHEAD]])
        place = &items.by_entry[scratch.matched[i]]
        if wanted.has_campaigns and not is_wanted(wanted, items.campaigns[place.row]):
            continue
        found.rank = <double>items.campaigns[place.row] if wanted.by_campaign else place.rank
        found.net_cpm = place.price
        found.row = place.row
        found.way = IS_ANY if place.takes_any else NOTHING
        has_any = has_any or place.takes_any
        choice.chosen.push_back(found)
    return has_any


cdef bint is_wanted(const Wanted* wanted, int64_t campaign) noexcept nogil:
    cdef size_t low = 0, high = wanted.campaigns.size(), middle
    while low < high:
        middle = (low + high) // 2
        if wanted.campaigns[middle] < campaign:
            low = middle + 1
        else:
            high = middle
    return low < wanted.campaigns.size() and wanted.campaigns[low] == campaign


cdef void find_worth(Choice* choice, const Scratch* below, bint is_order) noexcept nogil:
    """Finds what the visit's own paths leave of each price. Ranks anew by that, because ranks made
    beforehand do not hold where a path depends on the visit."""
    cdef Chosen* chosen
    cdef double price
    cdef size_t i
    for i in range(choice.chosen.size()):
        chosen = &choice.chosen[i]
        price = chosen.net_cpm
        if chosen.way == IS_ANY:
            chosen.way = find_path(&choice.paths, chosen.items.reaches[chosen.row])
            if chosen.way != NOTHING:
                price = price * share_of(&below.walk.ways[chosen.way])
        chosen.net_cpm = rint(price * 10_000.0)     # as numpy.round(.., 4) finds it
        if is_order:
            chosen.rank = -(chosen.net_cpm / 10_000.0)


cdef uint64_t fee_of(double share) noexcept nogil:
    """Finds the fee in percent, in ten-thousandths, as round(100 * (1 - share), 4) does, which goes
    by the exact value. The product's own rounding error says on which side of a half it is."""
    cdef double fee = 100.0 * (1.0 - share)
    cdef double product = fee * 10_000.0
    cdef double error = fma(fee, 10_000.0, -product)
    cdef double whole = rint(product)
    if product - whole == 0.5 and error > 0:
        whole += 1
    elif product - whole == -0.5 and error < 0:
        whole -= 1
    return <uint64_t>whole


cdef bint comes_before(const Chosen& a, const Chosen& b) noexcept nogil:
    if a.rank != b.rank:
        return a.rank < b.rank
    if a.items.campaigns[a.row] != b.items.campaigns[b.row]:
        return a.items.campaigns[a.row] < b.items.campaigns[b.row]
    return a.items.ids[a.row] < b.items.ids[b.row]


cdef void put_in_order(Choice* choice, int64_t limit) noexcept nogil:
    """Puts the first ones in order. A heap pays only where they are few among many."""
    cdef vector[Chosen]* chosen = &choice.chosen
    if chosen.size() <= FEW and put_by_counting(choice):
        return
    if limit < 0 or <size_t>limit >= chosen.size():
        sort(chosen.begin(), chosen.end(), comes_before)
    else:
        partial_sort(chosen.begin(), chosen.begin() + limit, chosen.end(), comes_before)


cdef bint put_by_counting(Choice* choice) noexcept nogil:
    """Counts for each how many come before it, which leaves a processor nothing to guess. False,
    with nothing done: two have the same rank."""
    cdef double[FEW + 3] ranks
    cdef int64_t[FEW] before
    cdef uint64_t taken = 0
    cdef size_t count = choice.chosen.size(), i
    for i in range(count):
        ranks[i] = choice.chosen[i].rank
    for i in range(count, count + 3):
        ranks[i] = INFINITY
    count_below(ranks, count, before)
    choice.ordered.resize(count)
    for i in range(count):
        if taken >> before[i] & 1:
            return False
        taken |= <uint64_t>1 << before[i]
        choice.ordered[before[i]] = choice.chosen[i]
    choice.chosen.swap(choice.ordered)
    return True


cdef void fetch_texts(const Choice* choice, size_t first, size_t end) noexcept nogil:
    """Fetches what is copied soon: a text is a few lines that nothing else has read."""
    cdef const Chosen* chosen
    cdef const char* item
    cdef size_t i, k
    for i in range(first, end):
        chosen = &choice.chosen[i]
        item = chosen.items.content + chosen.items.offsets[chosen.row]
        for k in range(4):
            fetch_line(item + 64 * k)


cdef void write_items(
    string* text, const Choice* choice, size_t count, const RoutePlan* routes, const Scratch* below,
    bint has_paths
) noexcept nogil:
    cdef const Chosen* chosen
    cdef const char* item
    cdef size_t length, i
    for i in range(count):
        fetch_line(&choice.chosen[i].items.offsets[choice.chosen[i].row])
    fetch_texts(choice, 0, min(count, <size_t>AHEAD))
    for i in range(count):
        fetch_texts(choice, min(count, i + AHEAD), min(count, i + AHEAD + 1))
        chosen = &choice.chosen[i]
        item = chosen.items.content + chosen.items.offsets[chosen.row]
        if i:
            text.push_back(b",")
        if chosen.way != NOTHING:
            write_any(text, chosen, routes, below, has_paths)
        elif has_paths:
            length = chosen.items.offsets[chosen.row + 1] - chosen.items.offsets[chosen.row]
            text.append(item, length)
        else:
            text.append(item, chosen.items.path_at[chosen.row])
            text.push_back(b"}")


cdef void write_any(
    string* text, const Chosen* chosen, const RoutePlan* routes, const Scratch* below,
    bint has_paths,
) noexcept nogil:
    """Writes an item whose terms are this visit's own: its text up to them, then the terms."""
    cdef const char* item = chosen.items.content + chosen.items.offsets[chosen.row]
    cdef const char* terms = find_terms(item, item + chosen.items.path_at[chosen.row])
    text.append(item, terms - item)
    text.append(b',"net_cpm":', 11)
    add_ten_thousandths(text, <uint64_t>chosen.net_cpm)
    text.append(b',"fee_percent":', 15)
    add_ten_thousandths(text, fee_of(share_of(&below.walk.ways[chosen.way])))
    if has_paths:
        text.append(b',"path":[', 9)
        write_path(text, chosen.way, routes, below)
        text.push_back(b"]")
    text.push_back(b"}")


cdef const char* find_terms(const char* item, const char* at) noexcept nogil:
    """Finds where `,"net_cpm":..,"fee_percent":..` begins, which ends at `at`: numbers have no
    commas, so it is the second comma from the end."""
    cdef const char* fee = <const char*>memrchr(item, b",", at - item)
    cdef const char* terms = <const char*>memrchr(item, b",", fee - item) if fee != NULL else NULL
    return item if terms == NULL else terms


cdef void write_path(
    string* text, uint32_t way, const RoutePlan* routes, const Scratch* below
) noexcept nogil:
    cdef uint32_t[MOST_HOPS + 1] nodes
    cdef uint32_t count = 0
    cdef const RouteNode* node
    while way != NOTHING and count <= MOST_HOPS:
        nodes[count] = below.walk.ways[way].node
        count += 1
        way = below.walk.ways[way].before
    while count:
        count -= 1
        node = &routes.routes.nodes[nodes[count]]
        add_text(text, routes.bytes + node.label, node.label_length)
        if count:
            text.push_back(b",")
