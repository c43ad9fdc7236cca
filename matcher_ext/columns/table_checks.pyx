"""Checks columns, blocks and parts of a table that was read from a file (table_checks.pxd)."""
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport (
    MOST_BLOCK_ROWS, NOWHERE, OF_SIZES, OF_VALUES, T_BYTES,
    T_MALFORMED, T_ORDER, T_PARTS, T_PAYLOAD, T_RUNS, T_SEEN, T_WORDS, Block, Column, Part, Table,
    codes_of, is_of_sets, part_of, rows_of, starts_of,
)
from matcher_ext.machine.keeping cimport try_to_clear
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport GEO, INTEGER, IP, STRING, STRING_SET
from matcher_ext.values.spans cimport compare_text, text_length, text_offset


cdef inline uint64_t count_of(const Table* table, int section) noexcept nogil:
    return table.header.counts[section]


cdef inline bint fits(uint64_t first, uint64_t count, uint64_t size) noexcept nogil:
    return first <= size and count <= size - first


# Columns.

cdef bint is_text_ordered(const Table* table, const Column* column) noexcept nogil:
    cdef const int64_t* words = table.words + column.first
    cdef uint64_t size = count_of(table, T_BYTES)
    cdef uint32_t i
    for i in range(column.values):
        if not fits(text_offset(words[i]), text_length(words[i]), size):
            return False
        if i and compare_text(table.bytes, words[i - 1], table.bytes, words[i]) >= 0:
            return False
    return True


cdef bint is_ordered(const Table* table, const Column* column) noexcept nogil:
    """Says whether the dictionary ascends, which every search in it needs."""
    cdef const int64_t* words = table.words + column.first
    cdef uint32_t i
    if column.kind == OF_VALUES and (column.type == STRING or column.type == STRING_SET):
        return is_text_ordered(table, column)
    for i in range(1, column.values):
        if column.type == IP:
            if <uint64_t>words[2 * i - 2] > <uint64_t>words[2 * i] or (
                words[2 * i - 2] == words[2 * i]
                and <uint64_t>words[2 * i - 1] >= <uint64_t>words[2 * i + 1]
            ):
                return False
        elif words[i - 1] >= words[i]:
            return False
    return True


cdef const char* check_column(
    const Table* table, uint32_t number, uint32_t attributes
) noexcept nogil:
    cdef const Column* column = &table.columns[number]
    cdef uint64_t width = 2 if column.type == IP else 1
    cdef uint64_t i
    if column.type > GEO or column.kind > OF_SIZES or column.attribute >= attributes:
        return b"a column is of no known kind"
    if (column.kind == OF_VALUES) != (number < attributes) or (
        number < attributes and column.attribute != number
    ):
        return b"a column is not where it belongs"
    if column.derived != NOTHING and (
        column.derived < attributes or column.derived >= table.column_count
    ):
        return b"a column leads to none"
    if not fits(column.first, width * column.values, count_of(table, T_WORDS)) or not fits(
        column.seen, <uint64_t>column.values + 1, count_of(table, T_SEEN)
    ):
        return b"a dictionary lies outside the file"
    for i in range(column.seen, column.seen + column.values):
        if table.seen[i] > table.seen[i + 1]:
            return b"rows of values do not add up"
    if not is_ordered(table, column):
        return b"a dictionary does not ascend"
    return NULL


# Blocks.

cdef const char* check_order(const Table* table) noexcept nogil:
    cdef vector[char] is_met
    cdef uint64_t i
    if count_of(table, T_ORDER) != table.header.rows or table.header.rows >= NOTHING:
        return b"the order has not as many rows as the table"
    if not try_to_clear(is_met, table.header.rows):
        return b"there is no memory to check it"
    for i in range(table.header.rows):
        if table.order[i] >= table.header.rows or is_met[table.order[i]]:
            return b"the order names a row twice"
        is_met[table.order[i]] = 1
    return NULL


cdef const char* check_runs(const Table* table, const Block* block) noexcept nogil:
    cdef uint32_t before = 0
    cdef uint32_t i
    if not fits(block.runs, block.run_count, count_of(table, T_RUNS)):
        return b"the groups of a block lie outside the file"
    for i in range(block.runs, block.runs + block.run_count):
        if table.runs[i].group >= table.header.groups or table.runs[i].end <= before:
            return b"the groups of a block do not ascend"
        before = table.runs[i].end
    if before != block.rows:
        return b"the groups of a block do not cover it"
    return NULL


cdef const char* check_blocks(const Table* table) noexcept nogil:
    cdef const Block* block
    cdef const char* wrong
    cdef uint64_t rows = 0, words = 0
    cdef uint32_t i
    for i in range(table.block_count):
        block = &table.blocks[i]
        if block.rows == 0 or block.rows > MOST_BLOCK_ROWS or block.words != (
            (block.rows + 63) // 64
        ):
            return b"a block has not as many rows as it may"
        if block.first != rows or block.first_word != words:
            return b"blocks do not follow one another"
        if block.by != NOTHING and (
            table.header.by == NOTHING or block.by >= table.columns[table.header.by].values
        ):
            return b"a block is of nobody"
        wrong = check_runs(table, block)
        if wrong != NULL:
            return wrong
        rows += block.rows
        words += block.words
    if rows != table.header.rows:
        return b"blocks do not cover the rows"
    return NULL


# Parts.

cdef bint has_tail(const uint64_t* rows, const Block* block) noexcept nogil:
    """Says whether a bitmap has ones behind the last row."""
    return block.rows % 64 and rows[block.words - 1] >> (block.rows % 64)


cdef bint has_room(const Table* table, uint64_t offset, uint64_t bytes) noexcept nogil:
    return fits(offset, (bytes + 7) // 8, count_of(table, T_PAYLOAD))


cdef const char* check_values(
    const Table* table, const Column* column, const Block* block, const Part* part
) noexcept nogil:
    cdef const uint32_t* codes = codes_of(table, part)
    cdef const uint32_t* starts = starts_of(table, part)
    cdef const uint32_t* bitmap_of = <const uint32_t*>(table.payload + part.bitmap_of)
    cdef uint32_t bitmaps = 0
    cdef uint32_t i
    if starts[0] != 0 or starts[part.distinct] != part.listed:
        return b"the rows of values do not begin or end where they must"
    for i in range(part.distinct):
        if codes[i] >= column.values or i and codes[i - 1] >= codes[i]:
            return b"the values of a block do not ascend"
        if starts[i] > starts[i + 1]:
            return b"the rows of values overlap"
        if bitmap_of[i] != NOTHING:
            if bitmap_of[i] != bitmaps or starts[i] != starts[i + 1]:
                return b"a value has not its own bitmap"
            bitmaps += 1
    if bitmaps != part.bitmap_count:
        return b"bitmaps are missing"
    for i in range(bitmaps):
        if has_tail(table.payload + part.bitmaps + <uint64_t>i * block.words, block):
            return b"a bitmap has rows that the block lacks"
    return NULL


cdef const char* check_listed(
    const Table* table, const Block* block, const Part* part
) noexcept nogil:
    cdef const uint16_t* ranks = <const uint16_t*>(table.payload + part.ranks)
    cdef const uint16_t* rows = rows_of(table, part)
    cdef uint32_t i
    for i in range(part.listed):
        if rows[i] >= block.rows:
            return b"a value has a row that the block lacks"
    if part.ranks == NOWHERE:
        return NULL
    for i in range(64 * block.words):
        if ranks[i] != 0xFFFF and (ranks[i] >= part.distinct or i >= block.rows):
            return b"a row has a value that the block lacks"
    return NULL


cdef const char* check_points(
    const Table* table, const Block* block, const Part* part
) noexcept nogil:
    cdef const double* points = <const double*>(table.payload + part.codes)
    cdef uint32_t i
    if part.listed != part.known or not has_room(table, part.codes, 40 * <uint64_t>part.known):
        return b"places lie outside the file"
    for i in range(part.known):
        if not fabs(points[i]) <= 90 or not fabs(points[part.known + i]) <= 180:
            return b"a place is not on earth"
        if i and points[i - 1] > points[i]:
            return b"places do not ascend"
    return check_listed(table, block, part)


cdef const char* check_part(
    const Table* table, const Column* column, const Block* block, const Part* part
) noexcept nogil:
    cdef const char* wrong
    cdef uint64_t distinct = part.distinct
    if part.known == 0:
        if part.present != NOWHERE:
            return b"a part is not empty"
        return NULL
    if part.known > block.rows or not has_room(table, part.present, 8 * <uint64_t>block.words):
        return b"a part lies outside the file"
    if has_tail(table.payload + part.present, block):
        return b"a part has rows that the block lacks"
    if not has_room(table, part.rows, 2 * <uint64_t>part.listed):
        return b"rows of a part lie outside the file"
    if column.type == GEO:
        return check_points(table, block, part)
    if distinct > 1 and column.values < distinct or not (
        has_room(table, part.codes, 4 * distinct)
        and has_room(table, part.starts, 4 * distinct + 4)
        and has_room(table, part.bitmap_of, 4 * distinct)
        and part.bitmap_count <= distinct
        and has_room(table, part.bitmaps, 8 * <uint64_t>part.bitmap_count * block.words)
    ):
        return b"the values of a part lie outside the file"
    if part.ranks != NOWHERE and (
        is_of_sets(column) or not has_room(table, part.ranks, 128 * <uint64_t>block.words)
    ):
        return b"the ranks of a part lie outside the file"
    wrong = check_values(table, column, block, part)
    if wrong != NULL:
        return wrong
    return check_listed(table, block, part)


cdef const char* check_header(const Table* table, uint32_t attributes) noexcept nogil:
    if table.column_count < attributes or count_of(table, T_MALFORMED) != attributes:
        return b"it has not the columns of its catalogue"
    if table.header.by != NOTHING and (
        table.header.by >= attributes or table.columns[table.header.by].type != STRING
    ):
        return b"it is by no column"
    if table.header.users != NOTHING and (
        table.header.users >= attributes or table.columns[table.header.users].type != STRING
    ):
        return b"its users are in no column"
    if count_of(table, T_PARTS) != <uint64_t>table.block_count * table.column_count:
        return b"it has not a part for each column and block"
    return NULL


cdef const char* check_types(const Table* table, const CatalogTable* catalog) noexcept nogil:
    """Checks that columns are of their attributes' types, by which they are read."""
    cdef uint32_t attributes = <uint32_t>catalog.attributes.size()
    cdef const Column* column
    cdef uint32_t i
    for i in range(table.column_count):
        column = &table.columns[i]
        if i < attributes:
            if column.type != catalog.attributes[i].type:
                return b"a column has not its attribute's type"
            if column.derived != NOTHING and table.columns[column.derived].attribute != i:
                return b"a column leads to another's"
        elif column.type != INTEGER:
            return b"a derived column is not of numbers"
    return NULL


cdef const char* check_table(const Table* table, const CatalogTable* catalog) noexcept nogil:
    cdef uint32_t attributes = <uint32_t>catalog.attributes.size()
    cdef const char* wrong = check_header(table, attributes)
    cdef uint32_t block, column
    if wrong == NULL:
        wrong = check_order(table)
    for column in range(table.column_count):
        if wrong == NULL:
            wrong = check_column(table, column, attributes)
    if wrong == NULL:
        wrong = check_types(table, catalog)
    if wrong == NULL:
        wrong = check_blocks(table)
    if wrong != NULL:
        return wrong
    for block in range(table.block_count):
        for column in range(table.column_count):
            wrong = check_part(
                table, &table.columns[column], &table.blocks[block], part_of(table, block, column)
            )
            if wrong != NULL:
                return wrong
    return NULL
