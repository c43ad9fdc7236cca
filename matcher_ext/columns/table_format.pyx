"""Finds the sections of a table's buffer (table_format.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from matcher_ext.machine.checksum cimport sum_words


cdef uint64_t table_element_size(int section) noexcept nogil:
    if section == T_COLUMNS:
        return sizeof(Column)
    if section == T_BLOCKS:
        return sizeof(Block)
    if section == T_PARTS:
        return sizeof(Part)
    if section == T_ORDER:
        return sizeof(uint32_t)
    if section == T_RUNS:
        return sizeof(Run)
    if section == T_CATALOG or section == T_GROUPS or section == T_BYTES:
        return 1
    return sizeof(uint64_t)


cdef const char* check_sections(const TableHeader* header) noexcept nogil:
    cdef uint64_t width
    cdef int section
    for section in range(<int>T_SECTIONS):
        width = table_element_size(section)
        if header.offsets[section] % 8 or header.offsets[section] > header.size:
            return b"a section does not begin where it may"
        if header.counts[section] > (header.size - header.offsets[section]) // width:
            return b"a section is longer than the file"
    return NULL


cdef const char* read_table(const char* buffer, uint64_t size, Table* table) noexcept nogil:
    cdef const TableHeader* header = <const TableHeader*>buffer
    cdef const char* wrong
    if size < sizeof(TableHeader) or memcmp(header.magic, b"TLVISITS", 8):
        return b"it is no table of visits"
    if header.version != TABLE_VERSION or header.sections != T_SECTIONS:
        return b"it has another version of the format"
    if header.size != size:
        return b"it is cut short"
    wrong = check_sections(header)
    if wrong != NULL:
        return wrong
    memset(table, 0, sizeof(Table))
    table.header = header
    table.columns = <const Column*>(buffer + header.offsets[<int>T_COLUMNS])
    table.words = <const int64_t*>(buffer + header.offsets[<int>T_WORDS])
    table.bytes = buffer + header.offsets[<int>T_BYTES]
    table.seen = <const uint64_t*>(buffer + header.offsets[<int>T_SEEN])
    table.blocks = <const Block*>(buffer + header.offsets[<int>T_BLOCKS])
    table.parts = <const Part*>(buffer + header.offsets[<int>T_PARTS])
    table.order = <const uint32_t*>(buffer + header.offsets[<int>T_ORDER])
    table.runs = <const Run*>(buffer + header.offsets[<int>T_RUNS])
    table.malformed = <const int64_t*>(buffer + header.offsets[<int>T_MALFORMED])
    table.payload = <const uint64_t*>(buffer + header.offsets[<int>T_PAYLOAD])
    if max(header.counts[<int>T_COLUMNS], header.counts[<int>T_BLOCKS]) >= 0x40000000ULL:
        return b"it has too many columns or blocks"
    table.column_count = <uint32_t>header.counts[<int>T_COLUMNS]
    table.block_count = <uint32_t>header.counts[<int>T_BLOCKS]
    return NULL


cdef uint64_t sum_table(const char* buffer, uint64_t size) noexcept nogil:
    cdef TableHeader header = (<const TableHeader*>buffer)[0]
    header.checksum = 0
    return sum_words(
        buffer + sizeof(TableHeader), size - sizeof(TableHeader),
        sum_words(<const char*>&header, sizeof(TableHeader), 0),
    )
