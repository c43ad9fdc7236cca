"""Reads consent strings of the transparency framework (consent_strings.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memchr
from libcpp.vector cimport vector

cdef enum:
    VERSION = 2
    LONGEST = 20_000
    MOST_VENDORS = 10_000
    PURPOSES_AT = 152
    PURPOSE_COUNT = 24
    VENDORS_AT = 213


cdef struct Bits:
    const uint8_t* content
    size_t count
    bint is_over                # something was read behind the end


cdef bint read_consent(
    const char* text, size_t length, bint wants_vendors, vector[uint8_t]* content, Consent* consent
) noexcept nogil:
    """Reads the core segment alone."""
    cdef const char* end = <const char*>memchr(text, b".", length)
    cdef Bits bits
    if end != NULL:
        length = end - text
    if not length or length > LONGEST or not decode(text, length, content):
        return False
    bits = Bits(content.data(), 8 * content.size(), False)
    if read_bits(&bits, 0, 6) != VERSION:
        return False
    read_flags(&bits, PURPOSES_AT, PURPOSE_COUNT, True, &consent.purposes)
    return read_vendors(&bits, wants_vendors, &consent.vendors) and not bits.is_over


cdef bint is_allowed(const Consent* consent) noexcept nogil:
    cdef uint32_t found = 0
    cdef size_t i
    for i in range(consent.purposes.size()):
        found |= <uint32_t>1 << consent.purposes[i]
    return found & 0b11010 == 0b11010     # store, select personalised ads, make a profile for them


cdef bint decode(const char* text, size_t length, vector[uint8_t]* content) noexcept nogil:
    """Decodes base 64, in both alphabets, without padding."""
    cdef uint32_t word = 0, bits = 0
    cdef int value
    cdef size_t i
    if length % 4 == 1:
        return False
    content.clear()
    for i in range(length):
        value = digit_of(text[i])
        if value < 0:
            return False
        word = (word << 6 | <uint32_t>value) & 0xFFFF
        bits += 6
        if bits >= 8:
            bits -= 8
            content.push_back(<uint8_t>(word >> bits & 0xFF))
    return True


cdef int digit_of(char letter) noexcept nogil:
    if c"A" <= letter <= c"Z":
        return letter - c"A"
    if c"a" <= letter <= c"z":
        return letter - c"a" + 26
    if c"0" <= letter <= c"9":
        return letter - c"0" + 52
    if letter == c"-" or letter == c"+":
        return 62
    return 63 if letter == c"_" or letter == c"/" else -1


cdef uint32_t read_bits(Bits* bits, size_t at, uint32_t width) noexcept nogil:
    cdef uint32_t found = 0
    cdef size_t i
    if at + width > bits.count:
        bits.is_over = True
        return 0
    for i in range(at, at + width):
        found = found << 1 | (bits.content[i >> 3] >> (7 - (i & 7)) & 1)
    return found


cdef void read_flags(
    Bits* bits, size_t at, uint32_t count, bint is_listed, vector[int64_t]* numbers
) noexcept nogil:
    cdef uint32_t i
    numbers.clear()
    if at + count > bits.count:
        bits.is_over = True
        return
    for i in range(count if is_listed else 0):
        if bits.content[(at + i) >> 3] >> (7 - ((at + i) & 7)) & 1:
            numbers.push_back(i + 1)


cdef bint read_vendors(Bits* bits, bint is_listed, vector[int64_t]* vendors) noexcept nogil:
    cdef uint32_t highest = read_bits(bits, VENDORS_AT, 16)
    cdef uint32_t ranges, first, last, number
    cdef int64_t count = 0
    cdef size_t at = VENDORS_AT + 17
    cdef bint has_end
    if not read_bits(bits, VENDORS_AT + 16, 1):
        read_flags(bits, at, highest, is_listed or highest > MOST_VENDORS, vendors)
        return vendors.size() <= MOST_VENDORS
    vendors.clear()
    ranges = read_bits(bits, at, 12)
    at += 12
    for _ in range(ranges):
        has_end = read_bits(bits, at, 1)
        first = read_bits(bits, at + 1, 16)
        last = read_bits(bits, at + 17, 16) if has_end else first
        at += 33 if has_end else 17
        if bits.is_over:
            return False
        count += max(<int64_t>last + 1 - <int64_t>first, 0)
        if count > MOST_VENDORS:
            return False
        if is_listed:
            for number in range(first, last + 1):
                vendors.push_back(number)
    return True
