"""Turns runs of codes and shapes into rows of a block (leaf_rows.pxd)."""
from libc.math cimport cos, fmin, sin
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from matcher_ext.columns.table_format cimport (
    NOWHERE, Block, Part, Table, bitmap_at, codes_of, is_of_sets, rows_of, starts_of,
)
from matcher_ext.machine.bitmaps cimport set_bit
from matcher_ext.tables.binding cimport (
    BY_ALL, BY_CIRCLE, BY_ONLY, BY_POLYGON, BY_PRESENCE, Binding, Bound, Codes,
)
from matcher_ext.tables.kernels cimport and_rows, except_rows, or_ranks, or_rows
from matcher_ext.values.predicate cimport float_of
from matcher_ext.visits.comparisons cimport distance_km, is_inside

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <cstdint>
    // Finds the first code that is not smaller, from a place on, in steps that grow.
    static inline uint32_t seek_code(const uint32_t* codes, uint32_t at, uint32_t count,
                                     uint32_t code) {
        uint32_t step = 1;
        while (at + step < count && codes[at + step] < code) { at += step; step *= 2; }
        uint32_t end = at + step + 1 < count ? at + step + 1 : count;
        return (uint32_t)(std::lower_bound(codes + at, codes + end, code) - codes);
    }
    static inline uint32_t place_latitude(const double* from, uint32_t count, double latitude) {
        return (uint32_t)(std::lower_bound(from, from + count, latitude) - from);
    }
    """
    uint32_t seek_code(const uint32_t* codes, uint32_t at, uint32_t count, uint32_t code)
    uint32_t place_latitude(const double* latitudes, uint32_t count, double latitude)

cdef enum:
    RANKS_FROM = 2      # so many listed rows a word: then comparing all ranks takes less time


cdef const uint64_t* known_rows(const Table* table, const Part* part) noexcept nogil:
    if part.present == NOWHERE:
        return NULL
    return table.payload + part.present


cdef void add_listed(
    const Table* table, const Part* part, uint32_t first, uint32_t end, uint64_t* out
) noexcept nogil:
    cdef const uint16_t* rows = rows_of(table, part)
    cdef uint32_t i
    for i in range(first, end):
        set_bit(out, rows[i])


cdef void add_values(
    const Table* table, const Block* block, const Part* part, uint32_t first, uint32_t end,
    uint64_t* out,
) noexcept nogil:
    """Adds the rows of the block's values first : end."""
    cdef const uint32_t* starts = starts_of(table, part)
    cdef const uint64_t* bitmap
    cdef uint32_t i
    if part.ranks != NOWHERE and end - first > 1 and (
        part.bitmap_count or starts[end] - starts[first] > RANKS_FROM * block.words
    ):
        or_ranks(
            out, <const uint16_t*>(table.payload + part.ranks), <uint16_t>first,
            <uint16_t>(end - 1), block.words,
        )
        return
    for i in range(first, end):
        bitmap = bitmap_at(table, block, part, i)
        if bitmap != NULL:
            or_rows(out, bitmap, block.words)
    add_listed(table, part, starts[first], starts[end], out)


cdef const uint64_t* rows_of_runs(
    const Table* table, const Block* block, const Part* part, const Codes* runs, uint32_t count,
    bint is_set, uint64_t* out,
) noexcept nogil:
    """Steps through runs and values together. One value's bitmap is returned as it lies there."""
    cdef const uint32_t* codes = codes_of(table, part)
    cdef const uint64_t* only = NULL
    cdef bint is_begun = False
    cdef uint32_t i, first = 0, end = 0
    for i in range(count):
        if end == part.distinct:
            break
        first = seek_code(codes, end, part.distinct, runs[i].first)
        end = seek_code(codes, first, part.distinct, runs[i].end) if first < part.distinct else (
            first
        )
        if first == end:
            continue
        if not is_set and first == 0 and end == part.distinct:
            return table.payload + part.present
        if not is_begun:
            if only == NULL and end == first + 1:
                only = bitmap_at(table, block, part, first)
                if only != NULL:
                    continue
            if only != NULL:
                memcpy(out, only, 8 * <size_t>block.words)
            else:
                memset(out, 0, 8 * <size_t>block.words)
            is_begun = True
        add_values(table, block, part, first, end, out)
    if is_begun:
        return out
    return only


cdef const uint64_t* rows_of_all(
    const Table* table, const Block* block, const Part* part, const Codes* runs, uint32_t count,
    uint64_t* out, uint64_t* spare,
) noexcept nogil:
    cdef const uint64_t* before = table.payload + part.present
    cdef const uint64_t* rows
    cdef uint32_t i
    for i in range(count):
        rows = rows_of_runs(table, block, part, runs + i, 1, True, spare)
        if rows == NULL or not and_rows(out, before, rows, block.words):
            return NULL
        before = out
    return before


cdef const uint64_t* rows_of_only(
    const Table* table, const Block* block, const Part* part, const Codes* runs, uint32_t count,
    uint64_t* out, uint64_t* spare,
) noexcept nogil:
    """Takes the rows with an element, without those that have one between the runs."""
    cdef const uint32_t* codes = codes_of(table, part)
    cdef uint32_t i, first, end = 0
    memset(out, 0, 8 * <size_t>block.words)
    memset(spare, 0, 8 * <size_t>block.words)
    for i in range(count):
        first = seek_code(codes, end, part.distinct, runs[i].first) if end < part.distinct else end
        add_values(table, block, part, end, first, spare)
        end = first
        if first < part.distinct:
            end = seek_code(codes, first, part.distinct, runs[i].end)
            add_values(table, block, part, first, end, out)
    add_values(table, block, part, end, part.distinct, spare)
    return out if except_rows(out, out, spare, block.words) else NULL


cdef const uint64_t* rows_of_circle(
    const Table* table, const Block* block, const Part* part, const int64_t* shape, uint64_t* out
) noexcept nogil:
    """Compares dot products of unit vectors; where rounding might decide, the distance itself."""
    cdef const double* points = <const double*>(table.payload + part.codes)
    cdef const uint16_t* rows = rows_of(table, part)
    cdef double radian = 3.141592653589793 / 180.0
    cdef double latitude = float_of(shape[0]), longitude = float_of(shape[1])
    cdef double km = float_of(shape[2])
    cdef double reach = km / 6371.0088 / radian * (1 + 1e-9) + 1e-9
    cdef double least = cos(fmin(3.141592653589793, km / 6371.0088))
    cdef double x = cos(latitude * radian) * cos(longitude * radian)
    cdef double y = cos(latitude * radian) * sin(longitude * radian)
    cdef double z = sin(latitude * radian)
    cdef double product
    cdef uint32_t n = part.known
    cdef uint32_t i
    cdef bint is_any = False
    memset(out, 0, 8 * <size_t>block.words)
    for i in range(place_latitude(points, n, latitude - reach), n):
        if points[i] > latitude + reach:
            break
        product = points[2 * n + i] * x + points[3 * n + i] * y + points[4 * n + i] * z - least
        if product > 1e-13 or product >= -1e-13 and (
            distance_km(points[i], points[n + i], latitude, longitude) <= km
        ):
            set_bit(out, rows[i])
            is_any = True
    return out if is_any else NULL


cdef const uint64_t* rows_of_polygon(
    const Table* table, const Block* block, const Part* part, const int64_t* shape,
    uint32_t count, uint64_t* out,
) noexcept nogil:
    cdef const double* points = <const double*>(table.payload + part.codes)
    cdef const uint16_t* rows = rows_of(table, part)
    cdef double low = float_of(shape[0]), high = float_of(shape[0])
    cdef uint32_t n = part.known
    cdef uint32_t i
    cdef bint is_any = False
    for i in range(2, count, 2):
        low = min(low, float_of(shape[i]))
        high = max(high, float_of(shape[i]))
    memset(out, 0, 8 * <size_t>block.words)
    for i in range(place_latitude(points, n, low), n):
        if points[i] > high:
            break
        if is_inside(shape, count, points[i], points[n + i]):
            set_bit(out, rows[i])
            is_any = True
    return out if is_any else NULL


cdef const uint64_t* true_rows(
    const Table* table, const Block* block, const Part* part, const Binding* binding,
    const Bound* bound, uint64_t* out, uint64_t* spare,
) noexcept nogil:
    cdef const Codes* runs = binding.runs.data() + bound.first
    if bound.how == BY_PRESENCE:
        return known_rows(table, part)
    if part.known == 0:
        return NULL
    if bound.how == BY_ALL:
        return rows_of_all(table, block, part, runs, bound.count, out, spare)
    if bound.how == BY_ONLY:
        return rows_of_only(table, block, part, runs, bound.count, out, spare)
    if bound.how == BY_CIRCLE:
        return rows_of_circle(
            table, block, part, binding.shapes.data() + bound.first, out
        )
    if bound.how == BY_POLYGON:
        return rows_of_polygon(
            table, block, part, binding.shapes.data() + bound.first, bound.count, out
        )
    return rows_of_runs(
        table, block, part, runs, bound.count, is_of_sets(&table.columns[bound.column]), out
    )
