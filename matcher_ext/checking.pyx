"""The checks of checking.pxd: the graph, the predicate index, then streams and records."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.arena cimport *
from matcher_ext.candidates cimport check_clues
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.plan cimport *
from matcher_ext.route_section cimport check_routes


cdef inline bint is_within(uint64_t first, uint64_t count, uint64_t size) noexcept nogil:
    return first + count <= size


# The graph.

cdef bint test_fits(const Predicate* predicate, const CatalogTable* table) noexcept nogil:
    cdef uint8_t type = predicate.type
    cdef uint8_t test = predicate.test
    if test == PRESENT:
        return True
    if type == STRING:
        return test == EQUAL or test == IN or STARTS_WITH <= test <= UNDER
    if type == STRING_SET or type == INTEGER_SET:
        return ONE_OF <= test <= COUNT_LESS_EQUAL
    if type == IP:
        return test == IN_NETWORK
    if type == GEO:
        return test == WITHIN or test == INSIDE
    if test == DURING:
        return type == TIMESTAMP or type == TIMESTAMP_LOCAL and table.utc_offset != NOTHING
    return EQUAL <= test <= BETWEEN


cdef bint count_fits(const Plan* plan, const Predicate* predicate) noexcept nogil:
    """As many operands as the test reads."""
    cdef uint32_t i
    if predicate.test == PRESENT:
        return predicate.count == 0
    if predicate.test == IN or ONE_OF <= predicate.test <= ONLY_OF or predicate.test == UNDER:
        return predicate.count >= 1
    if predicate.test == BETWEEN:
        return predicate.count == 2
    if predicate.test == DURING or predicate.test == INSIDE:
        return predicate.count >= 2 and predicate.count % 2 == 0
    if predicate.test == WITHIN:
        return predicate.count == 3
    if predicate.test != IN_NETWORK:
        return predicate.count == 1
    for i in range(2, predicate.count, 3):
        if not 0 <= plan.predicates.words[predicate.first + i] <= 128:
            return False
    return predicate.count % 3 == 0


cdef bint words_fit(const Plan* plan, const Predicate* predicate) noexcept nogil:
    cdef uint32_t i
    cdef int64_t word
    if not is_within(predicate.first, predicate.count, section_count(plan, WORDS)):
        return False
    if not holds_text(predicate.type, predicate.test):
        return True
    for i in range(predicate.count):
        word = plan.predicates.words[predicate.first + i]
        if not is_within(text_offset(word), text_length(word), section_count(plan, BYTES)):
            return False
    return True


cdef const char* check_predicates(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const Predicate* predicate
    cdef uint64_t i
    for i in range(section_count(plan, PREDICATES)):
        predicate = &plan.predicates.predicates[i]
        if predicate.attribute >= table.attributes.size():
            return b"a predicate names an attribute that is not there"
        if predicate.type != table.attributes[predicate.attribute].type or (
            predicate.negated > 1 or not test_fits(predicate, table)
        ):
            return b"a predicate does not fit its attribute"
        if not words_fit(plan, predicate) or not count_fits(plan, predicate):
            return b"a predicate's values are malformed"
    return NULL


cdef const char* check_node(const Plan* plan, uint32_t number, vector[uint32_t]* needs) noexcept nogil:
    """`needs` is one more than the last definition below a node."""
    cdef const PlanNode* node = &plan.nodes[number]
    cdef uint32_t i, child
    if node.kind == NORMAL_PREDICATE:
        if node.first >= section_count(plan, PREDICATES):
            return b"a node names a predicate that is not there"
    elif node.kind == NORMAL_REFERENCE:
        if node.first >= section_count(plan, DEFINITIONS):
            return b"a node names a definition that is not there"
        needs[0][number] = node.first + 1
        if node.negated > 1 or plan.definitions[node.first].root >= number or (
            node.negated and plan.definitions[node.first].dual >= number
        ):
            return b"a node comes before what it refers to"
    elif node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        if not node.count or not is_within(node.first, node.count, section_count(plan, EDGES)):
            return b"a node's children lie outside of the file"
        for i in range(node.count):
            child = plan.edges[node.first + i]
            if child >= number:
                return b"a node comes before its child"
            needs[0][number] = max(needs[0][number], needs[0][child])
    elif node.kind != NORMAL_TRUE and node.kind != NORMAL_FALSE:
        return b"a node is of no known kind"
    return NULL


cdef const char* check_graph(const Plan* plan) noexcept nogil:
    cdef vector[uint32_t] needs
    cdef const PlanDefinition* definition
    cdef const char* wrong
    cdef uint32_t i
    needs.assign(section_count(plan, NODES), 0)
    for i in range(<uint32_t>section_count(plan, NODES)):
        wrong = check_node(plan, i, &needs)
        if wrong != NULL:
            return wrong
    for i in range(<uint32_t>section_count(plan, DEFINITIONS)):
        definition = &plan.definitions[i]
        if definition.root >= section_count(plan, NODES) or needs[definition.root] > i:
            return b"a definition comes before one that it refers to"
        if not is_within(
            definition.name.offset, definition.name.length, section_count(plan, NAMES)
        ):
            return b"a definition's name lies outside of the file"
    for i in range(<uint32_t>section_count(plan, EXPRESSIONS)):
        if plan.expressions[i].node >= section_count(plan, NODES) or not is_within(
            plan.expressions[i].first, plan.expressions[i].count, section_count(plan, IDS)
        ):
            return b"an expression lies outside of the file"
    return NULL


# The predicate index.

cdef const char* check_totals(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const Totals* totals = plan.totals
    cdef uint64_t terminals = section_count(plan, TERMINALS)
    cdef uint64_t levels = section_count(plan, LEVELS)
    cdef uint64_t i
    cdef int r
    if not totals.pushed <= totals.filled <= totals.leaves or (
        totals.leaves != section_count(plan, PREDICATES)
    ):
        return b"its leaves are miscounted"
    for r in range(<int>ROLES):
        if not totals.missing[r] <= totals.missing_end[r] <= totals.filled:
            return b"its leaves are miscounted"
    if totals.missing_end[<int>PUSHED] > totals.pushed:
        return b"its leaves are miscounted"
    if levels == 0 or terminals == 0 or plan.levels[0] < totals.filled:
        return b"its levels are malformed"
    for i in range(levels):
        if plan.levels[i] % 64 or i and plan.levels[i] < plan.levels[i - 1]:
            return b"its levels are malformed"
    if totals.terminals != plan.levels[levels - 1] or (
        (<uint64_t>totals.terminals + terminals - 1 + 63) // 64 * 64 != totals.bits
    ):
        return b"its terminals are miscounted"
    if section_count(plan, INNER_OFFSETS) != totals.terminals - plan.levels[0]:
        return b"its inner nodes are miscounted"
    if totals.turns > section_count(plan, PAIR_RECORDS):
        return b"its pairs are miscounted"
    if section_count(plan, ATTRIBUTES) != table.attributes.size():
        return b"its catalogue and its index are of different sizes"
    if section_count(plan, DEFINITION_SLOTS) != 2 * section_count(plan, DEFINITIONS):
        return b"its definitions are miscounted"
    return NULL


cdef bint role_fits(const Plan* plan, const AttributeIndex* attribute, int r) noexcept nogil:
    cdef const RoleIndex* role = &attribute.roles[r]
    cdef uint32_t limit = plan.totals.pushed if r == PUSHED else plan.totals.filled
    cdef int group
    cdef uint32_t intervals, i
    for group in range(<int>GROUPS):
        if role.starts[group] > role.starts[group + 1]:
            return False
    intervals = role.starts[<int>G_MEMBER] - role.starts[<int>G_BETWEEN]
    if role.starts[<int>GROUPS] > limit or not is_within(
        role.bounds, intervals, section_count(plan, BOUNDS)
    ):
        return False
    for i in range(intervals):
        if plan.bounds[role.bounds + i].low >= attribute.key_count or (
            plan.bounds[role.bounds + i].high >= attribute.key_count
        ):
            return False
    return True


cdef bint members_fit(const Plan* plan, const AttributeIndex* attribute) noexcept nogil:
    """The leaves that a point lists are of the listing groups of its own attribute and role."""
    cdef const RoleIndex* role
    cdef uint64_t first = 2 * <uint64_t>attribute.point
    cdef uint64_t i
    cdef uint32_t k
    for i in range(first, first + 2 * <uint64_t>attribute.key_count):
        role = &attribute.roles[i & 1]
        for k in range(plan.points[i].member, plan.points[i + 1].member):
            if not role.starts[<int>G_MEMBER] <= plan.members[k] < role.starts[<int>G_PRESENT]:
                return False
    return True


cdef bint table_fits(const Plan* plan, const AttributeIndex* attribute) noexcept nogil:
    """A table of texts: within its section, with an empty slot, and ranks of keys."""
    cdef uint64_t size = <uint64_t>attribute.mask + 1
    cdef const TextKey* key
    cdef bint has_empty = False
    cdef uint64_t i
    if size & (size - 1) or not is_within(attribute.keys, size, section_count(plan, TEXTS)):
        return False
    for i in range(size):
        key = &plan.texts[attribute.keys + i]
        if key.rank == NOTHING:
            has_empty = True
        elif key.rank >= attribute.key_count or not is_within(
            text_offset(key.word), text_length(key.word), section_count(plan, BYTES)
        ):
            return False
    return has_empty


cdef const char* check_attributes(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const AttributeIndex* attribute
    cdef uint32_t pushed = 0, tested = plan.totals.pushed
    cdef uint64_t i
    cdef uint8_t type
    if section_count(plan, POINTS) % 2 == 0:
        return b"its points are miscounted"
    for i in range(section_count(plan, ATTRIBUTES)):
        attribute = &plan.attributes[i]
        type = table.attributes[i].type
        if not role_fits(plan, attribute, PUSHED) or not role_fits(plan, attribute, TESTED):
            return b"an attribute's leaves are malformed"
        if not is_within(
            attribute.point, <uint64_t>attribute.key_count + 1, section_count(plan, POINTS) // 2
        ):
            return b"an attribute's points lie outside of the file"
        if attribute.roles[<int>PUSHED].starts[0] < pushed or (
            attribute.roles[<int>TESTED].starts[0] < tested
        ):
            return b"two attributes share leaves"
        pushed = attribute.roles[<int>PUSHED].starts[<int>GROUPS]
        tested = attribute.roles[<int>TESTED].starts[<int>GROUPS]
        if not members_fit(plan, attribute):
            return b"a point lists leaves of another attribute"
        if type != STRING and type != STRING_SET:
            if not is_within(attribute.keys, attribute.key_count, section_count(plan, KEYS)):
                return b"an attribute's keys lie outside of the file"
        elif attribute.key_count and not table_fits(plan, attribute):
            return b"an attribute's texts are malformed"
    return NULL


cdef const char* check_points(const Plan* plan) noexcept nogil:
    cdef uint32_t filled = plan.totals.filled
    cdef const PointRow* row
    cdef uint32_t last = 0
    cdef uint64_t i
    for i in range(section_count(plan, POINTS)):
        row = &plan.points[i]
        if row.equal != NOTHING and row.equal >= filled or (
            row.unequal != NOTHING and row.unequal >= filled
        ):
            return b"a point names a leaf that is not there"
        if row.up_to > filled or row.above > filled or row.below > filled or row.from_ > filled:
            return b"a point names a leaf that is not there"
        if not last <= row.member <= row.stranger:
            return b"a point's members are malformed"
        last = row.stranger
    if last > section_count(plan, MEMBERS):
        return b"a point's members are malformed"
    for i in range(section_count(plan, MEMBERS)):
        if plan.members[i] >= filled:
            return b"a member is a leaf that is not there"
    return NULL


# Streams and records. Offsets that a check returns are 0 when something is wrong.

cdef inline bint target_fits(const Plan* plan, uint32_t bit) noexcept nogil:
    return plan.levels[0] <= bit < plan.totals.terminals + section_count(plan, TERMINALS) - 1


cdef bint atom_fits(const Plan* plan, uint32_t atom, uint32_t slots) noexcept nogil:
    return atom < plan.totals.leaves + slots


cdef bint program_fits(
    const Plan* plan, const uint32_t* header, uint32_t slots
) noexcept nogil:
    """Only slots below `slots` are asked, and no jump leads out."""
    cdef uint32_t count = header[0] & RECORD_LENGTH
    cdef bint wide = header[0] & RECORD_WIDE != 0
    cdef const uint32_t* program = header + 1
    cdef uint32_t i, atom, jump
    if wide:
        if count % 2:
            return False
        count //= 2
    for i in range(count):
        if wide:
            atom = program[2 * i]
            jump = program[2 * i + 1] & 0x7FFFFFFF
        else:
            atom = program[i] & ((1 << ATOM_BITS) - 1)
            jump = program[i] >> ATOM_BITS & JUMP_MAX
        if not atom_fits(plan, atom, slots) or jump == 0 or jump > count + 1 - i:
            return False
    return True


cdef uint64_t check_record(const Plan* plan, uint64_t at, uint32_t slots) noexcept nogil:
    """The place after the record, or 0."""
    cdef uint64_t size = section_count(plan, RECORDS)
    cdef const uint32_t* record = plan.records + at
    cdef uint64_t after
    cdef uint32_t header
    if at + 2 > size:
        return 0
    header = record[1]
    after = at + 2 + (header & RECORD_LENGTH)
    if after > size or record[0] != NOTHING and not target_fits(plan, record[0]):
        return 0
    if not program_fits(plan, record + 1, slots):
        return 0
    if header & RECORD_ONE:
        if after + 1 > size or plan.records[after] >= section_count(plan, IDS):
            return 0
        return after + 1
    if header & RECORD_MANY:
        if after + 2 > size or not is_within(
            plan.records[after], plan.records[after + 1], section_count(plan, IDS)
        ):
            return 0
        return after + 2
    return after


cdef bint stream_fits(const Plan* plan, uint64_t at, uint32_t slots) noexcept nogil:
    cdef uint64_t size = section_count(plan, RECORDS)
    cdef uint32_t header, ors, records, i
    if at + 1 > size:
        return False
    header = plan.records[at]
    ors = header & STREAM_COUNT
    records = header >> STREAM_SHIFT & STREAM_COUNT
    at += 1
    if header & STREAM_LONG:
        if at + 2 > size:
            return False
        ors = plan.records[at]
        records = plan.records[at + 1]
        at += 2
    if at + ors > size:
        return False
    for i in range(ors):
        if not target_fits(plan, plan.records[at + i]):
            return False
    at += ors
    if header & STREAM_ENTRIES:
        if at + 2 > size or not is_within(
            plan.records[at], plan.records[at + 1], section_count(plan, IDS)
        ):
            return False
        at += 2
    for i in range(records):
        at = check_record(plan, at, slots)
        if at == 0:
            return False
    return True


cdef const char* check_leaf_streams(const Plan* plan, uint32_t slots) noexcept nogil:
    cdef const LeafStream* stream
    cdef uint64_t at, i
    if section_count(plan, LEAF_STREAMS) != <uint64_t>plan.totals.pushed + 1:
        return b"its streams are miscounted"
    at = plan.leaf_streams[0].records
    for i in range(<uint64_t>plan.totals.pushed + 1):
        stream = &plan.leaf_streams[i]
        while at < stream.records:
            at = check_record(plan, at, slots)
            if at == 0:
                return b"a record is malformed"
        if at != stream.records:
            return b"a record is malformed"
        if i and (stream.ors < stream[-1].ors or stream.entry < stream[-1].entry):
            return b"its streams are out of order"
    if stream.ors > section_count(plan, OR_TARGETS) or stream.entry > section_count(plan, IDS):
        return b"a stream lies outside of the file"
    for i in range(section_count(plan, OR_TARGETS)):
        if not target_fits(plan, plan.or_targets[i]):
            return b"a stream names a node that is not there"
    return NULL


cdef const char* check_streams(const Plan* plan) noexcept nogil:
    cdef uint32_t slots = <uint32_t>section_count(plan, SLOTS)
    cdef const char* wrong = check_leaf_streams(plan, slots)
    cdef uint64_t i
    if wrong != NULL:
        return wrong
    for i in range(section_count(plan, INNER_OFFSETS)):
        if not stream_fits(plan, plan.inner_offsets[i], slots):
            return b"an inner node's stream is malformed"
    for i in range(section_count(plan, ALWAYS)):
        if check_record(plan, plan.always[i], slots) == 0:
            return b"a record is malformed"
    for i in range(slots):
        if check_record(plan, plan.slots[i], <uint32_t>i) == 0:
            return b"a slot asks one that comes after it"
    for i in range(section_count(plan, DEFINITION_SLOTS)):
        if plan.definition_slots[i] != NOTHING and plan.definition_slots[i] >= slots:
            return b"a definition names a slot that is not there"
    for i in range(section_count(plan, TERMINALS)):
        if plan.terminals[i] > section_count(plan, IDS) or (
            i and plan.terminals[i] < plan.terminals[i - 1]
        ):
            return b"its terminals are out of order"
    return NULL


cdef const char* check_pairs(const Plan* plan) noexcept nogil:
    cdef uint64_t size = section_count(plan, PAIRS)
    cdef uint32_t slots = <uint32_t>section_count(plan, SLOTS)
    cdef const PairRecord* record
    cdef bint has_empty = False
    cdef uint64_t i
    if size == 0 or size & (size - 1):
        return b"its table of pairs is malformed"
    for i in range(size):
        has_empty = has_empty or plan.pairs[i].count == 0
        if not is_within(
            plan.pairs[i].first, plan.pairs[i].count, section_count(plan, PAIR_RECORDS)
        ):
            return b"a pair's records lie outside of the file"
    if not has_empty:
        return b"its table of pairs is full"
    for i in range(section_count(plan, PAIR_RECORDS)):
        record = &plan.pair_records[i]
        if check_record(plan, record.record, slots) == 0 or (
            record.turn != NOTHING and record.turn >= plan.totals.turns
        ):
            return b"a pair's record is malformed"
    return NULL


cdef const char* check_plan(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const char* wrong = check_predicates(plan, table)
    if wrong == NULL:
        wrong = check_graph(plan)
    if wrong == NULL:
        wrong = check_totals(plan, table)
    if wrong == NULL:
        wrong = check_points(plan)
    if wrong == NULL:
        wrong = check_attributes(plan, table)
    if wrong == NULL:
        wrong = check_clues(plan)
    if wrong == NULL:
        wrong = check_streams(plan)
    if wrong == NULL:
        wrong = check_pairs(plan)
    if wrong == NULL:
        wrong = check_routes(
            &plan.routes, table, plan.totals.leaves, <uint32_t>section_count(plan, SLOTS)
        )
    return wrong
