"""Fills the bits of leaves, the first step of matching: ranks first, then rows (leaf_bits.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from matcher_ext.machine.bitmaps cimport clear_bit, fetch_line, fill_bits, set_bit, write_masked
from matcher_ext.machine.hashing cimport hash_bytes
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place
from matcher_ext.machine.short_bytes cimport same_bytes
from matcher_ext.match.clue_lookup cimport fill_lazy
from matcher_ext.match.scratch cimport Rank, Scratch
from matcher_ext.plan.plan cimport Plan, missing_test
from matcher_ext.plan.predicate_index cimport (
    G_ABOVE, G_BETWEEN, G_FROM, G_LAZY, G_MEMBER, G_OUTSIDE, G_PRESENT, G_STRANGER, G_UNEQUAL,
    G_UP_TO, GROUPS, PUSHED, ROLES, AttributeIndex, Bound, PointRow, RoleIndex, TextKey,
    order_float, width_class,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport FLOAT, GEO, INTEGER_SET, IP, STRING, STRING_SET
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.visit cimport Value

cdef enum:
    FEW_INTERVALS = 1024    # faster read from front to back than searched class by class


cdef uint32_t find_number(
    const Plan* plan, const AttributeIndex* attribute, int64_t word
) noexcept nogil:
    """Halves the keys without a branch: which half it is, is as good as random."""
    cdef const int64_t* keys = plan.keys + attribute.keys
    cdef uint32_t first = 0, count = attribute.key_count, half
    if count == 0:
        return 0
    while count > 1:
        half = count >> 1
        first += half * (keys[first + half - 1] < word)
        count -= half
    return first + (keys[first] < word)


cdef uint32_t find_text(
    const Plan* plan, const AttributeIndex* attribute, const char* text, uint32_t length
) noexcept nogil:
    """Looks a text up in the attribute's table."""
    cdef const TextKey* table = plan.texts + attribute.keys
    cdef uint32_t hash = <uint32_t>hash_bytes(text, length)
    cdef size_t place = first_place(hash, attribute.mask)
    cdef const TextKey* key = &table[place]
    while key.rank != NOTHING:
        if key.hash == hash and text_length(key.word) == length and (
            same_bytes(plan.tests.bytes + text_offset(key.word), text, length)
        ):
            return key.rank
        place = next_place(place, attribute.mask)
        key = &table[place]
    return attribute.key_count


cdef inline void fill_intervals(
    const Plan* plan, Scratch* scratch, const RoleIndex* role, uint32_t rank, bint exact
) noexcept nogil:
    cdef const Bound* bounds = plan.bounds + role.bounds
    cdef uint32_t first = role.starts[<int>G_BETWEEN]
    cdef uint32_t middle = role.starts[<int>G_OUTSIDE]
    cdef uint32_t end = role.starts[<int>G_MEMBER]
    if first == end:
        return
    mark_intervals(scratch, bounds, middle - first, first, rank, exact, True)
    fill_bits(scratch.bits.data(), middle, end, True)
    mark_intervals(scratch, bounds + (middle - first), end - middle, middle, rank, exact, False)


cdef void mark_intervals(
    Scratch* scratch,
    const Bound* bounds,
    uint32_t count,
    uint32_t leaf,
    uint32_t rank,
    bint exact,
    bint truth,
) noexcept nogil:
    """Marks the intervals that contain the value. A few are not worth a search and are all
    compared.

    Of many, only those of each class are looked at that begin near enough to reach the rank. An
    interval is at least half its class's widest, so one that starts within that half contains the
    value: no test.
    """
    cdef uint32_t first = 0, stop, width, low, near, end
    if count <= FEW_INTERVALS:
        mark_holding(scratch, bounds, 0, count, leaf, rank, exact, truth)
        return
    while first < count:
        width = width_class(bounds[first].low, bounds[first].high)
        stop = find_class(bounds, first, count, width + 1)
        width = (<uint32_t>1 << width) - 1 if width < 32 else NOTHING
        low = find_low(bounds, first, stop, rank - width if rank > width else 0)
        width = width - (width >> 1)
        near = find_low(bounds, low, stop, rank - width if rank > width else 0)
        end = find_low(bounds, near, stop, rank + exact)
        mark_holding(scratch, bounds, low, near, leaf, rank, exact, truth)
        fill_bits(scratch.bits.data(), leaf + near, leaf + end, truth)
        first = stop


cdef inline void mark_holding(
    Scratch* scratch,
    const Bound* bounds,
    uint32_t first,
    uint32_t end,
    uint32_t leaf,
    uint32_t rank,
    bint exact,
    bint truth,
) noexcept nogil:
    """Compares intervals: one holds the value if its ends' ranks are on both sides (or on it, if
    exact)."""
    cdef uint32_t below = rank + exact          # low < below
    cdef uint32_t word, stop, i
    cdef uint64_t held
    # Goes word by word and without a branch: which of them hold a value is as good as random.
    while first < end:
        word = (leaf + first) >> 6
        stop = min(end, ((word + 1) << 6) - leaf)
        held = 0
        for i in range(first, stop):
            held |= <uint64_t>(
                (bounds[i].low < below) & (bounds[i].high >= rank)
            ) << ((leaf + i) & 63)
        write_masked(&scratch.bits[word], held, truth)
        first = stop


cdef inline uint32_t find_low(
    const Bound* bounds, uint32_t first, uint32_t end, uint32_t low
) noexcept nogil:
    """Finds the first interval of a class whose lower bound is not below, by halves without a
    branch."""
    cdef uint32_t count = end - first, half
    if count == 0:
        return first
    while count > 1:
        half = count >> 1
        first += half * (bounds[first + half - 1].low < low)
        count -= half
    return first + (bounds[first].low < low)


cdef inline uint32_t find_class(
    const Bound* bounds, uint32_t first, uint32_t end, uint32_t width
) noexcept nogil:
    """Finds the first interval of a class that is not below, by binary search."""
    cdef uint32_t middle
    if width_class(bounds[end - 1].low, bounds[end - 1].high) < width:
        return end
    while first < end:
        middle = (first + end) >> 1
        if width_class(bounds[middle].low, bounds[middle].high) < width:
            first = middle + 1
        else:
            end = middle
    return first


cdef void fill_scalar(
    const Plan* plan, Scratch* scratch, const AttributeIndex* attribute, uint32_t rank, bint exact
) noexcept nogil:
    cdef uint64_t* bits = scratch.bits.data()
    cdef const RoleIndex* role
    cdef const PointRow* row
    cdef const PointRow* strict         # the row whose cuts say "not above" the value
    cdef uint32_t i
    cdef int r
    for r in range(<int>ROLES):
        role = &attribute.roles[r]
        if role.starts[0] == role.starts[<int>GROUPS]:
            continue
        row = plan.points + 2 * <size_t>(attribute.point + rank) + r
        strict = row + 2 if exact else row
        fill_bits(bits, role.starts[<int>G_UNEQUAL], role.starts[<int>G_UP_TO], True)
        if role.starts[<int>G_UP_TO] < role.starts[<int>G_MEMBER]:      # not of most texts
            fill_bits(bits, row.up_to, role.starts[<int>G_ABOVE], True)
            fill_bits(bits, role.starts[<int>G_ABOVE], row.above, True)
            fill_bits(bits, strict.below, role.starts[<int>G_FROM], True)
            fill_bits(bits, role.starts[<int>G_FROM], strict.from_, True)
            fill_intervals(plan, scratch, role, rank, exact)
        fill_bits(bits, role.starts[<int>G_STRANGER], role.starts[<int>G_LAZY], True)
        if exact:
            if row.equal != NOTHING:
                set_bit(bits, row.equal)
            if row.unequal != NOTHING:
                clear_bit(bits, row.unequal)
            for i in range(row.member, row.stranger):
                set_bit(bits, plan.members[i])
            for i in range(row.stranger, row[1].member):
                clear_bit(bits, plan.members[i])


cdef void fill_set(
    const Plan* plan, Scratch* scratch, const AttributeIndex* attribute, size_t first_point
) noexcept nogil:
    """Fills the leaves of a set, whose elements that predicates name are
    scratch.points[first_point:]."""
    cdef uint64_t* bits = scratch.bits.data()
    cdef const RoleIndex* role
    cdef const PointRow* row
    cdef size_t k
    cdef uint32_t i
    cdef int r
    for r in range(<int>ROLES):
        role = &attribute.roles[r]
        if role.starts[0] == role.starts[<int>GROUPS]:
            continue
        fill_bits(bits, role.starts[<int>G_STRANGER], role.starts[<int>G_LAZY], True)
        for k in range(first_point, scratch.points.size()):
            row = plan.points + 2 * <size_t>scratch.points[k] + r
            for i in range(row.member, row.stranger):
                set_bit(bits, plan.members[i])
            for i in range(row.stranger, row[1].member):
                clear_bit(bits, plan.members[i])


cdef void fill_present(
    const Plan* plan, Scratch* scratch, const AttributeIndex* attribute
) noexcept nogil:
    cdef int r
    for r in range(<int>ROLES):
        fill_bits(
            scratch.bits.data(), attribute.roles[r].starts[<int>G_PRESENT],
            attribute.roles[r].starts[<int>G_LAZY], True,
        )


cdef void fill_elements(
    const Plan* plan, Scratch* scratch, const AttributeIndex* attribute, const Value* value,
    bint textual,
) noexcept nogil:
    cdef size_t first_point = scratch.points.size()
    cdef int64_t word
    cdef uint32_t i, rank
    for i in range(value.count if attribute.key_count else 0):
        word = scratch.visit.words[value.first + i]
        if textual:
            rank = find_text(
                plan, attribute, scratch.visit.bytes.data() + text_offset(word), text_length(word)
            )
        else:
            rank = find_number(plan, attribute, word)
            if rank < attribute.key_count and plan.keys[attribute.keys + rank] != word:
                continue
        if rank < attribute.key_count:
            scratch.points.push_back(attribute.point + rank)
    fill_set(plan, scratch, attribute, first_point)


cdef bint has_rank(int type) noexcept nogil:
    return type != STRING_SET and type != INTEGER_SET and type != IP and type != GEO


cdef Rank find_rank(
    const Plan* plan, const AttributeIndex* attribute, const Scratch* scratch, int type,
    int64_t word,
) noexcept nogil:
    cdef Rank found
    if type == STRING:
        found.rank = attribute.key_count
        if found.rank:
            found.rank = find_text(
                plan, attribute, scratch.visit.bytes.data() + text_offset(word), text_length(word)
            )
        found.exact = found.rank < attribute.key_count
    else:
        if type == FLOAT:
            word = order_float(word)
        found.rank = find_number(plan, attribute, word)
        found.exact = found.rank < attribute.key_count and (
            plan.keys[attribute.keys + found.rank] == word
        )
    return found


cdef void find_ranks(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil:
    """Finds the ranks of all values before any is used, and fetches the rows that they lead to."""
    cdef const AttributeIndex* attribute
    cdef const PointRow* row
    cdef uint32_t number
    cdef size_t i
    scratch.ranks.resize(scratch.visit.carried.size())
    for i in range(scratch.visit.carried.size()):
        number = scratch.visit.carried[i]
        attribute = &plan.attributes[number]
        if has_rank(table.attributes[number].type):
            scratch.ranks[i] = find_rank(
                plan, attribute, scratch, table.attributes[number].type,
                scratch.visit.values[number].word,
            )
            row = plan.points + 2 * <size_t>(attribute.point + scratch.ranks[i].rank)
            fetch_line(row)
            fetch_line(row + 2 * <size_t>scratch.ranks[i].exact)


cdef void fill_attribute(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t number, const Rank* rank
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef const Value* value = &scratch.visit.values[number]
    cdef int type = table.attributes[number].type
    if type == STRING_SET or type == INTEGER_SET:
        fill_elements(plan, scratch, attribute, value, type == STRING_SET)
    elif type == IP or type == GEO:
        fill_present(plan, scratch, attribute)
    else:
        if rank.exact:
            scratch.points.push_back(attribute.point + rank.rank)
            if number == plan.totals.partition:
                scratch.partition = attribute.point + rank.rank
        fill_scalar(plan, scratch, attribute, rank.rank, rank.exact)
    if attribute.roles[<int>PUSHED].starts[<int>G_LAZY] < (
        attribute.roles[<int>PUSHED].starts[<int>GROUPS]
    ):
        fill_lazy(plan, table, scratch, number)


cdef void fill_carried(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef size_t i
    fetch_attributes(plan, scratch)
    find_ranks(plan, table, scratch)
    for i in range(scratch.visit.carried.size()):
        fill_attribute(plan, table, scratch, scratch.visit.carried[i], &scratch.ranks[i])


cdef void fetch_attributes(const Plan* plan, const Scratch* scratch) noexcept nogil:
    """Fetches what is read first, of all attributes at once."""
    cdef const AttributeIndex* attribute
    cdef size_t i
    for i in range(scratch.visit.carried.size()):
        attribute = &plan.attributes[scratch.visit.carried[i]]
        fetch_line(attribute)
        fetch_line(<const char*>attribute + 64)
        fetch_line(<const char*>(attribute + 1) - 1)
    for i in range(scratch.visit.carried.size()):
        attribute = &plan.attributes[scratch.visit.carried[i]]
        fetch_line(plan.keys + attribute.keys + attribute.key_count // 2)


cdef void fill_missing(const Plan* plan, Scratch* scratch) noexcept nogil:
    cdef uint32_t leaf
    cdef int r
    for r in range(<int>ROLES):
        for leaf in range(plan.totals.missing[r], plan.totals.missing_end[r]):
            if not scratch.visit.values[missing_test(plan, r, leaf).attribute].known:
                set_bit(scratch.bits.data(), leaf)
