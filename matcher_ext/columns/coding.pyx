"""Codes values by hash tables, and sorts what it has met (coding.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport order_float
from matcher_ext.machine.hashing cimport hash_bytes, mix
from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.literals cimport minute_of_week
from matcher_ext.values.predicate cimport (
    FLOAT, GEO, INTEGER, INTEGER_SET, IP, STRING, STRING_SET, float_of,
)
from matcher_ext.values.spans cimport text_length, text_offset, text_word
from matcher_ext.visits.arrow_cells cimport Column as ArrowColumn
from matcher_ext.visits.arrow_cells cimport (
    STRUCTURE, Text, dictionary_index, find_elements, fits_element, is_null, is_text, locate,
    read_cell, read_text, read_whole, skip_nulls,
)
from matcher_ext.visits.visit cimport Value, Visit, clear_visit

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <cstdint>
    #include <cstring>
    static inline void order_values(
        uint32_t* first, uint32_t* last, const int64_t* words, const char* bytes, int kind
    ) {
        if (kind == 0)
            std::sort(first, last, [=](uint32_t a, uint32_t b) { return words[a] < words[b]; });
        else if (kind == 1)
            std::sort(first, last, [=](uint32_t a, uint32_t b) {
                uint32_t m = (uint32_t)words[a], n = (uint32_t)words[b];
                int order = std::memcmp(bytes + ((uint64_t)words[a] >> 32),
                                        bytes + ((uint64_t)words[b] >> 32), m < n ? m : n);
                return order ? order < 0 : m < n;
            });
        else
            std::sort(first, last, [=](uint32_t a, uint32_t b) {
                if (words[2 * a] != words[2 * b])
                    return (uint64_t)words[2 * a] < (uint64_t)words[2 * b];
                return (uint64_t)words[2 * a + 1] < (uint64_t)words[2 * b + 1];
            });
    }
    // Moves the distinct ones of a few codes to the front, in no order; returns their end.
    static inline uint32_t* keep_distinct(uint32_t* first, uint32_t* last) {
        const long FEW = 16;
        if (last - first > FEW) {
            std::sort(first, last);
            return std::unique(first, last);
        }
        uint32_t* end = first;
        for (uint32_t* code = first; code < last; code++)
            if (std::find(first, end, *code) == end) *end++ = *code;
        return end;
    }
    """
    void order_values(
        uint32_t* first, uint32_t* last, const int64_t* words, const char* bytes, int kind
    )
    uint32_t* keep_distinct(uint32_t* first, uint32_t* last)

cdef enum:
    FIRST_SLOTS = 64
    EMPTY = -1          # slot


cdef int open_coder(Coder* coder, uint8_t type) except -1 nogil:
    coder.type = type
    coder.width = 2 if type == IP else 0 if type == GEO else 1
    fill_vector(coder.slots, FIRST_SLOTS, <uint64_t>EMPTY)
    return 0


# The dictionary.

cdef inline bint may_be(uint64_t slot, uint64_t hash) noexcept nogil:
    return slot >> 32 == hash >> 32


cdef int keep_code(Coder* coder, size_t place, uint64_t hash, uint32_t code) except -1 nogil:
    """Puts a new value's code into its slot; makes the table larger in time."""
    cdef vector[uint64_t] slots
    cdef size_t mask, at, i
    coder.slots[place] = hash >> 32 << 32 | code
    if 2 * <size_t>code < coder.slots.size():
        return 0
    fill_vector(slots, 4 * coder.slots.size(), <uint64_t>EMPTY)
    mask = slots.size() - 1
    for i in range(coder.slots.size()):
        if coder.slots[i] != <uint64_t>EMPTY:
            at = first_place(coder.slots[i] >> 32, mask)
            while slots[at] != <uint64_t>EMPTY:
                at = next_place(at, mask)
            slots[at] = coder.slots[i]
    coder.slots.swap(slots)
    return 0


cdef uint32_t code_number(Coder* coder, int64_t value) except 0xFFFFFFFF nogil:
    """Finds or adds a number; returns its place in the order of meeting."""
    cdef uint64_t hash = mix(0, <uint64_t>value)
    cdef size_t mask = coder.slots.size() - 1
    cdef size_t place = first_place(hash >> 32, mask)
    cdef uint32_t code
    while coder.slots[place] != <uint64_t>EMPTY:
        code = <uint32_t>coder.slots[place]
        if may_be(coder.slots[place], hash) and coder.words[code] == value:
            return code
        place = next_place(place, mask)
    code = <uint32_t>coder.words.size()
    coder.words.push_back(value)
    keep_code(coder, place, hash, code)
    return code


cdef uint32_t code_text(
    Coder* coder, const char* text, uint32_t length
) except 0xFFFFFFFF nogil:
    cdef uint64_t hash = hash_bytes(text, length)
    cdef size_t mask = coder.slots.size() - 1
    cdef size_t place = first_place(hash >> 32, mask)
    cdef uint32_t code
    cdef int64_t word
    while coder.slots[place] != <uint64_t>EMPTY:
        code = <uint32_t>coder.slots[place]
        word = coder.words[code]
        if may_be(coder.slots[place], hash) and text_length(word) == length and (
            memcmp(coder.bytes.data() + text_offset(word), text, length) == 0
        ):
            return code
        place = next_place(place, mask)
    code = <uint32_t>coder.words.size()
    coder.words.push_back(text_word(<uint32_t>coder.bytes.size(), length))
    coder.bytes.insert(coder.bytes.end(), text, text + length)
    keep_code(coder, place, hash, code)
    return code


cdef uint32_t code_address(Coder* coder, int64_t high, int64_t low) except 0xFFFFFFFF nogil:
    cdef uint64_t hash = mix(<uint64_t>high, <uint64_t>low)
    cdef size_t mask = coder.slots.size() - 1
    cdef size_t place = first_place(hash >> 32, mask)
    cdef uint32_t code
    while coder.slots[place] != <uint64_t>EMPTY:
        code = <uint32_t>coder.slots[place]
        if may_be(coder.slots[place], hash) and (
            coder.words[2 * <size_t>code] == high and coder.words[2 * <size_t>code + 1] == low
        ):
            return code
        place = next_place(place, mask)
    code = <uint32_t>(coder.words.size() // 2)
    coder.words.push_back(high)
    coder.words.push_back(low)
    keep_code(coder, place, hash, code)
    return code


# Columns. Texts and sets go straight from the batch into the dictionary; of other values there are
# fewer, and each is read as any visit's is.

cdef int code_texts(Coder* coder, const Rows* rows) except -1 nogil:
    cdef const ArrowColumn* column = rows.column
    cdef const ArrowColumn* values = column
    cdef vector[uint32_t] known         # codes, by place in the dictionary that Arrow has
    cdef int64_t row = skip_nulls(rows.columns, column, 0, rows.count)
    cdef int64_t index
    cdef Text text
    cdef uint32_t code
    if column.dictionary != NOTHING:
        values = &rows.columns[0][column.dictionary]
        fill_vector(known, <size_t>(values.array.offset + values.array.length), NOTHING)
    while row < rows.count:
        index = locate(rows.columns, column, row)
        if index >= 0 and column.dictionary != NOTHING:
            index = dictionary_index(column, values, index)
            if is_null(values, index):
                index = -1
        if index >= 0:
            code = NOTHING if known.empty() else known[index]
            if code == NOTHING:
                text = read_text(values, index)
                code = code_text(coder, text.start, <uint32_t>text.length)
                if not known.empty():
                    known[index] = code
            coder.rows.push_back(rows.first + <uint32_t>row)
            coder.codes.push_back(code)
        row = skip_nulls(rows.columns, column, row + 1, rows.count)
    return 0


cdef bint is_sound(const Rows* rows, int64_t first, int64_t last, uint8_t type) noexcept nogil:
    """Says whether every element of a list fits its set; one that does not spoils it."""
    cdef const ArrowColumn* elements = &rows.columns[0][rows.column.child]
    cdef const ArrowColumn* values = elements
    cdef int64_t i, at, number = 0
    if elements.dictionary != NOTHING:
        values = &rows.columns[0][elements.dictionary]
    if first < last and not fits_element(values, type):
        return False
    if type == STRING_SET and elements.array.null_count == 0 and values.array.null_count == 0:
        return True
    for i in range(first, last):
        if is_null(elements, i):
            return False
        at = i if values == elements else dictionary_index(elements, values, i)
        if is_null(values, at) or type == INTEGER_SET and not read_whole(values, at, &number):
            return False
    return True


cdef int code_elements(Coder* coder, const Rows* rows, int64_t first, int64_t last) except -1 nogil:
    """Codes the elements of one list, each once."""
    cdef const ArrowColumn* elements = &rows.columns[0][rows.column.child]
    cdef const ArrowColumn* values = elements
    cdef size_t before = coder.codes.size()
    cdef int64_t i, at, number = 0
    cdef Text text
    if elements.dictionary != NOTHING:
        values = &rows.columns[0][elements.dictionary]
    for i in range(first, last):
        at = i if values == elements else dictionary_index(elements, values, i)
        if coder.type == STRING_SET:
            text = read_text(values, at)
            coder.codes.push_back(code_text(coder, text.start, <uint32_t>text.length))
        else:
            read_whole(values, at, &number)
            coder.codes.push_back(code_number(coder, number))
    coder.codes.resize(<size_t>(keep_distinct(
        coder.codes.data() + before, coder.codes.data() + coder.codes.size()
    ) - coder.codes.data()))
    return 0


cdef int code_sets(Coder* coder, const Rows* rows, int64_t* malformed) except -1 nogil:
    cdef int64_t row = skip_nulls(rows.columns, rows.column, 0, rows.count)
    cdef int64_t index, first = 0, last = 0
    while row < rows.count:
        index = locate(rows.columns, rows.column, row)
        if index >= 0:
            find_elements(rows.columns, rows.column, index, &first, &last)
            if is_sound(rows, first, last, coder.type):
                code_elements(coder, rows, first, last)
                coder.rows.push_back(rows.first + <uint32_t>row)
                coder.ends.push_back(<uint32_t>coder.codes.size())
            else:
                malformed[0] += 1
        row = skip_nulls(rows.columns, rows.column, row + 1, rows.count)
    return 0


cdef int open_visit(const CatalogTable* catalog, Visit* visit) except -1 nogil:
    visit.values.resize(catalog.attributes.size())
    visit.carried.reserve(1)
    visit.malformed.reserve(1)
    visit.words.reserve(2)
    clear_visit(catalog, visit)
    return 0


cdef int code_value(Coder* coder, const Visit* visit, const Value* value) except -1 nogil:
    if coder.type == IP:
        coder.codes.push_back(code_address(
            coder, visit.words[value.first], visit.words[value.first + 1]
        ))
    elif coder.type == GEO:
        coder.points.push_back(float_of(visit.words[value.first]))
        coder.points.push_back(float_of(visit.words[value.first + 1]))
    elif coder.type == FLOAT:
        coder.codes.push_back(code_number(coder, order_float(value.word)))
    else:
        coder.codes.push_back(code_number(coder, value.word))
    return 0


cdef int code_cells(Coder* coder, const Rows* rows, int64_t* malformed) except -1 nogil:
    cdef uint32_t attribute = rows.column.attribute
    cdef int64_t row = skip_nulls(rows.columns, rows.column, 0, rows.count)
    while row < rows.count:
        read_cell(rows.catalog, rows.columns, rows.column, row, rows.visit)
        malformed[0] += <int64_t>rows.visit.malformed.size()
        if rows.visit.values[attribute].known:
            coder.rows.push_back(rows.first + <uint32_t>row)
            code_value(coder, rows.visit, &rows.visit.values[attribute])
        clear_visit(rows.catalog, rows.visit)
        row = skip_nulls(rows.columns, rows.column, row + 1, rows.count)
    return 0


cdef int code_column(Coder* coder, const Rows* rows, int64_t* malformed) except -1 nogil:
    cdef const ArrowColumn* values = rows.column
    if values.dictionary != NOTHING:
        values = &rows.columns[0][values.dictionary]
    if coder.type == STRING and is_text(values):
        return code_texts(coder, rows)
    if (coder.type == STRING_SET or coder.type == INTEGER_SET) and (
        rows.column.child != NOTHING and rows.column.layout != STRUCTURE
    ):
        return code_sets(coder, rows, malformed)
    return code_cells(coder, rows, malformed)


# Derived columns, and the order of values.

cdef int code_minutes(
    const Coder* times, const Coder* offsets, bint is_local, Coder* minutes
) except -1 nogil:
    """Codes the minutes of times. A local time without the offset of its clock has none."""
    cdef size_t i, at = 0
    cdef int64_t offset = 0
    open_coder(minutes, INTEGER)
    for i in range(times.rows.size()):
        if is_local:
            while at < offsets.rows.size() and offsets.rows[at] < times.rows[i]:
                at += 1
            if at == offsets.rows.size() or offsets.rows[at] != times.rows[i]:
                continue
            offset = offsets.words[offsets.codes[at]]
        minutes.rows.push_back(times.rows[i])
        minutes.codes.push_back(
            code_number(minutes, minute_of_week(times.words[times.codes[i]], offset))
        )
    return 0


cdef int code_sizes(const Coder* sets, Coder* sizes) except -1 nogil:
    cdef size_t i
    cdef uint32_t before = 0
    open_coder(sizes, INTEGER)
    for i in range(sets.rows.size()):
        sizes.rows.push_back(sets.rows[i])
        sizes.codes.push_back(code_number(sizes, <int64_t>(sets.ends[i] - before)))
        before = sets.ends[i]
    return 0


cdef int sort_values(Coder* coder) except -1 nogil:
    cdef uint32_t count = count_values(coder)
    cdef vector[uint32_t] places, ranks
    cdef vector[int64_t] sorted
    cdef uint32_t i, word
    cdef size_t k
    places.resize(count)
    ranks.resize(count)
    sorted.reserve(coder.words.size())
    for i in range(count):
        places[i] = i
    order_values(
        places.data(), places.data() + count, coder.words.data(), coder.bytes.data(),
        2 if coder.width == 2 else coder.type == STRING or coder.type == STRING_SET,
    )
    for i in range(count):
        ranks[places[i]] = i
        for word in range(coder.width):
            sorted.push_back(coder.words[coder.width * <size_t>places[i] + word])
    coder.words.swap(sorted)
    for k in range(coder.codes.size()):
        coder.codes[k] = ranks[coder.codes[k]]
    return 0
