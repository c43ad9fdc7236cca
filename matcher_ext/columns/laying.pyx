"""Writes the parts of columns, block by block (laying.pxd)."""
from libc.math cimport cos, sin
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.columns.coding cimport Coder, count_values
from matcher_ext.columns.table_format cimport BITMAP_FROM, FEW_VALUES, NOWHERE, Block, Part
from matcher_ext.machine.bitmaps cimport set_bit
from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.predicate cimport GEO, INTEGER_SET, STRING_SET

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <cstdint>
    static inline void order_points(uint16_t* first, uint16_t* last, const double* latitudes) {
        std::sort(first, last, [=](uint16_t a, uint16_t b) {
            return latitudes[a] != latitudes[b] ? latitudes[a] < latitudes[b] : a < b;
        });
    }
    """
    void order_points(uint16_t* first, uint16_t* last, const double* latitudes)


cdef uint64_t take(Layout* layout, size_t bytes) except? 0xFFFFFFFFFFFFFFFF nogil:
    """Takes room in the payload, filled with zeros; returns its offset."""
    cdef uint64_t offset = layout.payload.size()
    layout.payload.resize(offset + (bytes + 7) // 8, 0)
    return offset


cdef void clear_part(Part* part) noexcept nogil:
    memset(part, 0, sizeof(Part))
    part.present = NOWHERE
    part.codes = NOWHERE
    part.starts = NOWHERE
    part.bitmap_of = NOWHERE
    part.bitmaps = NOWHERE
    part.rows = NOWHERE
    part.ranks = NOWHERE


cdef int mark_present(Layout* layout, const Block* block, Part* part) except -1 nogil:
    cdef uint64_t* bits
    cdef uint32_t i
    for i in range(block.rows):
        part.known += layout.local[block.first + i] != NOTHING
    if part.known == 0:
        return 0
    part.present = take(layout, 8 * <size_t>block.words)
    bits = layout.payload.data() + part.present
    for i in range(block.rows):
        if layout.local[block.first + i] != NOTHING:
            set_bit(bits, i)
    return 0


cdef int list_values(Layout* layout, Part* part, uint32_t rows) except -1 nogil:
    """Writes the values of a block from their tally, and which of them get a bitmap. The tally of a
    value is its place from then on."""
    cdef uint32_t* codes
    cdef uint32_t* starts
    cdef uint32_t* bitmap_of
    cdef uint32_t i, code
    sort(layout.found.begin(), layout.found.end())
    part.distinct = <uint32_t>layout.found.size()
    part.codes = take(layout, 4 * <size_t>part.distinct)
    part.starts = take(layout, 4 * (<size_t>part.distinct + 1))
    part.bitmap_of = take(layout, 4 * <size_t>part.distinct)
    codes = <uint32_t*>(layout.payload.data() + part.codes)
    starts = <uint32_t*>(layout.payload.data() + part.starts)
    bitmap_of = <uint32_t*>(layout.payload.data() + part.bitmap_of)
    for i in range(part.distinct):
        code = layout.found[i]
        codes[i] = code
        layout.seen[code + 1] += layout.tally[code]
        starts[i] = part.listed
        if <uint64_t>layout.tally[code] * BITMAP_FROM >= rows:
            bitmap_of[i] = part.bitmap_count
            part.bitmap_count += 1
        else:
            bitmap_of[i] = NOTHING
            part.listed += layout.tally[code]
        layout.tally[code] = i
    starts[part.distinct] = part.listed
    return 0


cdef void put_row(
    Layout* layout, const Block* block, const Part* part, uint32_t value, uint32_t row
) noexcept nogil:
    """Adds a row to a value of the block; rows come in their order."""
    cdef uint64_t* payload = layout.payload.data()
    cdef uint32_t number = (<uint32_t*>(payload + part.bitmap_of))[value]
    if number != NOTHING:
        set_bit(payload + part.bitmaps + <uint64_t>number * block.words, row)
    else:
        (<uint16_t*>(payload + part.rows))[layout.starts[value]] = <uint16_t>row
        layout.starts[value] += 1


cdef int begin_rows(Layout* layout, const Block* block, Part* part) except -1 nogil:
    cdef const uint32_t* starts
    part.bitmaps = take(layout, 8 * <size_t>part.bitmap_count * block.words)
    part.rows = take(layout, 2 * <size_t>part.listed)
    starts = <const uint32_t*>(layout.payload.data() + part.starts)
    layout.starts.assign(starts, starts + part.distinct)
    return 0


cdef int lay_scalar(Layout* layout, const Block* block, Part* part) except -1 nogil:
    cdef const uint32_t* local = layout.local.data() + block.first
    cdef uint16_t* ranks = NULL
    cdef uint32_t i, code
    layout.found.clear()
    for i in range(block.rows):
        code = local[i]
        if code != NOTHING:
            if layout.tally[code] == 0:
                layout.found.push_back(code)
            layout.tally[code] += 1
    list_values(layout, part, block.rows)
    begin_rows(layout, block, part)
    if part.distinct > FEW_VALUES:
        part.ranks = take(layout, 128 * <size_t>block.words)
        ranks = <uint16_t*>(layout.payload.data() + part.ranks)
        memset(ranks, 0xFF, 128 * <size_t>block.words)
    for i in range(block.rows):
        code = local[i]
        if code != NOTHING:
            put_row(layout, block, part, layout.tally[code], i)
            if ranks != NULL:
                ranks[i] = <uint16_t>layout.tally[code]
    for i in range(part.distinct):
        layout.tally[layout.found[i]] = 0
    return 0


cdef int lay_set(
    Layout* layout, const Coder* coder, const Block* block, Part* part
) except -1 nogil:
    """Lays out elements; here `local` is the place of a row among those that carry the set."""
    cdef const uint32_t* local = layout.local.data() + block.first
    cdef uint32_t i, k, code
    layout.found.clear()
    for i in range(block.rows):
        if local[i] != NOTHING:
            for k in range(coder.ends[local[i] - 1] if local[i] else 0, coder.ends[local[i]]):
                code = coder.codes[k]
                if layout.tally[code] == 0:
                    layout.found.push_back(code)
                layout.tally[code] += 1
    list_values(layout, part, block.rows)
    begin_rows(layout, block, part)
    for i in range(block.rows):
        if local[i] != NOTHING:
            for k in range(coder.ends[local[i] - 1] if local[i] else 0, coder.ends[local[i]]):
                put_row(layout, block, part, layout.tally[coder.codes[k]], i)
    for i in range(part.distinct):
        layout.tally[layout.found[i]] = 0
    return 0


cdef int lay_points(
    Layout* layout, const Coder* coder, const Block* block, Part* part
) except -1 nogil:
    cdef const uint32_t* local = layout.local.data() + block.first
    cdef double radian = 3.141592653589793 / 180.0
    cdef vector[double] latitudes
    cdef double latitude, longitude
    cdef double* points
    cdef uint16_t* rows
    cdef uint32_t i, at = 0
    latitudes.resize(block.rows)
    part.codes = take(layout, 40 * <size_t>part.known)
    part.rows = take(layout, 2 * <size_t>part.known)
    part.listed = part.known
    rows = <uint16_t*>(layout.payload.data() + part.rows)
    points = <double*>(layout.payload.data() + part.codes)
    for i in range(block.rows):
        if local[i] != NOTHING:
            latitudes[i] = coder.points[2 * <size_t>local[i]]
            rows[at] = <uint16_t>i
            at += 1
    order_points(rows, rows + at, latitudes.data())
    for i in range(part.known):
        latitude = latitudes[rows[i]]
        longitude = coder.points[2 * <size_t>local[rows[i]] + 1]
        points[i] = latitude
        points[part.known + i] = longitude
        points[2 * part.known + i] = cos(latitude * radian) * cos(longitude * radian)
        points[3 * part.known + i] = cos(latitude * radian) * sin(longitude * radian)
        points[4 * part.known + i] = sin(latitude * radian)
    return 0


cdef int spread(Layout* layout, const Coder* coder) except -1 nogil:
    """Puts what each row carries to its place in the table."""
    cdef bint is_scalar = not (
        coder.type == STRING_SET or coder.type == INTEGER_SET or coder.type == GEO
    )
    cdef size_t i
    fill_vector(layout.local, layout.order.size(), NOTHING)
    for i in range(coder.rows.size()):
        layout.local[layout.places[coder.rows[i]]] = coder.codes[i] if is_scalar else <uint32_t>i
    return 0


cdef int lay_column(
    Layout* layout, const Coder* coder, uint32_t column, uint32_t columns
) except -1 nogil:
    cdef Part* part
    cdef size_t i
    fill_vector(layout.tally, count_values(coder) + 1, 0)
    fill_vector(layout.seen, count_values(coder) + 1, 0)
    if not coder.rows.empty():
        spread(layout, coder)
    for i in range(layout.blocks.size()):
        part = &layout.parts[i * columns + column]
        clear_part(part)
        if coder.rows.empty():
            continue
        mark_present(layout, &layout.blocks[i], part)
        if part.known == 0:
            continue
        if coder.type == GEO:
            lay_points(layout, coder, &layout.blocks[i], part)
        elif coder.type == STRING_SET or coder.type == INTEGER_SET:
            lay_set(layout, coder, &layout.blocks[i], part)
        else:
            lay_scalar(layout, &layout.blocks[i], part)
    for i in range(count_values(coder)):
        layout.seen[i + 1] += layout.seen[i]
    return 0
