"""Checks RECORDS in one pass: each word is looked at once, and belongs to one thing.

Nothing runs in circles: a slot asks only those before it, a stream's targets come after its node.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport (
    ALWAYS, ATTRIBUTES, GUARDS, INNER_OFFSETS, LAST_HOPS, LEAF_STREAMS, NAMES, OR_TARGETS,
    PAIR_RECORDS, PAIRS, PARTITIONS, POINTS, RECORDS, SELLERS, SLOTS, TERMINALS, Guard, LastHop,
    LeafStream, PairRecord, Partition, Plan, first_guarded, section_count,
)
from matcher_ext.plan.record_format cimport (
    BEFORE_TESTS, RECORD_FLAGS_END, RECORD_MANY, RECORD_ONE, STREAM_ENTRIES, STREAM_LONG,
    count_entry_words, count_tests, is_wide, last_atom, narrow_atom, narrow_jump, program_of,
    stream_ors, stream_records, target_bit, test_words, tests_of, wide_jump,
)

cdef cppclass Cursor:
    """Where the pass is, and what records there may name."""
    const Plan* plan
    uint64_t at
    uint64_t size
    uint32_t atoms              # leaves and slots that may be asked
    uint32_t first_target       # bits from here on ..
    uint32_t target_count       # .. so many


cdef bint narrow_fits(const uint32_t* tests, uint32_t count, uint32_t atoms) noexcept nogil:
    """Checks without a branch in each step: programs are most of a file."""
    cdef uint32_t wrong = 0, i
    for i in range(count):
        wrong |= narrow_atom(tests[i]) >= atoms
        wrong |= narrow_jump(tests[i]) - 1 > count - i
    return wrong == 0


cdef bint wide_fits(const uint32_t* tests, uint32_t count, uint32_t atoms) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        if tests[2 * i] >= atoms or wide_jump(tests[2 * i + 1]) - 1 > count - i:
            return False
    return True


cdef bint take_entries(Cursor* cursor, bint many) noexcept nogil:
    """Checks the entries that follow: a number, or a first and a count, none of a direct
    terminal."""
    cdef const uint32_t* words = cursor.plan.records + cursor.at
    cdef uint64_t entries = cursor.plan.totals.entries
    cursor.at += 1 + many
    if cursor.at > cursor.size or words[0] < cursor.plan.totals.direct:
        return False
    return words[0] + <uint64_t>words[1] <= entries if many else words[0] < entries


cdef inline bint take_record(Cursor* cursor) noexcept nogil:
    cdef const uint32_t* record = cursor.plan.records + cursor.at
    cdef const uint32_t* program = program_of(record)
    cdef const uint32_t* tests = tests_of(program)
    cdef uint32_t words
    if cursor.at + BEFORE_TESTS > cursor.size:
        return False
    words = test_words(program)
    cursor.at += BEFORE_TESTS + words
    # With both flags the entries would have three words for who steps over them, one for who reads.
    if cursor.at > cursor.size or program[0] >= RECORD_FLAGS_END or (
        count_entry_words(program[0]) > 2
    ):
        return False
    if target_bit(record) != NOTHING and (
        target_bit(record) - cursor.first_target >= cursor.target_count
    ):
        return False
    if is_wide(program):
        if words % 2 or not wide_fits(tests, count_tests(program), cursor.atoms):
            return False
    elif not narrow_fits(tests, words, cursor.atoms):
        return False
    if program[0] & (RECORD_ONE | RECORD_MANY):
        return take_entries(cursor, program[0] & RECORD_ONE == 0)
    return True


cdef bint take_stream(Cursor* cursor) noexcept nogil:
    cdef uint32_t header, ors, records, i, wrong = 0, _
    cdef const uint32_t* words
    if cursor.at + 1 > cursor.size:
        return False
    words = cursor.plan.records + cursor.at
    header = words[0]
    ors = stream_ors(header)
    records = stream_records(header)
    cursor.at += 1
    if header & STREAM_LONG:
        cursor.at += 2
        if cursor.at > cursor.size:
            return False
        ors = words[1]
        records = words[2]
    words = cursor.plan.records + cursor.at
    cursor.at += ors
    if cursor.at > cursor.size:
        return False
    for i in range(ors):
        wrong |= words[i] - cursor.first_target >= cursor.target_count
    if wrong or header & STREAM_ENTRIES and not take_entries(cursor, True):
        return False
    for _ in range(records):
        if not take_record(cursor):
            return False
    return True


cdef void allow_targets(Cursor* cursor, uint32_t first) noexcept nogil:
    """Allows the bits of inner nodes and terminals as targets, from one on."""
    cdef uint64_t end = (
        <uint64_t>cursor.plan.totals.terminals + cursor.plan.totals.direct
        + section_count(cursor.plan, TERMINALS) - 1
    )
    cursor.first_target = first
    cursor.target_count = <uint32_t>(end - first) if first < end else 0


cdef const char* check_slots(Cursor* cursor) noexcept nogil:
    cdef const Plan* plan = cursor.plan
    cdef uint32_t slots = <uint32_t>section_count(plan, SLOTS)
    cdef uint32_t i
    cursor.target_count = 0
    for i in range(slots):
        cursor.atoms = plan.totals.leaves + i
        if plan.slots[i] != cursor.at or not take_record(cursor):
            return b"a slot is malformed"
    cursor.atoms = plan.totals.leaves + slots
    return NULL


cdef const char* check_definitions(const Plan* plan) noexcept nogil:
    """Checks that each definition has a slot of its own, before that of its negation."""
    cdef uint32_t slots = <uint32_t>section_count(plan, SLOTS)
    cdef vector[uint8_t] is_taken
    cdef uint32_t i, slot
    is_taken.assign(slots, 0)
    for i in range(2 * <uint32_t>section_count(plan, NAMES)):
        slot = plan.definition_slots[i]
        if i % 2 and slot == NOTHING:
            continue
        if slot >= slots or is_taken[slot]:
            return b"a definition has no slot of its own"
        if i % 2 and slot < plan.definition_slots[i - 1]:
            return b"a definition's negation comes before it"
        is_taken[slot] = 1
    return NULL


cdef const char* check_leaf_streams(Cursor* cursor) noexcept nogil:
    cdef const Plan* plan = cursor.plan
    cdef const LeafStream* stream = plan.leaf_streams
    cdef uint64_t i
    if section_count(plan, LEAF_STREAMS) != <uint64_t>plan.totals.pushed + 1:
        return b"its streams are miscounted"
    if stream.ors != 0 or stream.entry < plan.totals.direct:
        return b"its streams are out of order"
    allow_targets(cursor, plan.levels[0])
    for i in range(<uint64_t>plan.totals.pushed + 1):
        stream = plan.leaf_streams + i
        while cursor.at < stream.records:
            if not take_record(cursor):
                return b"a record is malformed"
        if cursor.at != stream.records:
            return b"a record is malformed"
        if i and (stream.ors < stream[-1].ors or stream.entry < stream[-1].entry):
            return b"its streams are out of order"
    if stream.ors != section_count(plan, OR_TARGETS) or stream.entry > plan.totals.entries:
        return b"a stream lies outside of the file"
    for i in range(section_count(plan, OR_TARGETS)):
        if plan.or_targets[i] - cursor.first_target >= cursor.target_count:
            return b"a stream names a node that is not there"
    return NULL


cdef const char* check_inner_streams(Cursor* cursor) noexcept nogil:
    cdef const Plan* plan = cursor.plan
    cdef uint32_t i
    for i in range(<uint32_t>section_count(plan, INNER_OFFSETS)):
        allow_targets(cursor, plan.levels[0] + i + 1)
        if plan.inner_offsets[i] != cursor.at or not take_stream(cursor):
            return b"an inner node's stream is malformed"
    return NULL


cdef const char* check_always(Cursor* cursor) noexcept nogil:
    cdef uint64_t i
    allow_targets(cursor, cursor.plan.levels[0])
    for i in range(section_count(cursor.plan, ALWAYS)):
        if cursor.plan.always[i] != cursor.at or not take_record(cursor):
            return b"a record is malformed"
    return NULL


cdef const char* check_terminals(const Plan* plan) noexcept nogil:
    cdef uint64_t i
    for i in range(section_count(plan, TERMINALS)):
        if plan.terminals[i] > plan.totals.entries or plan.terminals[i] < (
            plan.terminals[i - 1] if i else plan.totals.direct
        ):
            return b"its terminals are out of order"
    return NULL


cdef const char* check_guards(Cursor* cursor, const Partition* partition) noexcept nogil:
    """Checks that guards nest, and that their records follow one another."""
    cdef const Plan* plan = cursor.plan
    cdef uint32_t slots = <uint32_t>section_count(plan, SLOTS)
    cdef vector[uint32_t] ends
    cdef const Guard* guard
    cdef uint32_t i
    ends.push_back(partition[1].guards)
    for i in range(partition.guards, partition[1].guards):
        guard = &plan.guards[i]
        while ends.size() > 1 and ends.back() <= i:
            ends.pop_back()
        if not i < guard.skip <= ends.back() or guard.atom - plan.totals.leaves >= slots:
            return b"a guard is malformed"
        ends.push_back(guard.skip)
        if cursor.at != guard.records or not take_records(cursor, guard.end):
            return b"a guard's records are malformed"
    return NULL


cdef bint take_records(Cursor* cursor, uint32_t end) noexcept nogil:
    while cursor.at < end:
        if not take_record(cursor):
            return False
    return cursor.at == end


cdef bint take_routed(Cursor* cursor, uint32_t end, vector[uint8_t]* is_routed) noexcept nogil:
    """Checks routed records, which end with a reach: they are run without their last test."""
    cdef const Plan* plan = cursor.plan
    cdef const uint32_t* program
    cdef uint32_t first = plan.totals.partition_records
    cdef uint32_t atom
    while cursor.at < end:
        program = program_of(plan.records + cursor.at)
        is_routed[0][cursor.at - first] = 1
        if not take_record(cursor) or count_tests(program) == 0:
            return False
        atom = last_atom(program)
        if atom - plan.totals.leaves - plan.routes.first_reach >= plan.routes.reach_count:
            return False
    return cursor.at == end


cdef const char* check_last_hops(const Plan* plan, const vector[uint8_t]* is_routed) noexcept nogil:
    cdef uint64_t sellers = section_count(plan, SELLERS)
    cdef uint64_t hops = section_count(plan, LAST_HOPS)
    cdef const LastHop* hop
    cdef uint64_t i
    if sellers == 0 or plan.sellers[0].first != 0 or plan.sellers[sellers - 1].first != hops:
        return b"its sellers are miscounted"
    for i in range(sellers - 1):
        if plan.sellers[i].first > plan.sellers[i + 1].first or (
            plan.sellers[i].node >= plan.routes.routes.node_count
        ):
            return b"a seller is malformed"
    for i in range(hops):
        hop = &plan.last_hops[i]
        # An edge's slot lies before the reaches, as in check_hops.
        if hop.atom - plan.totals.leaves >= plan.routes.first_reach:
            return b"a last hop names a slot that it may not ask"
        if hop.record - plan.totals.partition_records >= is_routed.size() or (
            not is_routed[0][hop.record - plan.totals.partition_records]
        ):
            return b"a last hop's record is malformed"
        if hop.turn != NOTHING and hop.turn >= plan.totals.turns:
            return b"a last hop's record is malformed"
    return NULL


cdef const char* check_bounds(const Plan* plan) noexcept nogil:
    """Checks that partitions are in order, one for each value and one more."""
    cdef uint64_t count = section_count(plan, PARTITIONS)
    cdef const Partition* partition = plan.partitions
    cdef uint64_t i
    if plan.totals.partition >= section_count(plan, ATTRIBUTES) or (
        count != <uint64_t>plan.attributes[plan.totals.partition].key_count + 1
    ):
        return b"its partitions are miscounted"
    if partition.guards or partition.sellers or (
        partition[count - 1].guards != section_count(plan, GUARDS)
        or partition[count - 1].sellers + <uint64_t>1 != section_count(plan, SELLERS)
    ):
        return b"its partitions are miscounted"
    for i in range(count - 1):
        if partition[i].guards > partition[i + 1].guards or (
            partition[i].sellers > partition[i + 1].sellers
        ):
            return b"its partitions are out of order"
    return NULL


cdef const char* check_partitions(Cursor* cursor) noexcept nogil:
    cdef const Plan* plan = cursor.plan
    cdef uint64_t count = section_count(plan, PARTITIONS)
    cdef vector[uint8_t] is_routed
    cdef const Partition* partition
    cdef const char* wrong
    cdef uint64_t i
    if cursor.at != plan.totals.partition_records:
        return b"its partitions are miscounted"
    if count == 0:
        return NULL
    wrong = check_bounds(plan)
    is_routed.assign(cursor.size - cursor.at + 1, 0)
    cursor.target_count = 0
    for i in range(count - 1):
        if wrong != NULL:
            return wrong
        partition = &plan.partitions[i]
        if partition.records != cursor.at or not take_records(
            cursor, first_guarded(plan, partition)
        ):
            return b"a partition's record is malformed"
        wrong = check_guards(cursor, partition)
        if wrong == NULL and (
            cursor.at != partition.routed
            or not take_routed(cursor, partition[1].records, &is_routed)
        ):
            return b"a routed record is malformed"
    if wrong == NULL and plan.partitions[count - 1].records != cursor.at:
        return b"its partitions are miscounted"
    return check_last_hops(plan, &is_routed) if wrong == NULL else wrong


cdef const char* check_pair_records(Cursor* cursor) noexcept nogil:
    """Checks that a leaf stands before each record, and that PAIR_RECORDS name no other places."""
    cdef const Plan* plan = cursor.plan
    cdef uint64_t first = cursor.at, i
    cdef vector[uint8_t] is_record
    cdef const PairRecord* found
    if plan.totals.pair_records != first:
        return b"its pairs are miscounted"
    is_record.assign(cursor.size - first + 1, 0)
    cursor.target_count = 0
    while cursor.at < cursor.size:
        if plan.records[cursor.at] >= plan.totals.leaves:
            return b"a pair names a leaf that is not there"
        cursor.at += 1
        is_record[cursor.at - first] = 1
        if not take_record(cursor):
            return b"a pair's record is malformed"
    for i in range(section_count(plan, PAIR_RECORDS)):
        found = &plan.pair_records[i]
        if found.record - first >= is_record.size() or not is_record[found.record - first]:
            return b"a pair's record is malformed"
        if found.turn != NOTHING and found.turn >= plan.totals.turns:
            return b"a pair's record is malformed"
    return NULL


cdef const char* check_pair_table(const Plan* plan) noexcept nogil:
    cdef uint64_t size = section_count(plan, PAIRS)
    cdef bint has_empty = False
    cdef uint64_t i
    if size == 0 or size & (size - 1):
        return b"its table of pairs is malformed"
    for i in range(size):
        has_empty = has_empty or plan.pairs[i].count == 0
        if plan.pairs[i].first + <uint64_t>plan.pairs[i].count > section_count(plan, PAIR_RECORDS):
            return b"a pair's records lie outside of the file"
        if plan.pairs[i].count and plan.pairs[i].partition >= section_count(plan, POINTS) // 2:
            return b"a pair names a point that is not there"
    if not has_empty:
        return b"its table of pairs is full"
    return NULL


cdef const char* check_records(const Plan* plan) noexcept nogil:
    cdef Cursor cursor
    cdef const char* wrong
    cursor.plan = plan
    cursor.at = 0
    cursor.size = section_count(plan, RECORDS)
    wrong = check_slots(&cursor)
    if wrong == NULL:
        wrong = check_definitions(plan)
    if wrong == NULL:
        wrong = check_leaf_streams(&cursor)
    if wrong == NULL:
        wrong = check_inner_streams(&cursor)
    if wrong == NULL:
        wrong = check_always(&cursor)
    if wrong == NULL:
        wrong = check_terminals(plan)
    if wrong == NULL:
        wrong = check_partitions(&cursor)
    if wrong == NULL:
        wrong = check_pair_table(plan)
    if wrong == NULL:
        wrong = check_pair_records(&cursor)
    return wrong
