"""Puts the file's content in order; only tests that matching may run keep their predicates."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft, view_draft
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.freeze.leaves cimport LeafIndex
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport (
    ALWAYS, ATTRIBUTES, BOUNDS, BYTES, CANDIDATES, CATALOG, CLUE_INDEXES, CLUE_ROWS,
    DEFINITION_SLOTS, GUARDS, ID_BASES, ID_STEPS, IDS, INNER_OFFSETS, KEYS, LAST_HOPS, LEAF_STREAMS,
    LEVELS, MEMBERS, NAME_BYTES, NAMES, OR_TARGETS, PAIR_RECORDS, PAIRS, PARTITIONS, POINTS,
    PREDICATES, RECORDS, ROUTES, SELLERS, SLOTS, TERMINALS, TEXTS, TOTALS, WIDE_IDS, WORDS, Header,
    Totals, begin_buffer, end_buffer, put_section,
)
from matcher_ext.plan.predicate_index cimport G_LAZY, GROUPS, PUSHED, ROLES, AttributeIndex, TextKey
from matcher_ext.values.predicate cimport Predicate, predicate_copy
from matcher_ext.values.spans cimport Span, text_length, text_offset, text_word

cdef cppclass Packed:
    """What a file has in another form than the layout."""
    vector[Predicate] tests
    vector[int64_t] words
    vector[char] bytes
    vector[uint32_t] narrow_ids
    vector[uint32_t] id_bases
    vector[uint8_t] id_steps
    vector[Span] names


cdef void keep_tests(const Draft* draft, LeafIndex* leaves, Packed* packed, uint32_t first,
                     uint32_t end) noexcept nogil:
    cdef uint32_t leaf
    for leaf in range(first, end):
        predicate_copy(
            view_draft(draft), &draft.predicates[leaves.order[leaf]],
            &packed.tests, &packed.words, &packed.bytes,
        )


cdef void pack_tests(const Draft* draft, LeafIndex* leaves, Packed* packed) noexcept nogil:
    cdef Totals* totals = &leaves.totals
    cdef AttributeIndex* attribute
    cdef size_t i
    cdef int role
    for i in range(leaves.attributes.size()):
        attribute = &leaves.attributes[i]
        attribute.lazy = <uint32_t>packed.tests.size()
        keep_tests(
            draft, leaves, packed, attribute.roles[<int>PUSHED].starts[<int>G_LAZY],
            attribute.roles[<int>PUSHED].starts[<int>GROUPS],
        )
    for role in range(<int>ROLES):
        totals.missing_tests[role] = <uint32_t>packed.tests.size()
        keep_tests(draft, leaves, packed, totals.missing[role], totals.missing_end[role])
    totals.lazy_tests = <uint32_t>packed.tests.size()
    keep_tests(draft, leaves, packed, totals.filled, totals.leaves)


cdef void pack_texts(const Draft* draft, LeafIndex* leaves, Packed* packed) noexcept nogil:
    """Copies each text once, however many predicates name it."""
    cdef TextKey* key
    cdef const char* text
    cdef uint32_t offset
    cdef size_t i
    for i in range(leaves.texts.size()):
        key = &leaves.texts[i]
        if key.rank != NOTHING:
            text = draft.bytes.data() + text_offset(key.word)
            offset = <uint32_t>packed.bytes.size()
            packed.bytes.insert(packed.bytes.end(), text, text + text_length(key.word))
            key.word = text_word(offset, text_length(key.word))


cdef void pack_ids(Layout* layout, Packed* packed) noexcept nogil:
    cdef Totals* totals = &layout.leaves.totals
    cdef int64_t lowest = 0, highest = 0
    cdef size_t i
    totals.entries = <uint32_t>layout.ids.size()
    totals.first_id = 0
    totals.stepped = 0
    for i in range(layout.ids.size()):
        lowest = layout.ids[i] if i == 0 else min(lowest, layout.ids[i])
        highest = layout.ids[i] if i == 0 else max(highest, layout.ids[i])
    if <uint64_t>highest - <uint64_t>lowest > <uint64_t>0xFFFFFFFF:
        return
    totals.first_id = lowest
    if has_small_steps(layout):
        totals.stepped = totals.direct
    for i in range(layout.ids.size()):
        add_narrow_id(
            packed, i, <uint32_t>(<uint64_t>layout.ids[i] - <uint64_t>lowest), totals.stepped
        )
    layout.ids.clear()


cdef bint has_small_steps(const Layout* layout) noexcept nogil:
    """Says whether a byte can hold an id's step. The ids of direct terminals ascend; of each 64 the
    last must be within a byte of the first."""
    cdef size_t direct = layout.leaves.totals.direct, i
    for i in range(direct):
        if <uint64_t>layout.ids[i] - <uint64_t>layout.ids[i & ~<size_t>63] > 0xFF:
            return False
    return True


cdef void add_narrow_id(
    Packed* packed, size_t entry, uint32_t number, uint32_t stepped
) noexcept nogil:
    if entry >= stepped:
        packed.narrow_ids.push_back(number)
        return
    if entry % 64 == 0:
        packed.id_bases.push_back(number)
    packed.id_steps.push_back(<uint8_t>(number - packed.id_bases.back()))


cdef void count_graph(Layout* layout) noexcept nogil:
    cdef Totals* totals = &layout.leaves.totals
    totals.expressions = <uint32_t>layout.draft.expressions.size()
    totals.nodes = <uint32_t>layout.draft.nodes.size()
    totals.edges = <uint32_t>layout.draft.edges.size()


cdef void put_packed(
    Layout* layout, Packed* packed, vector[char]* buffer, Header* header
) noexcept nogil:
    put_section(buffer, header, PREDICATES, packed.tests.data(), packed.tests.size())
    put_section(buffer, header, WORDS, packed.words.data(), packed.words.size())
    put_section(buffer, header, BYTES, packed.bytes.data(), packed.bytes.size())
    put_section(buffer, header, IDS, packed.narrow_ids.data(), packed.narrow_ids.size())
    put_section(buffer, header, WIDE_IDS, layout.ids.data(), layout.ids.size())
    put_section(buffer, header, ID_BASES, packed.id_bases.data(), packed.id_bases.size())
    put_section(buffer, header, ID_STEPS, packed.id_steps.data(), packed.id_steps.size())
    put_section(buffer, header, NAMES, packed.names.data(), packed.names.size())
    put_section(
        buffer, header, NAME_BYTES,
        layout.draft.store.names.data(), layout.draft.store.names.size(),
    )


cdef void put_index(Layout* layout, vector[char]* buffer, Header* header) noexcept nogil:
    cdef LeafIndex* leaves = &layout.leaves
    cdef size_t leaf_ors = layout.or_first[leaves.totals.pushed]
    put_section(buffer, header, ATTRIBUTES, leaves.attributes.data(), leaves.attributes.size())
    put_section(buffer, header, POINTS, leaves.points.data(), leaves.points.size())
    put_section(buffer, header, KEYS, leaves.keys.data(), leaves.keys.size())
    put_section(buffer, header, TEXTS, leaves.texts.data(), leaves.texts.size())
    put_section(buffer, header, MEMBERS, leaves.members.data(), leaves.members.size())
    put_section(buffer, header, BOUNDS, leaves.bounds.data(), leaves.bounds.size())
    put_section(
        buffer, header, LEAF_STREAMS, layout.leaf_streams.data(), layout.leaf_streams.size()
    )
    put_section(buffer, header, OR_TARGETS, layout.or_targets.data(), leaf_ors)
    put_section(buffer, header, LEVELS, layout.levels.data(), layout.levels.size())
    put_section(
        buffer, header, INNER_OFFSETS, layout.inner_offsets.data(), layout.inner_offsets.size()
    )
    put_section(buffer, header, RECORDS, layout.records.data(), layout.records.size())
    put_section(buffer, header, TERMINALS, layout.terminals.data(), layout.terminals.size())
    put_section(buffer, header, SLOTS, layout.slots.data(), layout.slots.size())
    put_section(
        buffer, header, DEFINITION_SLOTS,
        layout.programs.definition_slots.data(), layout.programs.definition_slots.size(),
    )
    put_section(buffer, header, ALWAYS, layout.always.data(), layout.always.size())
    put_section(buffer, header, PAIRS, layout.pairs.data(), layout.pairs.size())
    put_section(
        buffer, header, PAIR_RECORDS, layout.pair_records.data(), layout.pair_records.size()
    )
    put_section(buffer, header, PARTITIONS, layout.partitions.data(), layout.partitions.size())
    put_section(buffer, header, GUARDS, layout.guards.data(), layout.guards.size())
    put_section(buffer, header, SELLERS, layout.sellers.data(), layout.sellers.size())
    put_section(buffer, header, LAST_HOPS, layout.last_hops.data(), layout.last_hops.size())
    put_section(
        buffer, header, CLUE_INDEXES,
        leaves.candidates.indexes.data(), leaves.candidates.indexes.size(),
    )
    put_section(
        buffer, header, CLUE_ROWS, leaves.candidates.rows.data(), leaves.candidates.rows.size()
    )
    put_section(
        buffer, header, CANDIDATES,
        leaves.candidates.leaves.data(), leaves.candidates.leaves.size(),
    )
    put_section(buffer, header, ROUTES, layout.routes.data(), layout.routes.size())
    put_section(buffer, header, TOTALS, &leaves.totals, 1)


cdef void put_sections(
    Layout* layout, const char* catalog, size_t catalog_length, vector[char]* buffer
) noexcept nogil:
    cdef Header header
    cdef Packed packed
    cdef size_t i
    pack_tests(&layout.draft, &layout.leaves, &packed)
    pack_texts(&layout.draft, &layout.leaves, &packed)
    pack_ids(layout, &packed)
    count_graph(layout)
    for i in range(layout.draft.definitions.size()):
        packed.names.push_back(layout.draft.definitions[i].name)
    begin_buffer(buffer, &header)
    put_section(buffer, &header, CATALOG, catalog, catalog_length)
    put_packed(layout, &packed, buffer, &header)
    put_index(layout, buffer, &header)
    end_buffer(buffer, &header)
