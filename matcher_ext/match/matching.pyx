"""Matches one visit over a frozen plan: see matching.pxd for the steps."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from matcher_ext.machine.bitmaps cimport fetch_line, first_one, get_bit, set_bit
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place
from matcher_ext.match.leaf_bits cimport fill_carried, fill_missing
from matcher_ext.match.results cimport emit_shared, forget_direct, keep_direct
from matcher_ext.match.rounds cimport pass_record, run_rounds, run_soon
from matcher_ext.match.scratch cimport Run, Scratch
from matcher_ext.match.slots cimport UNASKED, ask, forget_asked, run_without_last, set_out
from matcher_ext.plan.plan cimport (
    ALWAYS, LEVELS, PAIRS, PARTITIONS, SLOTS, Guard, LastHop, LeafStream, Pair, PairRecord,
    Partition, Plan, Seller, Totals, first_guarded, pair_hash, section_count,
)
from matcher_ext.plan.predicate_index cimport GROUPS, PUSHED, ROLES, AttributeIndex, RoleIndex
from matcher_ext.plan.record_format cimport (
    STREAM_ENTRIES, STREAM_LONG, last_atom, next_record, program_of, stream_ors, stream_records,
)
from matcher_ext.routes.routes cimport end_walk, open_walk
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport has_required

cdef enum:
    FAR = 16            # how many runs ahead their ends are fetched ..
    NEAR = 8            # .. and what they say where to find; of nodes, streams
    FETCHED = 128       # so many words of each
    PAIRS_AHEAD = 4     # records of a pair that are fetched before they are run


cdef void open_scratch(const Plan* plan, Scratch* scratch) noexcept nogil:
    cdef const Totals* totals = plan.totals
    scratch.bits.assign(totals.bits // 64 + 1, 0)
    scratch.memos.assign(
        totals.leaves - totals.filled + section_count(plan, SLOTS), <uint8_t>UNASKED
    )
    scratch.turns.assign(totals.turns // 64 + 1, 0)
    scratch.direct = 0
    scratch.tested = scratch.answered = 0
    open_walk(&plan.routes.routes, &scratch.walk)
    scratch.answered_by = NULL
    scratch.wants_paths = False


# 3. Pairs.

cdef void run_pairs(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    """Matches in steps, each of which asks the memory at once for what the next one reads."""
    cdef size_t i
    if scratch.partition == NOTHING:
        return
    find_pairs(plan, scratch)
    for i in range(scratch.nodes.size()):
        fetch_pair(plan, &plan.pairs[scratch.nodes[i]])
    for i in range(scratch.nodes.size()):
        run_pair(plan, table, scratch, &plan.pairs[scratch.nodes[i]])


cdef void find_pairs(const Plan* plan, Scratch* scratch) noexcept nogil:
    """Lists the places of the pairs that there are in scratch.nodes, which is free."""
    cdef size_t mask = section_count(plan, PAIRS) - 1
    cdef uint32_t partition = scratch.partition
    cdef const Pair* pair
    cdef size_t place, i
    for i in range(scratch.points.size()):
        fetch_line(&plan.pairs[first_place(pair_hash(partition, scratch.points[i]), mask)])
    scratch.nodes.clear()
    for i in range(scratch.points.size()):
        place = first_place(pair_hash(partition, scratch.points[i]), mask)
        pair = &plan.pairs[place]
        while pair.count:
            if pair.partition == partition and pair.point == scratch.points[i]:
                fetch_line(plan.pair_records + pair.first)
                scratch.nodes.push_back(<uint32_t>place)
                break
            place = next_place(place, mask)
            pair = &plan.pairs[place]


cdef inline void fetch_pair(const Plan* plan, const Pair* pair) noexcept nogil:
    """Fetches the first records; run_pair fetches those behind them."""
    cdef uint32_t i
    for i in range(min(pair.count, <uint32_t>PAIRS_AHEAD)):
        fetch_line(plan.records + plan.pair_records[pair.first + i].record)


cdef void run_pair(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const Pair* pair
) noexcept nogil:
    cdef const PairRecord* found = plan.pair_records + pair.first
    cdef uint32_t i, turn
    for i in range(pair.count):
        if i + PAIRS_AHEAD < pair.count:
            fetch_line(plan.records + found[i + PAIRS_AHEAD].record)
        turn = found[i].turn
        if turn != NOTHING:
            if get_bit(scratch.turns.data(), turn):
                continue
            set_bit(scratch.turns.data(), turn)
            scratch.turned.push_back(turn)
        run_soon(plan, table, scratch, plan.records + found[i].record)


# 4. The partition.

cdef inline void run_records(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t first, uint32_t end
) noexcept nogil:
    cdef const uint32_t* record = plan.records + first
    while record < plan.records + end:
        run_soon(plan, table, scratch, record)
        record = next_record(record)


cdef void run_partition(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef const Partition* partition
    cdef const Guard* guard
    cdef const Guard* end
    if scratch.partition == NOTHING or section_count(plan, PARTITIONS) == 0:
        return
    partition = plan.partitions + (
        scratch.partition - plan.attributes[plan.totals.partition].point
    )
    run_records(plan, table, scratch, partition.records, first_guarded(plan, partition))
    guard = plan.guards + partition.guards
    end = plan.guards + partition[1].guards
    while guard < end:
        if ask(plan, table, scratch, guard.atom):
            run_records(plan, table, scratch, guard.records, guard.end)
            guard += 1
        else:
            guard = plan.guards + guard.skip
    if partition.routed < partition[1].records:
        run_routed(plan, table, scratch, partition)


cdef void run_routed(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const Partition* partition
) noexcept nogil:
    """Runs the routed records of the sellers that the walk reaches."""
    cdef const Seller* seller
    cdef uint32_t i
    if not set_out(plan, table, scratch):
        return
    if plan.routes.is_rerouted != NULL and plan.routes.is_rerouted[scratch.walk.ways[0].node]:
        run_records(plan, table, scratch, partition.routed, partition[1].records)
        return
    for i in range(partition.sellers, partition[1].sellers):
        seller = &plan.sellers[i]
        if scratch.walk.fewest[seller.node] <= seller.hops:
            run_last_hops(plan, table, scratch, seller.first, seller[1].first)


cdef void run_last_hops(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t first, uint32_t end
) noexcept nogil:
    """Runs a seller's records, and asks the edge last: few campaigns are true, and an edge is
    seldom known yet."""
    cdef const LastHop* hop
    cdef const uint32_t* record
    cdef uint32_t i
    for i in range(first, end):
        hop = &plan.last_hops[i]
        if i + 4 < end:
            fetch_line(plan.records + hop[4].record)
        if hop.turn != NOTHING and get_bit(scratch.turns.data(), hop.turn):
            continue
        record = plan.records + hop.record
        if not run_without_last(plan, table, scratch, program_of(record)) or not ask(
            plan, table, scratch, hop.atom
        ):
            continue
        if hop.turn != NOTHING:
            set_bit(scratch.turns.data(), hop.turn)
            scratch.turned.push_back(hop.turn)
        pass_record(scratch, record)
        if scratch.wants_paths:
            ask(plan, table, scratch, last_atom(program_of(record)))


# 5. Runs of leaves.

cdef void find_runs(Scratch* scratch, uint32_t first, uint32_t end) noexcept nogil:
    """Appends the runs of ones between two bits."""
    cdef uint32_t word = first >> 6
    cdef uint32_t last = (end + 63) >> 6
    cdef uint64_t bits
    cdef uint32_t start, length
    cdef Run run
    while word < last:
        bits = scratch.bits[word]
        if word == first >> 6:
            bits &= ~<uint64_t>0 << (first & 63)
        if word == (end - 1) >> 6:
            bits &= ~<uint64_t>0 >> (63 - ((end - 1) & 63))
        while bits:
            start = first_one(bits)
            bits = ~(bits >> start)         # ones above the run
            length = first_one(bits) if bits else 64
            if length > 64 - start:
                length = 64 - start
            run.first = (word << 6) + start
            run.end = run.first + length
            if scratch.runs.size() and scratch.runs.back().end == run.first:
                scratch.runs.back().end = run.end
            else:
                scratch.runs.push_back(run)
            bits = 0 if start + length >= 64 else (
                ~bits >> length << (start + length)
            )
        word += 1


cdef inline void fetch_words(const uint32_t* words, uint32_t first, uint32_t end) noexcept nogil:
    """Fetches the first lines; what is read one after another the machine fetches from then on."""
    cdef uint32_t place
    for place in range(first, min(end, first + FETCHED), 16):
        fetch_line(words + place)


cdef void run_leaf_streams(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef const LeafStream* streams = plan.leaf_streams
    cdef size_t count = scratch.runs.size(), i
    cdef const LeafStream* stream
    cdef const LeafStream* after
    cdef const uint32_t* record
    cdef const uint32_t* end
    cdef uint32_t k
    for i in range(count):
        if i + FAR < count:
            fetch_line(&streams[scratch.runs[i + FAR].first])
            fetch_line(&streams[scratch.runs[i + FAR].end])
        if i + NEAR < count:
            stream = &streams[scratch.runs[i + NEAR].first]
            after = &streams[scratch.runs[i + NEAR].end]
            fetch_words(plan.or_targets, stream.ors, after.ors)
            fetch_words(plan.records, stream.records, after.records)
        stream = &streams[scratch.runs[i].first]
        after = &streams[scratch.runs[i].end]
        for k in range(stream.entry, after.entry):
            scratch.matched.push_back(k)
        for k in range(stream.ors, after.ors):
            set_bit(scratch.bits.data(), plan.or_targets[k])
        record = plan.records + stream.records
        end = plan.records + after.records
        while record < end:
            run_soon(plan, table, scratch, record)
            record = next_record(record)
    run_rounds(plan, table, scratch, 0)


# 6. Levels.

cdef void run_inner_stream(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const uint32_t* stream
) noexcept nogil:
    cdef uint32_t header = stream[0]
    cdef uint32_t ors = stream_ors(header)
    cdef uint32_t records = stream_records(header)
    cdef uint32_t i, _
    stream += 1
    if header & STREAM_LONG:
        ors = stream[0]
        records = stream[1]
        stream += 2
    for i in range(ors):
        set_bit(scratch.bits.data(), stream[i])
    stream += ors
    if header & STREAM_ENTRIES:
        for i in range(stream[1]):
            scratch.matched.push_back(stream[0] + i)
        stream += 2
    for _ in range(records):
        run_soon(plan, table, scratch, stream)
        stream = next_record(stream)


cdef void gather_nodes(Scratch* scratch, uint32_t first, uint32_t end) noexcept nogil:
    cdef uint32_t word
    cdef uint64_t bits
    scratch.nodes.clear()
    for word in range(first >> 6, end >> 6):
        bits = scratch.bits[word]
        while bits:
            scratch.nodes.push_back((word << 6) + first_one(bits))
            bits &= bits - 1


cdef void run_levels(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef const uint32_t* offsets = plan.inner_offsets - plan.levels[0]
    cdef size_t level, count, i
    for level in range(section_count(plan, LEVELS) - 1):
        gather_nodes(scratch, plan.levels[level], plan.levels[level + 1])
        count = scratch.nodes.size()
        for i in range(count):
            scratch.nodes[i] = offsets[scratch.nodes[i]]
        for i in range(count):
            if i + NEAR < count:
                fetch_line(plan.records + scratch.nodes[i + NEAR])
            run_inner_stream(plan, table, scratch, plan.records + scratch.nodes[i])
        run_rounds(plan, table, scratch, 0)


# 7. Clear.

cdef void clear_range(Scratch* scratch, uint32_t first, uint32_t end) noexcept nogil:
    """Clears whole words: what else is in them is to be cleared as well. Most are one or two."""
    cdef uint64_t* bits = scratch.bits.data() + (first >> 6)
    cdef size_t words, i
    if first >= end:
        return
    words = ((end - 1) >> 6) - (first >> 6) + 1
    if words > 4:
        memset(bits, 0, words * sizeof(uint64_t))
        return
    for i in range(words):
        bits[i] = 0


cdef void clear_scratch(const Plan* plan, Scratch* scratch) noexcept nogil:
    cdef const AttributeIndex* attribute
    cdef size_t i
    cdef int r
    for i in range(scratch.visit.carried.size()):
        attribute = &plan.attributes[scratch.visit.carried[i]]
        for r in range(<int>ROLES):
            clear_range(
                scratch, attribute.roles[r].starts[0], attribute.roles[r].starts[<int>GROUPS]
            )
    for r in range(<int>ROLES):
        clear_range(scratch, plan.totals.missing[r], plan.totals.missing_end[r])
    clear_range(scratch, plan.levels[0], plan.totals.terminals)
    forget_asked(scratch)
    for i in range(scratch.turned.size()):
        scratch.turns[scratch.turned[i] >> 6] = 0
    scratch.turned.clear()


cdef void find_all_runs(const Plan* plan, Scratch* scratch) noexcept nogil:
    cdef const RoleIndex* role
    cdef size_t i
    scratch.runs.clear()
    for i in range(scratch.visit.carried.size()):
        role = &plan.attributes[scratch.visit.carried[i]].roles[<int>PUSHED]
        if role.starts[0] < role.starts[<int>GROUPS]:
            find_runs(scratch, role.starts[0], role.starts[<int>GROUPS])
    if plan.totals.missing[<int>PUSHED] < plan.totals.missing_end[<int>PUSHED]:
        find_runs(scratch, plan.totals.missing[<int>PUSHED], plan.totals.missing_end[<int>PUSHED])


cdef void begin_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef size_t i
    scratch.points.clear()
    scratch.partition = NOTHING
    for i in range(scratch.answerers.size()):
        scratch.answerers[i].was_asked = False
    fill_carried(plan, table, scratch)
    fill_missing(plan, scratch)


cdef void forget_walk(Scratch* scratch) noexcept nogil:
    scratch.reached.clear()
    end_walk(&scratch.walk)


cdef void match_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    if begin_match(plan, table, scratch):
        run_match(plan, table, scratch)


cdef bint begin_match(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    scratch.matched.clear()
    forget_direct(plan, scratch)
    forget_walk(scratch)
    if not has_required(table, &scratch.visit):
        forget_asked(scratch)
        return False
    begin_visit(plan, table, scratch)
    return True


cdef void run_match(const Plan* plan, const CatalogTable* table, Scratch* scratch) noexcept nogil:
    cdef size_t i
    for i in range(section_count(plan, ALWAYS)):
        run_soon(plan, table, scratch, plan.records + plan.always[i])
    run_pairs(plan, table, scratch)
    run_partition(plan, table, scratch)
    find_all_runs(plan, scratch)
    run_leaf_streams(plan, table, scratch)
    run_levels(plan, table, scratch)
    emit_shared(plan, scratch)
    keep_direct(plan, scratch)
    for i in range(scratch.wanted.size()):
        ask(plan, table, scratch, plan.totals.leaves + plan.routes.first_reach + scratch.wanted[i])
    clear_scratch(plan, scratch)


cdef void walk_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef uint32_t i
    forget_walk(scratch)
    begin_visit(plan, table, scratch)
    for i in range(plan.routes.reach_count):
        ask(plan, table, scratch, plan.totals.leaves + plan.routes.first_reach + i)
    clear_scratch(plan, scratch)
