"""Codes values by hash tables, and sorts what it has met (coding.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport order_float
from matcher_ext.machine.hashing cimport hash_bytes
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.literals cimport minute_of_week
from matcher_ext.values.predicate cimport (
    FLOAT, GEO, INTEGER, INTEGER_SET, IP, STRING, STRING_SET, float_of,
)
from matcher_ext.values.spans cimport text_length, text_offset, text_word
from matcher_ext.visits.visit cimport Value, Visit

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
    """
    void order_values(
        uint32_t* first, uint32_t* last, const int64_t* words, const char* bytes, int kind
    )

cdef enum:
    FIRST_SLOTS = 64


cdef void open_coder(Coder* coder, uint8_t type) noexcept nogil:
    coder.type = type
    coder.width = 2 if type == IP else 0 if type == GEO else 1
    coder.slots.assign(FIRST_SLOTS, NOTHING)


cdef inline uint64_t hash_word(int64_t word) noexcept nogil:
    cdef uint64_t value = <uint64_t>word * 0x9E3779B97F4A7C15ULL
    return value ^ value >> 29


cdef uint64_t hash_value(const Coder* coder, uint32_t code) noexcept nogil:
    cdef int64_t word
    if coder.width == 2:
        return hash_word(coder.words[2 * code] ^ hash_word(coder.words[2 * code + 1]))
    word = coder.words[code]
    if coder.type == STRING or coder.type == STRING_SET:
        return hash_bytes(coder.bytes.data() + text_offset(word), text_length(word))
    return hash_word(word)


cdef void keep_code(Coder* coder, size_t place, uint32_t code) noexcept nogil:
    """Puts a new value's code into its slot; makes the table larger in time."""
    cdef size_t mask, at
    cdef uint32_t i
    coder.slots[place] = code
    if 2 * <size_t>code < coder.slots.size():
        return
    coder.slots.assign(4 * coder.slots.size(), NOTHING)
    mask = coder.slots.size() - 1
    for i in range(code + 1):
        at = hash_value(coder, i) & mask
        while coder.slots[at] != NOTHING:
            at = (at + 1) & mask
        coder.slots[at] = i


cdef uint32_t code_number(Coder* coder, int64_t value) noexcept nogil:
    cdef size_t mask = coder.slots.size() - 1
    cdef size_t place = hash_word(value) & mask
    cdef uint32_t code = coder.slots[place]
    while code != NOTHING and coder.words[code] != value:
        place = (place + 1) & mask
        code = coder.slots[place]
    if code == NOTHING:
        code = <uint32_t>coder.words.size()
        coder.words.push_back(value)
        keep_code(coder, place, code)
    return code


cdef uint32_t code_text(Coder* coder, const char* text, uint32_t length) noexcept nogil:
    cdef size_t mask = coder.slots.size() - 1
    cdef size_t place = hash_bytes(text, length) & mask
    cdef uint32_t code = coder.slots[place]
    cdef int64_t word
    while code != NOTHING:
        word = coder.words[code]
        if text_length(word) == length and (
            memcmp(coder.bytes.data() + text_offset(word), text, length) == 0
        ):
            return code
        place = (place + 1) & mask
        code = coder.slots[place]
    code = <uint32_t>coder.words.size()
    coder.words.push_back(text_word(<uint32_t>coder.bytes.size(), length))
    coder.bytes.insert(coder.bytes.end(), text, text + length)
    keep_code(coder, place, code)
    return code


cdef uint32_t code_address(Coder* coder, int64_t high, int64_t low) noexcept nogil:
    cdef size_t mask = coder.slots.size() - 1
    cdef size_t place = hash_word(high ^ hash_word(low)) & mask
    cdef uint32_t code = coder.slots[place]
    while code != NOTHING and (
        coder.words[2 * code] != high or coder.words[2 * code + 1] != low
    ):
        place = (place + 1) & mask
        code = coder.slots[place]
    if code == NOTHING:
        code = <uint32_t>(coder.words.size() // 2)
        coder.words.push_back(high)
        coder.words.push_back(low)
        keep_code(coder, place, code)
    return code


cdef void code_set(Coder* coder, const Visit* visit, const Value* value) noexcept nogil:
    cdef uint32_t i
    cdef int64_t word
    for i in range(value.count):
        word = visit.words[value.first + i]
        if coder.type == STRING_SET:
            coder.codes.push_back(code_text(
                coder, visit.bytes.data() + text_offset(word), text_length(word)
            ))
        else:
            coder.codes.push_back(code_number(coder, word))
    coder.ends.push_back(<uint32_t>coder.codes.size())


cdef void code_value(
    Coder* coder, const Visit* visit, const Value* value, uint32_t row
) noexcept nogil:
    coder.rows.push_back(row)
    if coder.type == STRING:
        coder.codes.push_back(code_text(
            coder, visit.bytes.data() + text_offset(value.word), text_length(value.word)
        ))
    elif coder.type == STRING_SET or coder.type == INTEGER_SET:
        code_set(coder, visit, value)
    elif coder.type == IP:
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


cdef void code_visits(
    Coder* coders, const Visit* visits, int64_t count, uint32_t first, vector[int64_t]* malformed
) noexcept nogil:
    cdef const Visit* visit
    cdef uint32_t attribute
    cdef int64_t row
    cdef size_t i
    for row in range(count):
        visit = &visits[row]
        for i in range(visit.carried.size()):
            attribute = visit.carried[i]
            code_value(
                &coders[attribute], visit, &visit.values[attribute], first + <uint32_t>row
            )
        for i in range(visit.malformed.size()):
            malformed[0][visit.malformed[i]] += 1


cdef void code_minutes(
    const Coder* times, const Coder* offsets, bint is_local, Coder* minutes
) noexcept nogil:
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


cdef void code_sizes(const Coder* sets, Coder* sizes) noexcept nogil:
    cdef size_t i
    cdef uint32_t before = 0
    open_coder(sizes, INTEGER)
    for i in range(sets.rows.size()):
        sizes.rows.push_back(sets.rows[i])
        sizes.codes.push_back(code_number(sizes, <int64_t>(sets.ends[i] - before)))
        before = sets.ends[i]


cdef void sort_values(Coder* coder) noexcept nogil:
    cdef uint32_t count = count_values(coder)
    cdef vector[uint32_t] places, ranks
    cdef vector[int64_t] sorted
    cdef uint32_t i, word
    cdef size_t k
    places.resize(count)
    ranks.resize(count)
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
