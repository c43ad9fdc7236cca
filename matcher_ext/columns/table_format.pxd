"""Visits prepared once: one buffer of sections, the same bytes in memory and in a file.

Nothing in it is a pointer; table_checks.pyx checks every index once, so that asking can trust it.

    columns     by attribute number, then derived ones: the minute of the week, the size of a set
    dictionary  the values of a column, each once, ascending: a value's place is its *code*
    blocks      up to 24,576 rows of one publisher and one weight, ordered by group
    parts       a column within a block, [block][column]
    payload     64-bit words: bitmaps, lists of rows, ranks, all at offsets that parts name

A part lists the values that occur in its block, ascending by code; with each value its rows:

    codes      3      7      9 ..
    starts     0      4      4      10 ..    places in `rows`
    rows       5 8 9 60    | (none)| 2 3 ..  of values without a bitmap
    bitmap_of  NOTHING| 0    | NOTHING ..    a value that many rows have is a bitmap instead

  A scalar with more than FEW_VALUES of them also has `ranks`: for each row the place of its value,
  so that a range is one comparison a row. Places on earth are ordered by latitude, with their unit
  vectors: a circle is a dot product.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.predicate cimport INTEGER_SET, STRING_SET

cdef enum TableSection:
    T_CATALOG           # JSON of the catalogue's rows
    T_GROUPS            # JSON of the groups' values
    T_COLUMNS           # Column
    T_WORDS             # dictionaries: numbers, texts as spans of T_BYTES, addresses as two words
    T_BYTES
    T_SEEN              # for each dictionary one more than its values: rows with a smaller code
    T_BLOCKS            # Block
    T_PARTS
    T_ORDER             # the input's row, by the table's
    T_RUNS              # of groups, by block
    T_MALFORMED         # by attribute: rows that carried a value of a wrong type
    T_PAYLOAD
    T_SECTIONS          # how many there are

cdef enum:
    TABLE_VERSION = 1
    MANY_BLOCK_ROWS = 16384  # a bitmap of them stays in the nearest cache, with those beside it
    MOST_BLOCK_ROWS = 24576  # before two blocks of half the size cost less
    FEW_VALUES = 64
    BITMAP_FROM = 32        # one row in so many: then a bitmap takes at most twice the list's room

cdef enum ColumnKind:
    OF_VALUES
    OF_WEEK_MINUTES         # of a time, by the visit's own clock where that is local
    OF_SIZES                # of a set

cdef struct TableHeader:
    char magic[8]
    uint32_t version
    uint32_t sections
    uint64_t size               # of the whole buffer
    uint64_t checksum           # of the whole buffer with 0 in its place
    uint64_t rows
    uint32_t by                 # column that a block has one value of
    uint32_t users              # column of users, or NOTHING
    uint32_t groups
    uint32_t unused
    uint64_t offsets[16]
    uint64_t counts[16]         # elements, not bytes

cdef struct Column:
    uint64_t first              # T_WORDS
    uint64_t seen               # T_SEEN
    uint64_t present            # rows
    uint32_t values
    uint32_t attribute
    uint32_t derived            # column of this attribute's minutes or sizes, or NOTHING
    uint8_t kind                # ColumnKind
    uint8_t type                # Type of the attribute
    uint8_t unused[2]

cdef struct Block:
    uint64_t first              # T_ORDER; the same without padding
    uint64_t first_word         # of bitmaps over the whole table
    int64_t weight
    uint32_t rows
    uint32_t words
    uint32_t by                 # code, or NOTHING
    uint32_t runs               # T_RUNS, the first
    uint32_t run_count
    uint32_t unused

cdef struct Run:                # rows of one group
    uint32_t group
    uint32_t end                # row of the block

cdef struct Part:               # offsets into the payload; NOWHERE: there is none
    uint64_t present            # bitmap
    uint64_t codes              # uint32, by value; places: 5 x doubles (lat, lon, x, y, z), by rows
    uint64_t starts             # uint32, one more
    uint64_t bitmap_of          # uint32
    uint64_t bitmaps
    uint64_t rows               # uint16
    uint64_t ranks              # uint16, 64 a word
    uint32_t known              # rows that carry it
    uint32_t distinct
    uint32_t bitmap_count
    uint32_t listed             # rows in `rows`

cdef struct Table:
    const TableHeader* header
    const Column* columns
    const int64_t* words
    const char* bytes
    const uint64_t* seen
    const Block* blocks
    const Part* parts
    const uint32_t* order
    const Run* runs
    const int64_t* malformed
    const uint64_t* payload
    uint32_t column_count
    uint32_t block_count
    uint64_t all_words          # of bitmaps over the whole table

cdef extern from * nogil:
    """
    #include <cstdint>
    static const uint64_t NOWHERE = 0xFFFFFFFFFFFFFFFFULL;
    """
    const uint64_t NOWHERE

cdef uint64_t table_element_size(int section) noexcept nogil
# Reads magic, version, sizes and sections; returns what is wrong, or NULL.
cdef const char* read_table(const char* buffer, uint64_t size, Table* table) noexcept nogil
# Sums up the whole buffer, with 0 in the place of the sum itself.
cdef uint64_t sum_table(const char* buffer, uint64_t size) noexcept nogil

cdef inline const Part* part_of(const Table* table, uint32_t block, uint32_t column) noexcept nogil:
    return &table.parts[<uint64_t>block * table.column_count + column]

cdef inline const uint32_t* codes_of(const Table* table, const Part* part) noexcept nogil:
    return <const uint32_t*>(table.payload + part.codes)

cdef inline const uint32_t* starts_of(const Table* table, const Part* part) noexcept nogil:
    return <const uint32_t*>(table.payload + part.starts)

cdef inline const uint16_t* rows_of(const Table* table, const Part* part) noexcept nogil:
    return <const uint16_t*>(table.payload + part.rows)

cdef inline const uint64_t* bitmap_at(
    const Table* table, const Block* block, const Part* part, uint32_t value
) noexcept nogil:
    """Returns the bitmap of a value of a block, or NULL."""
    cdef uint32_t number = (<const uint32_t*>(table.payload + part.bitmap_of))[value]
    if number == NOTHING:
        return NULL
    return table.payload + part.bitmaps + <uint64_t>number * block.words

cdef inline bint is_of_sets(const Column* column) noexcept nogil:
    """Says whether a row may have several of the column's values."""
    return column.kind == OF_VALUES and (
        column.type == STRING_SET or column.type == INTEGER_SET
    )

cdef inline int64_t order_float(int64_t bits) noexcept nogil:
    """Makes a number of a float's bits that is ordered as the float is; and back."""
    return bits ^ <int64_t>(<uint64_t>(bits >> 63) >> 1)
