"""The words of RECORDS (plan.pxd): records, the programs in them, and the streams of inner nodes.

    record      target | header | tests .. | entries
    target      the bit that it sets, or NOTHING
    header      words of the tests, 24 bits | RECORD_WIDE | RECORD_ONE | RECORD_MANY | RECORD_NEVER
    entries     RECORD_ONE: its number; RECORD_MANY: the first and how many; otherwise none
    program     a record's header and its tests; a slot is a record without target and entries
    test        narrow: atom, 24 bits | jump, 7 bits | sense
                wide, two words: atom;  jump, 31 bits | sense
    stream      header | two counts, if STREAM_LONG | OR targets .. | first entry and count, if
                STREAM_ENTRIES | records ..

If an atom's truth is the sense, the program goes on `jump` tests further, else with the next one.

Everything that writes, runs, checks or reads back these words does it by the names here.
"""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from * nogil:
    """
    #ifndef TREELINE_RECORD_FORMAT
    #define TREELINE_RECORD_FORMAT
    #include <cstdint>
    enum : uint32_t {
        BEFORE_TESTS = 2,
        RECORD_LENGTH = 0xFFFFFF,
        RECORD_WIDE = 1u << 24,
        RECORD_ENTRY_SHIFT = 25,
        RECORD_ONE = 1u << 25,
        RECORD_MANY = 1u << 26,
        RECORD_NEVER = 1u << 27,
        RECORD_FLAGS_END = 1u << 28,
        STREAM_SHIFT = 14,
        STREAM_COUNT = (1u << 14) - 1,
        STREAM_ENTRIES = 1u << 28,
        STREAM_LONG = 1u << 29,
        ATOM_BITS = 24,
        ATOM_MASK = (1u << 24) - 1,
        JUMP_MAX = 127,
        WIDE_JUMP_MASK = 0x7FFFFFFF,
        SENSE_SHIFT = 31,
    };
    #endif
    """
    enum:
        BEFORE_TESTS        # words of a record before its tests: target and header
        RECORD_LENGTH       # of a header: words of the tests
        RECORD_WIDE         # two words a test
        RECORD_ENTRY_SHIFT  # RECORD_ONE and RECORD_MANY, as a number: the words of the entries
        RECORD_ONE
        RECORD_MANY
        RECORD_NEVER        # a slot that is false
        RECORD_FLAGS_END    # more than any header
        STREAM_SHIFT        # of a stream's header: OR targets below, records above
        STREAM_COUNT        # as many of each as a short header can say
        STREAM_ENTRIES
        STREAM_LONG
        ATOM_BITS
        ATOM_MASK
        JUMP_MAX            # of a narrow test
        WIDE_JUMP_MASK
        SENSE_SHIFT

# Records.

cdef inline uint32_t target_bit(const uint32_t* record) noexcept nogil:
    return record[0]

cdef inline const uint32_t* program_of(const uint32_t* record) noexcept nogil:
    return record + 1

cdef inline uint32_t count_entry_words(uint32_t header) noexcept nogil:
    return header >> RECORD_ENTRY_SHIFT & 3

cdef inline const uint32_t* entries_at(const uint32_t* record) noexcept nogil:
    """Says where a record's entries stand, if its header says that it has any."""
    return record + BEFORE_TESTS + (record[1] & RECORD_LENGTH)

cdef inline const uint32_t* next_record(const uint32_t* record) noexcept nogil:
    return entries_at(record) + count_entry_words(record[1])

cdef inline uint64_t after_record(const uint32_t* records, uint64_t at) noexcept nogil:
    """Steps over the record at a place of RECORDS."""
    return <uint64_t>(next_record(records + at) - records)

cdef struct EntryRange:
    uint32_t first
    uint32_t count

cdef inline EntryRange entries_of(const uint32_t* record) noexcept nogil:
    """Reads a record's entries; their count is 0 if it has none."""
    cdef uint32_t words = count_entry_words(record[1])
    cdef EntryRange entries
    entries.first = entries_at(record)[0] if words else 0
    entries.count = entries_at(record)[1] if words == 2 else words
    return entries

# Programs.

cdef inline uint32_t test_words(const uint32_t* program) noexcept nogil:
    return program[0] & RECORD_LENGTH

cdef inline bint is_wide(const uint32_t* program) noexcept nogil:
    return program[0] & RECORD_WIDE != 0

cdef inline uint32_t count_tests(const uint32_t* program) noexcept nogil:
    return test_words(program) >> 1 if is_wide(program) else test_words(program)

cdef inline const uint32_t* tests_of(const uint32_t* program) noexcept nogil:
    return program + 1

cdef inline uint32_t last_atom(const uint32_t* program) noexcept nogil:
    """Reads the atom of a program's last test; it must have one."""
    cdef uint32_t words = test_words(program)
    if is_wide(program):
        return program[words - 1]
    return narrow_atom(program[words])

# Tests.

cdef inline uint32_t narrow_atom(uint32_t test) noexcept nogil:
    return test & ATOM_MASK

cdef inline uint32_t narrow_jump(uint32_t test) noexcept nogil:
    return test >> ATOM_BITS & JUMP_MAX

cdef inline bint sense_of(uint32_t test) noexcept nogil:
    """Reads the sense of a narrow test, or of a wide one's second word."""
    return test >> SENSE_SHIFT

cdef inline uint32_t narrow_test(uint32_t atom, uint32_t jump, uint32_t sense) noexcept nogil:
    return sense << SENSE_SHIFT | jump << ATOM_BITS | atom

cdef inline bint fits_narrow(uint32_t atom, uint32_t jump) noexcept nogil:
    return atom <= ATOM_MASK and jump <= JUMP_MAX

cdef inline uint32_t wide_jump(uint32_t second) noexcept nogil:
    return second & WIDE_JUMP_MASK

cdef inline uint32_t wide_second(uint32_t jump, uint32_t sense) noexcept nogil:
    """Makes a wide test's second word; the first is the atom."""
    return sense << SENSE_SHIFT | jump

# Streams of inner nodes.

cdef struct StreamParts:        # places in RECORDS
    uint64_t ors
    uint64_t entries            # first and count; 0: none
    uint64_t records
    uint32_t or_count
    uint32_t record_count

cdef inline uint32_t stream_ors(uint32_t header) noexcept nogil:
    return header & STREAM_COUNT

cdef inline uint32_t stream_records(uint32_t header) noexcept nogil:
    return header >> STREAM_SHIFT & STREAM_COUNT

cdef inline StreamParts split_stream(const uint32_t* records, uint64_t at) noexcept nogil:
    """Finds the parts of the stream that begins at a place of RECORDS."""
    cdef uint32_t header = records[at]
    cdef StreamParts parts
    parts.or_count = stream_ors(header)
    parts.record_count = stream_records(header)
    parts.entries = 0
    at += 1
    if header & STREAM_LONG:
        parts.or_count = records[at]
        parts.record_count = records[at + 1]
        at += 2
    parts.ors = at
    at += parts.or_count
    if header & STREAM_ENTRIES:
        parts.entries = at
        at += 2
    parts.records = at
    return parts
