"""Makes Python objects of coded values (values.pxd)."""
import ipaddress

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from matcher_ext.columns.table_format cimport (
    OF_VALUES, Block, Column, Part, Table, bitmap_at, codes_of, is_of_sets, order_float, part_of,
    rows_of, starts_of,
)
from matcher_ext.machine.bitmaps cimport get_bit
from matcher_ext.values.predicate cimport BOOLEAN, FLOAT, GEO, IP, STRING, STRING_SET, float_of
from matcher_ext.values.spans cimport text_length, text_offset

V4_MAPPED = 0xFFFF


cdef object value_of(
    uint8_t type, uint8_t kind, const int64_t* words, const char* bytes, uint32_t code
):
    """Returns a number, a text or an address as text. Times are milliseconds."""
    cdef int64_t word
    if type == IP:
        return word_address(<uint64_t>words[2 * code], <uint64_t>words[2 * code + 1])
    word = words[code]
    if kind == OF_VALUES and (type == STRING or type == STRING_SET):
        return bytes[text_offset(word):text_offset(word) + text_length(word)].decode()
    if kind == OF_VALUES and type == FLOAT:
        return float_of(order_float(word))
    if kind == OF_VALUES and type == BOOLEAN:
        return bool(word)
    return word


def word_address(high, low):
    """Writes an address as text; what is mapped from version 4, as version 4."""
    if high == 0 and low >> 32 == V4_MAPPED:
        return str(ipaddress.IPv4Address(low & 0xFFFFFFFF))
    return str(ipaddress.IPv6Address(high << 64 | low))


cdef list read_block(const Table* table, tuple names, uint32_t number):
    cdef const Block* block = &table.blocks[number]
    cdef uint32_t i
    visits = [{} for _ in range(block.rows)]
    for i in range(table.column_count):
        if table.columns[i].kind == OF_VALUES and part_of(table, number, i).known:
            read_part(table, block, &table.columns[i], part_of(table, number, i), names[i], visits)
    return visits


cdef int read_part(
    const Table* table, const Block* block, const Column* column, const Part* part, str name,
    list visits,
) except -1:
    """Adds one column to the visits that carry it."""
    cdef const double* points = <const double*>(table.payload + part.codes)
    cdef const uint32_t* codes = codes_of(table, part)
    cdef bint is_set = is_of_sets(column)
    cdef uint32_t i
    if column.type == GEO:
        for i in range(part.known):
            visits[rows_of(table, part)[i]][name] = {
                "lat": points[i], "lon": points[part.known + i]
            }
        return 0
    if is_set:
        for i in range(block.rows):
            if get_bit(table.payload + part.present, i):
                visits[i][name] = []
    for i in range(part.distinct):
        value = value_of(
            column.type, column.kind, table.words + column.first, table.bytes, codes[i]
        )
        for row in list_rows(table, block, part, i):
            if is_set:
                visits[row][name].append(value)
            else:
                visits[row][name] = value
    return 0


cdef list list_rows(const Table* table, const Block* block, const Part* part, uint32_t value):
    """Lists the rows of one of the block's values."""
    cdef const uint64_t* bitmap = bitmap_at(table, block, part, value)
    cdef uint32_t i
    if bitmap != NULL:
        return [i for i in range(block.rows) if get_bit(bitmap, i)]
    return [
        rows_of(table, part)[i]
        for i in range(starts_of(table, part)[value], starts_of(table, part)[value + 1])
    ]
