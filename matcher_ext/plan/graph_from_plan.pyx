"""Makes nodes of slots and streams, each after its children (graph_from_plan.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.leaf_predicates cimport thaw_predicates
from matcher_ext.plan.plan cimport (
    ALWAYS, DEFINITION_SLOTS, INNER_OFFSETS, NAMES, OR_TARGETS, PAIRS, PARTITIONS, RECORDS, SLOTS,
    TERMINALS, Expression, Guard, LeafStream, Partition, Plan, PlanDefinition, PlanNode,
    first_guarded, section_count,
)
from matcher_ext.plan.predicate_index cimport PointRow
from matcher_ext.plan.program_trees cimport Trees, add_inner, add_tree, add_truth, begin_trees
from matcher_ext.plan.record_format cimport (
    EntryRange, StreamParts, after_record, entries_of, program_of, split_stream, target_bit,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport NORMAL_OR, NORMAL_PREDICATE, NORMAL_REFERENCE

cdef cppclass Setters:
    """The nodes that set each bit which records and streams set."""
    uint32_t first_bit
    vector[uint32_t] firsts         # by bit, into nodes
    vector[uint32_t] ends           # those found so far
    vector[uint32_t] nodes

cdef cppclass Thaw:
    const Plan* plan
    Graph* graph
    Trees trees
    Setters setters
    vector[Expression] of_always
    vector[Expression] of_streams
    const char* wrong


# Who sets a bit.

cdef inline void count_setter(Setters* setters, uint32_t bit) noexcept nogil:
    setters.firsts[bit - setters.first_bit] += 1


cdef inline void add_setter(Setters* setters, uint32_t bit, uint32_t node) noexcept nogil:
    cdef uint32_t* end = &setters.ends[bit - setters.first_bit]
    setters.nodes[end[0]] = node
    end[0] += 1


cdef uint64_t count_record(const Plan* plan, uint64_t at, Setters* setters) noexcept nogil:
    """Returns the place of the next record."""
    cdef uint32_t target = target_bit(plan.records + at)
    if target != NOTHING:
        count_setter(setters, target)
    return after_record(plan.records, at)


cdef void count_setters(const Plan* plan, Setters* setters) noexcept nogil:
    cdef uint32_t bits = plan.totals.bits - plan.levels[0]
    cdef uint64_t at, i
    cdef uint32_t total = 0, count, k, _
    cdef StreamParts stream
    setters.first_bit = plan.levels[0]
    setters.firsts.assign(bits + 1, 0)
    for i in range(section_count(plan, OR_TARGETS)):
        count_setter(setters, plan.or_targets[i])
    for i in range(section_count(plan, ALWAYS)):
        count_record(plan, plan.always[i], setters)
    at = plan.leaf_streams[0].records
    while at < plan.leaf_streams[plan.totals.pushed].records:
        at = count_record(plan, at, setters)
    for i in range(section_count(plan, INNER_OFFSETS)):
        stream = split_stream(plan.records, plan.inner_offsets[i])
        for k in range(stream.or_count):
            count_setter(setters, plan.records[stream.ors + k])
        at = stream.records
        for _ in range(stream.record_count):
            at = count_record(plan, at, setters)
    for i in range(bits + 1):
        count = setters.firsts[i]
        setters.firsts[i] = total
        total += count
    setters.ends = setters.firsts
    setters.nodes.assign(total, NOTHING)


# Slots.

cdef uint32_t add_reference(Thaw* thaw, uint32_t definition, bint negated) noexcept nogil:
    cdef PlanNode made
    memset(&made, 0, sizeof(made))
    made.kind = NORMAL_REFERENCE
    made.first = definition
    made.negated = negated
    thaw.graph.nodes.push_back(made)
    return <uint32_t>(thaw.graph.nodes.size() - 1)


cdef void thaw_slots(Thaw* thaw) noexcept nogil:
    """Makes trees of the slots; whoever asks a definition's slot gets a reference to the
    definition."""
    cdef const Plan* plan = thaw.plan
    cdef vector[uint32_t] owners
    cdef uint32_t slots = <uint32_t>section_count(plan, SLOTS)
    cdef uint32_t slot, root, owner
    cdef uint64_t i
    owners.assign(slots, NOTHING)
    for i in range(section_count(plan, DEFINITION_SLOTS)):
        if plan.definition_slots[i] != NOTHING:
            if owners[plan.definition_slots[i]] != NOTHING:
                thaw.wrong = b"two definitions name one slot"
                return
            owners[plan.definition_slots[i]] = <uint32_t>i
    for slot in range(slots):
        root = add_tree(
            &thaw.trees, program_of(plan.records + plan.slots[slot]), NULL, 0
        )
        if root == NOTHING:
            thaw.wrong = b"a slot's program is no tree"
            return
        owner = owners[slot]
        if owner == NOTHING:
            thaw.trees.slots.push_back(root)
            continue
        if owner & 1:
            thaw.graph.definitions[owner >> 1].dual = root
        else:
            thaw.graph.definitions[owner >> 1].root = root
        thaw.trees.slots.push_back(add_reference(thaw, owner >> 1, owner & 1))
    for i in range(thaw.graph.definitions.size()):
        if thaw.graph.definitions[i].root == NOTHING:
            thaw.wrong = b"a definition has no meaning"


# Streams.

cdef void add_expression(Thaw* thaw, uint32_t node, uint32_t first, uint32_t count) noexcept nogil:
    cdef Expression made
    if count:
        made.node = node
        made.first = first
        made.count = count
        thaw.graph.expressions.push_back(made)


cdef uint64_t thaw_record(
    Thaw* thaw, uint64_t at, const uint32_t* also, uint32_t also_count
) noexcept nogil:
    """Returns the place of the next record, which is further than all if something is wrong."""
    cdef const uint32_t* record = thaw.plan.records + at
    cdef uint32_t node = add_tree(&thaw.trees, program_of(record), also, also_count)
    cdef EntryRange entries = entries_of(record)
    if node == NOTHING:
        thaw.wrong = b"a record's program is no tree"
        return section_count(thaw.plan, RECORDS)
    if target_bit(record) != NOTHING:
        add_setter(&thaw.setters, target_bit(record), node)
    add_expression(thaw, node, entries.first, entries.count)
    return after_record(thaw.plan.records, at)


cdef void thaw_leaf_streams(Thaw* thaw) noexcept nogil:
    cdef const LeafStream* stream = thaw.plan.leaf_streams
    cdef uint32_t leaf, k
    cdef uint64_t at
    for leaf in range(thaw.plan.totals.pushed):
        add_expression(thaw, leaf, stream[leaf].entry, stream[leaf + 1].entry - stream[leaf].entry)
        for k in range(stream[leaf].ors, stream[leaf + 1].ors):
            add_setter(&thaw.setters, thaw.plan.or_targets[k], leaf)
    for leaf in range(thaw.plan.totals.pushed):
        at = stream[leaf].records
        while at < stream[leaf + 1].records:
            at = thaw_record(thaw, at, &leaf, 1)
        if thaw.wrong != NULL:
            return


cdef uint32_t node_of_bit(Thaw* thaw, uint32_t bit) noexcept nogil:
    """Returns the node of a bit: its one setter, or the OR of several."""
    cdef Setters* setters = &thaw.setters
    cdef uint32_t first = setters.firsts[bit - setters.first_bit]
    cdef uint32_t count = setters.ends[bit - setters.first_bit] - first
    if count == 0:
        return add_truth(&thaw.trees, False)        # fills a level's last word
    if count == 1:
        return setters.nodes[first]
    return add_inner(&thaw.trees, NORMAL_OR, &setters.nodes[first], count)


cdef void thaw_inner_streams(Thaw* thaw) noexcept nogil:
    cdef const Plan* plan = thaw.plan
    cdef StreamParts stream
    cdef uint32_t bit, node, k, _
    cdef uint64_t at
    for bit in range(plan.levels[0], plan.totals.terminals):
        node = node_of_bit(thaw, bit)
        stream = split_stream(plan.records, plan.inner_offsets[bit - plan.levels[0]])
        for k in range(stream.or_count):
            add_setter(&thaw.setters, plan.records[stream.ors + k], node)
        if stream.entries:
            add_expression(
                thaw, node, plan.records[stream.entries], plan.records[stream.entries + 1]
            )
        at = stream.records
        for _ in range(stream.record_count):
            at = thaw_record(thaw, at, &node, 1)
            if thaw.wrong != NULL:
                return


cdef void thaw_always(Thaw* thaw) noexcept nogil:
    """Reads the records that every visit finds: inner nodes may need them, though their entries
    come later."""
    cdef uint64_t i
    for i in range(section_count(thaw.plan, ALWAYS)):
        thaw_record(thaw, thaw.plan.always[i], NULL, 0)
    thaw.of_always.swap(thaw.graph.expressions)


cdef void thaw_terminals(Thaw* thaw) noexcept nogil:
    """Reads the terminals, which are found last; their entries come first among the expressions."""
    cdef const Plan* plan = thaw.plan
    cdef uint32_t bit = plan.totals.terminals, i
    cdef Graph* graph = thaw.graph
    thaw.of_streams.swap(graph.expressions)
    graph.expressions.reserve(plan.totals.expressions)
    for i in range(plan.totals.direct):
        add_expression(thaw, node_of_bit(thaw, bit + i), i, 1)
    bit += plan.totals.direct
    for i in range(<uint32_t>section_count(plan, TERMINALS) - 1):
        add_expression(
            thaw, node_of_bit(thaw, bit + i), plan.terminals[i],
            plan.terminals[i + 1] - plan.terminals[i],
        )
    graph.expressions.insert(
        graph.expressions.end(), thaw.of_streams.begin(), thaw.of_streams.end()
    )
    graph.expressions.insert(
        graph.expressions.end(), thaw.of_always.begin(), thaw.of_always.end()
    )


# Pairs.

cdef uint32_t leaf_of_partition(const Plan* plan, uint32_t point) noexcept nogil:
    """Finds the leaf of the equality with the partition's value; it may be in either role."""
    cdef const PointRow* row = plan.points + 2 * <size_t>point
    return row.equal if row.equal != NOTHING else row[1].equal


cdef void thaw_partition(
    Thaw* thaw, const Partition* partition, vector[uint32_t]* also
) noexcept nogil:
    """Reads a partition's records. `also` is the leaf that finds it; guards are put behind the
    leaf."""
    cdef const Plan* plan = thaw.plan
    cdef vector[uint32_t] ends
    cdef const Guard* guard
    cdef uint32_t i
    thaw_range(thaw, partition.records, first_guarded(plan, partition), also)
    for i in range(partition.guards, partition[1].guards):
        guard = &plan.guards[i]
        while not ends.empty() and ends.back() <= i:
            ends.pop_back()
            also.pop_back()
        ends.push_back(guard.skip)
        also.push_back(thaw.trees.slots[guard.atom - plan.totals.leaves])
        thaw_range(thaw, guard.records, guard.end, also)
    also.resize(1)
    thaw_range(thaw, partition.routed, partition[1].records, also)


cdef void thaw_range(
    Thaw* thaw, uint64_t at, uint64_t end, const vector[uint32_t]* also
) noexcept nogil:
    while at < end and thaw.wrong == NULL:
        at = thaw_record(thaw, at, also.data(), <uint32_t>also.size())


cdef void thaw_partitions(Thaw* thaw) noexcept nogil:
    cdef const Plan* plan = thaw.plan
    cdef vector[uint32_t] also
    cdef uint64_t i
    cdef uint32_t leaf
    if section_count(plan, PARTITIONS) == 0:
        return
    for i in range(section_count(plan, PARTITIONS) - 1):
        if plan.partitions[i].records == plan.partitions[i + 1].records:
            continue
        leaf = leaf_of_partition(
            plan, plan.attributes[plan.totals.partition].point + <uint32_t>i
        )
        if leaf == NOTHING:
            thaw.wrong = b"a partition has no value"
            return
        also.assign(1, leaf)
        thaw_partition(thaw, &plan.partitions[i], &also)


cdef void thaw_pairs(Thaw* thaw) noexcept nogil:
    """Reads the records of pairs once each, though several values may list one."""
    cdef const Plan* plan = thaw.plan
    cdef vector[uint32_t] partitions        # by place of a record
    cdef uint64_t at, end = section_count(plan, RECORDS), i
    cdef uint32_t also[2]
    cdef uint32_t k
    at = plan.totals.pair_records
    if at >= end:
        return
    partitions.assign(end - at, NOTHING)
    for i in range(section_count(plan, PAIRS)):
        for k in range(plan.pairs[i].count):
            partitions[plan.pair_records[plan.pairs[i].first + k].record - at] = (
                plan.pairs[i].partition
            )
    i = at
    while at < end:
        also[1] = plan.records[at]
        also[0] = partitions[at + 1 - i]
        if also[0] != NOTHING:
            also[0] = leaf_of_partition(plan, also[0])
        if also[0] == NOTHING:
            thaw.wrong = b"a pair has no partition"
            return
        at = thaw_record(thaw, at + 1, also, 2)


cdef void begin_thaw(Thaw* thaw, const Plan* plan, Graph* graph) noexcept nogil:
    cdef PlanNode leaf
    cdef PlanDefinition unknown
    cdef uint32_t i
    thaw.plan = plan
    thaw.graph = graph
    thaw.wrong = NULL
    # Room for the most that there can be: what stays unused is never touched.
    graph.edges.reserve(section_count(plan, RECORDS) + section_count(plan, OR_TARGETS))
    graph.nodes.reserve(plan.totals.leaves + section_count(plan, RECORDS) // 2 + 2)
    graph.expressions.reserve(plan.totals.expressions)
    memset(&leaf, 0, sizeof(leaf))
    leaf.kind = NORMAL_PREDICATE
    graph.nodes.assign(plan.totals.leaves, leaf)
    for i in range(plan.totals.leaves):
        graph.nodes[i].first = i
    unknown.root = NOTHING
    unknown.dual = NOTHING
    graph.definitions.assign(section_count(plan, NAMES), unknown)
    begin_trees(&thaw.trees, &graph.nodes, &graph.edges, plan.totals.leaves)
    count_setters(plan, &thaw.setters)


cdef const char* thaw_graph(
    const Plan* plan, const CatalogTable* table, Graph* graph
) noexcept nogil:
    cdef Thaw thaw
    thaw_predicates(plan, table, &graph.predicates, &graph.words)
    begin_thaw(&thaw, plan, graph)
    thaw_slots(&thaw)
    if thaw.wrong == NULL:
        thaw_always(&thaw)
    if thaw.wrong == NULL:
        thaw_leaf_streams(&thaw)
    if thaw.wrong == NULL:
        thaw_inner_streams(&thaw)
    if thaw.wrong == NULL:
        thaw_terminals(&thaw)
        thaw_partitions(&thaw)
        thaw_pairs(&thaw)
    if thaw.wrong == NULL:
        add_expression(
            &thaw, add_truth(&thaw.trees, False), plan.totals.met,
            plan.totals.entries - plan.totals.met,
        )
    return thaw.wrong


cdef void lend_graph(const Graph* graph, Plan* plan) noexcept nogil:
    plan.predicates.predicates = graph.predicates.data()
    plan.predicates.words = graph.words.data()
    plan.predicates.bytes = plan.tests.bytes
    plan.nodes = graph.nodes.data()
    plan.edges = graph.edges.data()
    plan.expressions = graph.expressions.data()
    plan.definitions = graph.definitions.data()
    plan.expression_count = <uint32_t>graph.expressions.size()
    plan.node_count = <uint32_t>graph.nodes.size()
