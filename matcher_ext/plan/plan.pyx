"""Puts sections into a buffer and finds them again. What they hold is checked by checking.pyx."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.vector cimport vector

from matcher_ext.machine.checksum cimport sum_words
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.predicate_index cimport (
    AttributeIndex, Bound, ClueIndex, ClueRow, PointRow, TextKey,
)
from matcher_ext.routes.route_section cimport read_routes
from matcher_ext.values.predicate cimport Predicate
from matcher_ext.values.spans cimport Span

cdef extern from * nogil:
    """
    static const char PLAN_MAGIC[8] = {'T', 'R', 'E', 'E', 'L', 'I', 'N', 'E'};
    static const uint32_t PLAN_VERSION = 6;
    """
    const char PLAN_MAGIC[8]
    const uint32_t PLAN_VERSION


cdef uint64_t sum_buffer(const char* buffer, uint64_t size) noexcept nogil:
    cdef Header header
    memcpy(&header, buffer, sizeof(header))
    header.checksum = 0
    return sum_words(buffer + sizeof(header), size - sizeof(header), sum_words(
        <const char*>&header, sizeof(header), 0
    ))


cdef uint64_t element_size(int section) noexcept nogil:
    if section == CATALOG or section == BYTES or section == NAME_BYTES or (
        section == ROUTES or section == ID_STEPS
    ):
        return 1
    if section == WORDS or section == WIDE_IDS or section == KEYS:
        return sizeof(int64_t)
    if section == PREDICATES:
        return sizeof(Predicate)
    if section == NAMES:
        return sizeof(Span)
    if section == ATTRIBUTES:
        return sizeof(AttributeIndex)
    if section == POINTS:
        return sizeof(PointRow)
    if section == TEXTS:
        return sizeof(TextKey)
    if section == BOUNDS:
        return sizeof(Bound)
    if section == LEAF_STREAMS:
        return sizeof(LeafStream)
    if section == PAIRS:
        return sizeof(Pair)
    if section == PAIR_RECORDS:
        return sizeof(PairRecord)
    if section == PARTITIONS:
        return sizeof(Partition)
    if section == GUARDS:
        return sizeof(Guard)
    if section == SELLERS:
        return sizeof(Seller)
    if section == LAST_HOPS:
        return sizeof(LastHop)
    if section == CLUE_INDEXES:
        return sizeof(ClueIndex)
    if section == CLUE_ROWS:
        return sizeof(ClueRow)
    if section == TOTALS:
        return sizeof(Totals)
    return sizeof(uint32_t)


cdef void begin_buffer(vector[char]* buffer, Header* header) noexcept nogil:
    memset(header, 0, sizeof(Header))
    memcpy(header.magic, PLAN_MAGIC, 8)
    header.version = PLAN_VERSION
    header.sections = <uint32_t>SECTIONS
    buffer.assign((sizeof(Header) + 63) // 64 * 64, 0)


cdef void put_section(
    vector[char]* buffer, Header* header, Section section, const void* source, size_t count
) noexcept nogil:
    cdef size_t size = count * element_size(section)
    cdef const char* bytes = <const char*>source
    header.offsets[<int>section] = buffer.size()
    header.counts[<int>section] = count
    if size:
        buffer.insert(buffer.end(), bytes, bytes + size)
    while buffer.size() % 64:
        buffer.push_back(0)


cdef void end_buffer(vector[char]* buffer, Header* header) noexcept nogil:
    header.size = buffer.size()
    memcpy(buffer.data(), header, sizeof(Header))
    (<Header*>buffer.data()).checksum = sum_buffer(buffer.data(), buffer.size())


cdef const char* read_header(const char* buffer, uint64_t size, Plan* plan) noexcept nogil:
    cdef const Header* header = <const Header*>buffer
    cdef uint64_t offset
    cdef int i
    if size < sizeof(Header) or memcmp(header.magic, PLAN_MAGIC, 8) != 0:
        return b"it is not a snapshot"
    if header.version != PLAN_VERSION:
        return b"its format version is another than this program's"
    if header.sections != <uint32_t>SECTIONS:
        return b"it has another number of sections"
    if header.size != size:
        return b"it is not as long as it says: truncated or extended"
    for i in range(<int>SECTIONS):
        offset = header.offsets[i]
        if offset % 64 or offset < sizeof(Header) or offset > size:
            return b"a section lies outside of it"
        if header.counts[i] > (size - offset) // element_size(i) or header.counts[i] >= NOTHING:
            return b"a section lies outside of it"
    if header.counts[<int>TOTALS] != 1:
        return b"it has no totals"
    plan.header = header
    find_sections(buffer, plan)
    return read_routes(
        buffer + header.offsets[<int>ROUTES], header.counts[<int>ROUTES], &plan.routes
    )


cdef void find_sections(const char* buffer, Plan* plan) noexcept nogil:
    cdef uint64_t* at = (<Header*>plan.header).offsets
    plan.totals = <const Totals*>(buffer + at[<int>TOTALS])
    plan.tests.predicates = <const Predicate*>(buffer + at[<int>PREDICATES])
    plan.tests.words = <const int64_t*>(buffer + at[<int>WORDS])
    plan.tests.bytes = buffer + at[<int>BYTES]
    plan.ids = <const uint32_t*>(buffer + at[<int>IDS])
    plan.wide_ids = <const int64_t*>(buffer + at[<int>WIDE_IDS])
    plan.id_bases = <const uint32_t*>(buffer + at[<int>ID_BASES])
    plan.id_steps = <const uint8_t*>(buffer + at[<int>ID_STEPS])
    plan.names = <const Span*>(buffer + at[<int>NAMES])
    plan.name_bytes = buffer + at[<int>NAME_BYTES]
    plan.attributes = <const AttributeIndex*>(buffer + at[<int>ATTRIBUTES])
    plan.points = <const PointRow*>(buffer + at[<int>POINTS])
    plan.keys = <const int64_t*>(buffer + at[<int>KEYS])
    plan.texts = <const TextKey*>(buffer + at[<int>TEXTS])
    plan.members = <const uint32_t*>(buffer + at[<int>MEMBERS])
    plan.bounds = <const Bound*>(buffer + at[<int>BOUNDS])
    plan.leaf_streams = <const LeafStream*>(buffer + at[<int>LEAF_STREAMS])
    plan.or_targets = <const uint32_t*>(buffer + at[<int>OR_TARGETS])
    plan.levels = <const uint32_t*>(buffer + at[<int>LEVELS])
    plan.inner_offsets = <const uint32_t*>(buffer + at[<int>INNER_OFFSETS])
    plan.records = <const uint32_t*>(buffer + at[<int>RECORDS])
    plan.terminals = <const uint32_t*>(buffer + at[<int>TERMINALS])
    plan.slots = <const uint32_t*>(buffer + at[<int>SLOTS])
    plan.definition_slots = <const uint32_t*>(buffer + at[<int>DEFINITION_SLOTS])
    plan.always = <const uint32_t*>(buffer + at[<int>ALWAYS])
    plan.pairs = <const Pair*>(buffer + at[<int>PAIRS])
    plan.pair_records = <const PairRecord*>(buffer + at[<int>PAIR_RECORDS])
    plan.partitions = <const Partition*>(buffer + at[<int>PARTITIONS])
    plan.guards = <const Guard*>(buffer + at[<int>GUARDS])
    plan.sellers = <const Seller*>(buffer + at[<int>SELLERS])
    plan.last_hops = <const LastHop*>(buffer + at[<int>LAST_HOPS])
    plan.clue_indexes = <const ClueIndex*>(buffer + at[<int>CLUE_INDEXES])
    plan.clue_rows = <const ClueRow*>(buffer + at[<int>CLUE_ROWS])
    plan.candidates = <const uint32_t*>(buffer + at[<int>CANDIDATES])


def seal(content):
    """Gives the altered content of a file the checksum that it needs: for tests of other checks."""
    cdef char[::1] view = content
    cdef Header* header = <Header*>&view[0]
    if <uint64_t>view.shape[0] < sizeof(Header):
        raise ValueError("too short for a snapshot")
    header.checksum = sum_buffer(&view[0], <uint64_t>view.shape[0])
