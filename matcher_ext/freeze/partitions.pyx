"""Writes partitions: a trie of guards each, then routed records with their listings
(partitions.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.freeze.leaves cimport find_draft_point
from matcher_ext.freeze.programs cimport atom_of
from matcher_ext.freeze.records cimport put_tested
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.listings cimport (
    Listing, add_seller, list_sellers, measure_hops, put_listings, sort_listings,
)
from matcher_ext.plan.plan cimport Guard, Partition, PlanNode
from matcher_ext.routes.route_section cimport RoutePlan, find_source, read_routes
from matcher_ext.values.normal_form cimport NORMAL_REFERENCE
from matcher_ext.values.predicate cimport Predicate
from matcher_ext.values.spans cimport text_length, text_offset

cdef enum:
    GUARDED = 2             # records that make a guard worth its test
    MOST_GUARDS = 16        # one below another

cdef struct Member:         # an AND of the partition
    uint32_t node
    uint32_t first          # into ranks
    uint32_t count
    uint32_t reach          # or NOTHING: it is not routed

cdef cppclass Work:
    """The memory of one partition at a time."""
    RoutePlan routes
    uint32_t value                  # the equality of the partition
    vector[Member] members
    vector[uint32_t] ranks          # of references, by member, ascending
    vector[uint32_t] references     # by rank: 0 is the commonest
    vector[uint32_t] rank_of        # by node, where it is one of references
    vector[uint32_t] uses           # by node, 0 elsewhere

cdef extern from * nogil:
    """
    #include <algorithm>
    // Members as lists of ranks, in the order of a dictionary.
    template <class Member>
    static inline void sort_members(Member* first, Member* last, const uint32_t* ranks) {
        std::sort(first, last, [ranks](const Member& a, const Member& b) {
            const uint32_t* x = ranks + a.first;
            const uint32_t* y = ranks + b.first;
            uint32_t common = std::min(a.count, b.count);
            for (uint32_t i = 0; i < common; i++)
                if (x[i] != y[i]) return x[i] < y[i];
            return a.count != b.count ? a.count < b.count : a.node < b.node;
        });
    }
    """
    void sort_members(Member* first, Member* last, const uint32_t* ranks)


# What the records of a partition refer to.

cdef bint is_guard(const Layout* layout, uint32_t number) noexcept nogil:
    cdef const PlanNode* node = &layout.draft.nodes[number]
    return node.kind == NORMAL_REFERENCE and not node.negated and (
        layout.reach_of.empty() or layout.reach_of[node.first] == NOTHING
    )


cdef uint32_t find_reach(const Layout* layout, uint32_t number) noexcept nogil:
    """Finds the one reach that an AND needs; NOTHING if it needs none or several."""
    cdef const PlanNode* node = &layout.draft.nodes[number]
    cdef const PlanNode* child
    cdef uint32_t found = NOTHING, i
    if layout.reach_of.empty():
        return NOTHING
    for i in range(node.count):
        child = &layout.draft.nodes[layout.draft.edges[node.first + i]]
        if child.kind == NORMAL_REFERENCE and layout.reach_of[child.first] != NOTHING:
            if found != NOTHING:
                return NOTHING
            found = layout.reach_of[child.first]
    return found


cdef void rank_references(const Layout* layout, Work* work) noexcept nogil:
    """Ranks the references of the members that are not routed, the commonest first."""
    cdef vector[pair[uint32_t, uint32_t]] ranked
    cdef pair[uint32_t, uint32_t] item
    cdef const PlanNode* node
    cdef uint32_t child, k
    cdef size_t i
    work.references.clear()
    for i in range(work.members.size()):
        node = &layout.draft.nodes[work.members[i].node]
        for k in range(node.count):
            child = layout.draft.edges[node.first + k]
            if is_guard(layout, child) and work.members[i].reach == NOTHING:
                if work.uses[child] == 0:
                    work.references.push_back(child)
                work.uses[child] += 1
    for i in range(work.references.size()):
        item.first = ~work.uses[work.references[i]]
        item.second = work.references[i]
        ranked.push_back(item)
        work.uses[work.references[i]] = 0
    sort(ranked.begin(), ranked.end())
    for i in range(ranked.size()):
        work.references[i] = ranked[i].second
        work.rank_of[ranked[i].second] = <uint32_t>i


cdef void list_references(const Layout* layout, Work* work) noexcept nogil:
    cdef Member* member
    cdef const PlanNode* node
    cdef uint32_t child, k
    cdef size_t i
    work.ranks.clear()
    for i in range(work.members.size()):
        member = &work.members[i]
        node = &layout.draft.nodes[member.node]
        member.first = <uint32_t>work.ranks.size()
        if member.reach == NOTHING:
            for k in range(node.count):
                child = layout.draft.edges[node.first + k]
                if is_guard(layout, child):
                    work.ranks.push_back(work.rank_of[child])
        member.count = <uint32_t>work.ranks.size() - member.first
        sort(work.ranks.begin() + member.first, work.ranks.end())


# Guards.

cdef void put_member(
    Layout* layout, Work* work, const Member* member, uint32_t guards
) noexcept nogil:
    """Writes a member's record, without the references that are its first `guards` guards."""
    cdef const PlanNode* node = &layout.draft.nodes[member.node]
    cdef vector[uint32_t] pulled
    cdef uint32_t child, i, k
    for i in range(node.count):
        child = layout.draft.edges[node.first + i]
        if child == work.value:
            continue
        for k in range(guards):
            if work.references[work.ranks[member.first + k]] == child:
                break
        else:
            pulled.push_back(child)
    put_tested(layout, member.node, &pulled)


cdef size_t end_of_run(const Work* work, size_t first, size_t end, uint32_t depth) noexcept nogil:
    """Finds the end of the members from `first` on that go on with the same reference; a lone one
    is a run of one."""
    cdef const Member* member = &work.members[first]
    cdef const Member* other
    cdef size_t at = first + 1
    if member.count == depth or depth == MOST_GUARDS:
        return at
    while at < end:
        other = &work.members[at]
        if work.ranks[other.first + depth] != work.ranks[member.first + depth]:
            break
        at += 1
    return at


cdef void put_guarded(
    Layout* layout, Work* work, size_t first, size_t end, uint32_t depth
) noexcept nogil:
    """Writes members that share `depth` references: first those of no further guard, then the
    others."""
    cdef size_t at = first, run
    while at < end:
        run = end_of_run(work, at, end, depth)
        if run - at < GUARDED:
            for at in range(at, run):
                put_member(layout, work, &work.members[at], depth)
        at = run
    if depth:
        layout.guards.back().end = <uint32_t>layout.records.size()
    at = first
    while at < end:
        run = end_of_run(work, at, end, depth)
        if run - at >= GUARDED:
            put_guard(layout, work, at, run, depth)
        at = run


cdef void put_guard(
    Layout* layout, Work* work, size_t first, size_t end, uint32_t depth
) noexcept nogil:
    cdef Guard guard
    cdef size_t number = layout.guards.size()
    guard.atom = atom_of(
        &layout.draft, &layout.programs,
        work.references[work.ranks[work.members[first].first + depth]],
    )
    guard.skip = 0
    guard.records = <uint32_t>layout.records.size()
    guard.end = guard.records
    layout.guards.push_back(guard)
    put_guarded(layout, work, first, end, depth + 1)
    layout.guards[number].skip = <uint32_t>layout.guards.size()


# Routed records.

cdef uint32_t find_publisher(const Draft* draft, const Work* work) noexcept nogil:
    cdef const Predicate* predicate = &draft.predicates[draft.nodes[work.value].first]
    cdef int64_t word = draft.words[predicate.first]
    return find_source(
        &work.routes, draft.bytes.data() + text_offset(word), text_length(word)
    )


cdef void put_routed(Layout* layout, Work* work, size_t first) noexcept nogil:
    """Writes members from `first` on: records in the order of their first seller, then the
    listing."""
    cdef uint32_t source = find_publisher(&layout.draft, work)
    cdef vector[Listing] listings
    cdef vector[uint32_t] listed, records, turns    # by routed member
    cdef vector[uint8_t] hops
    cdef uint32_t count = <uint32_t>(work.members.size() - first)
    cdef uint32_t member
    cdef size_t i
    listed.assign(count, 0)
    records.assign(count, NOTHING)
    turns.assign(count, NOTHING)
    if source != NOTHING:
        measure_hops(&work.routes, source, &hops)
        for member in range(count):
            listed[member] = list_sellers(
                &work.routes, &hops, source,
                &work.routes.reaches[work.members[first + member].reach], member, &listings,
            )
    sort_listings(&listings)
    for i in range(listings.size()):
        member = listings[i].member
        if records[member] == NOTHING:
            records[member] = <uint32_t>layout.records.size()
            put_member(layout, work, &work.members[first + member], 0)
            if listed[member] > 1:
                turns[member] = layout.leaves.totals.turns
                layout.leaves.totals.turns += 1
    for member in range(count):
        if records[member] == NOTHING:
            put_member(layout, work, &work.members[first + member], 0)
    put_listings(&listings, &records, &turns, &layout.sellers, &layout.last_hops)


# All of them.

cdef void add_partition(Layout* layout) noexcept nogil:
    """Adds a partition that begins here, with nothing in it."""
    cdef Partition made
    made.records = <uint32_t>layout.records.size()
    made.routed = made.records
    made.guards = <uint32_t>layout.guards.size()
    made.sellers = <uint32_t>layout.sellers.size()
    layout.partitions.push_back(made)


cdef bint has_no_reach(const Member& member) noexcept nogil:
    return member.reach == NOTHING


cdef extern from "<algorithm>" namespace "std" nogil:
    Member* stable_partition(Member* first, Member* last, bint (*)(const Member&) noexcept nogil)


cdef void put_partition(Layout* layout, Work* work) noexcept nogil:
    cdef Member* start = work.members.data()
    cdef Member* middle = stable_partition(start, start + work.members.size(), has_no_reach)
    cdef size_t plain = middle - start
    add_partition(layout)
    layout.programs.copies_parts = True
    rank_references(layout, work)
    list_references(layout, work)
    sort_members(start, middle, work.ranks.data())
    put_guarded(layout, work, 0, plain, 0)
    layout.partitions.back().routed = <uint32_t>layout.records.size()
    if plain < work.members.size():
        put_routed(layout, work, plain)
    layout.programs.copies_parts = False


cdef void gather_members(
    Layout* layout, Work* work, const vector[pair[uint64_t, uint32_t]]* ranked, size_t* at
) noexcept nogil:
    """Gathers the members of the value at `at`; goes on to the next value."""
    cdef const Draft* draft = &layout.draft
    cdef uint64_t point = ranked[0][at[0]].first >> 32
    cdef Member member
    member.first = 0
    member.count = 0
    work.members.clear()
    work.value = draft.partitioned[ranked[0][at[0]].second].value
    while at[0] < ranked.size() and ranked[0][at[0]].first >> 32 == point:
        member.node = draft.partitioned[ranked[0][at[0]].second].node
        member.reach = NOTHING
        if work.routes.reach_count and work.routes.attribute == draft.partition:
            member.reach = find_reach(layout, member.node)
        work.members.push_back(member)
        at[0] += 1


cdef void put_partitions(Layout* layout) noexcept nogil:
    cdef Draft* draft = &layout.draft
    cdef vector[pair[uint64_t, uint32_t]] ranked
    cdef pair[uint64_t, uint32_t] item
    cdef Work work
    cdef uint32_t rank, first
    cdef size_t i, at = 0
    layout.leaves.totals.partition_records = <uint32_t>layout.records.size()
    if draft.partitioned.empty():
        return
    read_routes(layout.routes.data(), layout.routes.size(), &work.routes)
    work.uses.assign(draft.nodes.size(), 0)
    work.rank_of.assign(draft.nodes.size(), 0)
    first = layout.leaves.attributes[draft.partition].point
    for i in range(draft.partitioned.size()):
        item.first = <uint64_t>find_draft_point(
            draft, &layout.leaves,
            &draft.predicates[draft.nodes[draft.partitioned[i].value].first], 0,
        ) << 32 | draft.partitioned[i].node
        item.second = <uint32_t>i
        ranked.push_back(item)
    sort(ranked.begin(), ranked.end())
    for rank in range(layout.leaves.attributes[draft.partition].key_count):
        if at < ranked.size() and ranked[at].first >> 32 == first + rank:
            gather_members(layout, &work, &ranked, &at)
            put_partition(layout, &work)
        else:
            add_partition(layout)
    add_partition(layout)
    add_seller(&layout.sellers, NOTHING, 0, &layout.last_hops)
