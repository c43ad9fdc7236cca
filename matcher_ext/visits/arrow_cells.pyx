"""Finds a cell in its column's buffers and sets the value by its layout (arrow_cells.pxd)."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport GEO, INTEGER_SET, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL
from matcher_ext.visits.visit cimport (
    Visit, add_integer, add_text, begin_set, clear_visit, end_set, read_whole_double,
    set_boolean, set_float, set_integer, set_malformed, set_point, set_text,
)

cdef bint is_null(const Column* column, int64_t index) noexcept nogil:
    cdef const uint8_t* bits
    if column.layout == NULLS:
        return True
    if column.array.null_count == 0 or column.array.n_buffers == 0:
        return False
    bits = <const uint8_t*>column.array.buffers[0]
    return bits != NULL and not bits[index >> 3] >> (index & 7) & 1


cdef int64_t read_signed(const Column* column, int64_t index) noexcept nogil:
    cdef const void* values = column.array.buffers[1]
    if column.width == 1:
        return (<const int8_t*>values)[index]
    if column.width == 2:
        return (<const int16_t*>values)[index]
    if column.width == 4:
        return (<const int32_t*>values)[index]
    return (<const int64_t*>values)[index]


cdef uint64_t read_unsigned(const Column* column, int64_t index) noexcept nogil:
    cdef const void* values = column.array.buffers[1]
    if column.width == 1:
        return (<const uint8_t*>values)[index]
    if column.width == 2:
        return (<const uint16_t*>values)[index]
    if column.width == 4:
        return (<const uint32_t*>values)[index]
    return (<const uint64_t*>values)[index]


cdef double read_floating(const Column* column, int64_t index) noexcept nogil:
    if column.width == 4:
        return (<const float*>column.array.buffers[1])[index]
    return (<const double*>column.array.buffers[1])[index]


cdef bint is_coordinate(const Column* column, int64_t index) noexcept nogil:
    return column.layout in (SIGNED, FLOATING) and not is_null(column, index)


cdef double read_coordinate(const Column* column, int64_t index) noexcept nogil:
    """Reads a coordinate, which may be logged as a whole number."""
    if column.layout == SIGNED:
        return <double>read_signed(column, index)
    return read_floating(column, index)


cdef int64_t read_instant(const Column* column, int64_t index) noexcept nogil:
    cdef int64_t value = (<const int64_t*>column.array.buffers[1])[index]
    cdef int64_t whole = value // column.divisor
    if value % column.divisor < 0:
        whole -= 1          # C divides towards zero, time runs on through 1970
    return whole * column.factor


cdef Text read_text(const Column* column, int64_t index) noexcept nogil:
    cdef Text text
    cdef const int32_t* small
    cdef const int64_t* large
    cdef const uint8_t* view
    if column.layout == TEXT:
        small = <const int32_t*>column.array.buffers[1]
        text.start = <const char*>column.array.buffers[2] + small[index]
        text.length = small[index + 1] - small[index]
    elif column.layout == LARGE_TEXT:
        large = <const int64_t*>column.array.buffers[1]
        text.start = <const char*>column.array.buffers[2] + large[index]
        text.length = large[index + 1] - large[index]
    else:
        # A view: length, then up to 12 bytes of text, or prefix, buffer and offset.
        view = <const uint8_t*>column.array.buffers[1] + 16 * index
        small = <const int32_t*>view
        text.length = small[0]
        if text.length <= 12:
            text.start = <const char*>(view + 4)
        else:
            text.start = <const char*>column.array.buffers[2 + small[2]] + small[3]
    return text


cdef bint is_text(const Column* column) noexcept nogil:
    return column.layout == TEXT or column.layout == LARGE_TEXT or column.layout == TEXT_VIEW


cdef int64_t dictionary_index(
    const Column* column, const Column* values, int64_t index
) noexcept nogil:
    cdef int64_t code
    if column.layout == SIGNED:
        code = read_signed(column, index)
    else:
        code = <int64_t>read_unsigned(column, index)
    return code + values.array.offset


cdef void set_cell(
    const CatalogTable* t, const Column* column, int64_t index, uint32_t attribute, Visit* visit
) noexcept nogil:
    cdef int type = t.attributes[attribute].type
    cdef Text text
    cdef uint64_t number
    if column.layout == BITS:
        number = (<const uint8_t*>column.array.buffers[1])[index >> 3] >> (index & 7) & 1
        set_boolean(t, visit, attribute, number != 0)
    elif column.layout == SIGNED:
        set_integer(t, visit, attribute, read_signed(column, index))
    elif column.layout == UNSIGNED:
        number = read_unsigned(column, index)
        if number >> 63:
            set_malformed(visit, attribute)
        else:
            set_integer(t, visit, attribute, <int64_t>number)
    elif column.layout == FLOATING:
        set_float(t, visit, attribute, read_floating(column, index))
    elif is_text(column):
        text = read_text(column, index)
        set_text(t, visit, attribute, text.start, <size_t>text.length)
    elif type != TIMESTAMP and type != TIMESTAMP_LOCAL:
        set_malformed(visit, attribute)
    elif column.layout == INSTANT:
        set_integer(t, visit, attribute, read_instant(column, index))
    elif column.layout == DAY:
        set_integer(
            t, visit, attribute,
            <int64_t>(<const int32_t*>column.array.buffers[1])[index] * 86400000,
        )
    else:
        set_malformed(visit, attribute)


cdef bint fits_element(const Column* elements, int type) noexcept nogil:
    if type == STRING_SET:
        return is_text(elements)
    return elements.layout == SIGNED or elements.layout == UNSIGNED or elements.layout == FLOATING


cdef bint add_element(
    const Column* elements, int64_t index, uint32_t attribute, int type, Visit* visit
) noexcept nogil:
    """Adds one element to a set; False when the element spoils its set."""
    cdef Text text
    cdef int64_t number = 0
    if is_null(elements, index):
        return False
    if type == STRING_SET:
        text = read_text(elements, index)
        add_text(visit, attribute, text.start, <size_t>text.length)
    elif read_whole(elements, index, &number):
        add_integer(visit, attribute, number)
    else:
        return False
    return True


cdef bint read_whole(const Column* column, int64_t index, int64_t* number) noexcept nogil:
    if column.layout == FLOATING:
        return read_whole_double(read_floating(column, index), number)
    if column.layout == UNSIGNED:
        number[0] = <int64_t>read_unsigned(column, index)
        return number[0] >= 0
    number[0] = read_signed(column, index)
    return True


cdef void find_elements(
    const vector[Column]* columns, const Column* column, int64_t index, int64_t* first,
    int64_t* last,
) noexcept nogil:
    cdef int64_t shift = columns[0][column.child].array.offset
    if column.layout == LISTED:
        first[0] = (<const int32_t*>column.array.buffers[1])[index] + shift
        last[0] = (<const int32_t*>column.array.buffers[1])[index + 1] + shift
    elif column.layout == LARGE_LISTED:
        first[0] = (<const int64_t*>column.array.buffers[1])[index] + shift
        last[0] = (<const int64_t*>column.array.buffers[1])[index + 1] + shift
    else:
        first[0] = index * column.width + shift
        last[0] = first[0] + column.width


cdef void set_list(
    const CatalogTable* t,
    const vector[Column]* columns,
    const Column* column,
    int64_t index,
    uint32_t attribute,
    Visit* visit,
) noexcept nogil:
    cdef const Column* elements = &columns[0][column.child]
    cdef int type = t.attributes[attribute].type
    cdef int64_t first = 0, last = 0, i, at
    cdef bint sound
    find_elements(columns, column, index, &first, &last)
    if type == GEO and last - first == 2 and (
        is_coordinate(elements, first) and is_coordinate(elements, first + 1)
    ):
        set_point(
            t, visit, attribute,
            read_coordinate(elements, first), read_coordinate(elements, first + 1),
        )
        return
    if type != STRING_SET and type != INTEGER_SET:
        set_malformed(visit, attribute)
        return
    sound = True
    begin_set(visit, attribute)
    for i in range(first, last):
        at = i
        if elements.dictionary == NOTHING:
            sound = sound and fits_element(elements, type) and add_element(
                elements, at, attribute, type, visit
            )
        else:
            sound = sound and not is_null(elements, i) and add_coded_element(
                columns, elements, i, attribute, type, visit
            )
    if not sound:
        set_malformed(visit, attribute)
    else:
        end_set(t, visit, attribute)


cdef bint add_coded_element(
    const vector[Column]* columns,
    const Column* elements,
    int64_t index,
    uint32_t attribute,
    int type,
    Visit* visit,
) noexcept nogil:
    cdef const Column* values = &columns[0][elements.dictionary]
    return fits_element(values, type) and add_element(
        values, dictionary_index(elements, values, index), attribute, type, visit
    )


cdef void set_structure(
    const CatalogTable* t,
    const vector[Column]* columns,
    const Column* column,
    int64_t index,
    uint32_t attribute,
    Visit* visit,
) noexcept nogil:
    cdef const Column* latitude
    cdef const Column* longitude
    if column.child == NOTHING or t.attributes[attribute].type != GEO:
        set_malformed(visit, attribute)
        return
    latitude = &columns[0][column.child]
    longitude = &columns[0][column.child + 1]
    if not is_coordinate(latitude, index + latitude.array.offset) or (
        not is_coordinate(longitude, index + longitude.array.offset)
    ):
        set_malformed(visit, attribute)
        return
    set_point(
        t, visit, attribute,
        read_coordinate(latitude, index + latitude.array.offset),
        read_coordinate(longitude, index + longitude.array.offset),
    )


cdef int64_t locate(
    const vector[Column]* columns, const Column* column, int64_t row
) noexcept nogil:
    cdef int64_t index = row
    if column.parent != NOTHING:
        index = locate(columns, &columns[0][column.parent], row)
        if index < 0:
            return -1
    index += column.array.offset
    return -1 if is_null(column, index) else index


cdef void read_cell(
    const CatalogTable* table,
    const vector[Column]* columns,
    const Column* column,
    int64_t row,
    Visit* visit,
) noexcept nogil:
    cdef const Column* values
    cdef int64_t index = locate(columns, column, row)
    if index < 0:
        return
    if column.dictionary != NOTHING:
        values = &columns[0][column.dictionary]
        index = dictionary_index(column, values, index)
        if not is_null(values, index):
            set_cell(table, values, index, column.attribute, visit)
    elif column.layout == STRUCTURE:
        set_structure(table, columns, column, index, column.attribute, visit)
    elif column.child != NOTHING:
        set_list(table, columns, column, index, column.attribute, visit)
    else:
        set_cell(table, column, index, column.attribute, visit)


cdef int64_t skip_nulls(
    const vector[Column]* columns, const Column* column, int64_t row, int64_t end
) noexcept nogil:
    """Finds the next row that may hold a value; passes over whole bytes of nulls at once."""
    cdef const uint8_t* bits
    cdef int64_t shift = column.array.offset
    if column.layout == NULLS:
        return end
    if column.array.null_count == 0 or column.array.n_buffers == 0 or (
        column.parent == NOTHING or columns[0][column.parent].parent != NOTHING
    ):
        return row
    bits = <const uint8_t*>column.array.buffers[0]
    if bits == NULL:
        return row
    shift += columns[0][column.parent].array.offset
    while row < end and not bits[(row + shift) >> 3] >> ((row + shift) & 7):
        row = (((row + shift) >> 3) + 1) * 8 - shift
    while row < end and not bits[(row + shift) >> 3] >> ((row + shift) & 7) & 1:
        row += 1
    return min(row, end)


cdef void read_rows(
    const CatalogTable* table,
    const vector[Column]* columns,
    const vector[uint32_t]* leaves,
    int64_t first_row,
    int64_t count,
    Visit* visits,
) noexcept nogil:
    cdef const Column* column
    cdef int64_t row, end = first_row + count
    cdef size_t i
    for row in range(count):
        clear_visit(table, &visits[row])
    for i in range(leaves.size()):
        column = &columns[0][leaves[0][i]]
        row = skip_nulls(columns, column, first_row, end)
        while row < end:
            read_cell(table, columns, column, row, &visits[row - first_row])
            row = skip_nulls(columns, column, row + 1, end)


cdef void read_row(
    const CatalogTable* table,
    const vector[Column]* columns,
    const vector[uint32_t]* leaves,
    int64_t row,
    Visit* visit,
) noexcept nogil:
    read_rows(table, columns, leaves, row, 1, visit)
