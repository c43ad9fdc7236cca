"""Reads both forms of addresses, and networks by their prefix (addresses.pxd)."""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr

from matcher_ext.values.literals cimport fold, is_digit, read_integer


cdef bint read_v4(const char* text, size_t length, uint32_t* address) noexcept nogil:
    cdef uint32_t value = 0
    cdef uint32_t part = 0
    cdef int digits = 0
    cdef int dots = 0
    cdef size_t i
    for i in range(length):
        if is_digit(text[i]):
            if digits > 0 and part == 0:
                return False            # a leading zero: octal to some, decimal to others
            part = part * 10 + <uint32_t>(text[i] - c'0')
            digits += 1
            if part > 255:
                return False
        elif text[i] == c'.' and digits > 0 and dots < 3:
            value = value << 8 | part
            part = 0
            digits = 0
            dots += 1
        else:
            return False
    address[0] = value << 8 | part
    return dots == 3 and digits > 0


cdef int hex_value(char c) noexcept nogil:
    c = fold(c)
    if is_digit(c):
        return c - c'0'
    return c - c'a' + 10 if c >= c'a' and c <= c'f' else -1


cdef bint read_v6(const char* text, size_t length, Address* address) noexcept nogil:
    """Reads groups of hex digits, one optional `::`, an optional v4 tail. A zone is refused."""
    cdef uint16_t groups[8]
    cdef int count = 0
    cdef int gap = -1
    cdef size_t at = 0
    cdef uint32_t tail = 0
    cdef int digits, value
    if length >= 2 and text[0] == c':' and text[1] == c':':
        gap = 0
        at = 2
    elif length > 0 and text[0] == c':':
        return False
    while at < length:
        digits = 0
        value = 0
        if count == 8:
            return False
        if count <= 6 and read_v4(text + at, length - at, &tail):
            groups[count] = <uint16_t>(tail >> 16)
            groups[count + 1] = <uint16_t>tail
            count += 2
            at = length
            break
        while at < length and digits < 5 and hex_value(text[at]) >= 0:
            value = value * 16 + hex_value(text[at])
            digits += 1
            at += 1
        if digits == 0 or digits > 4:
            return False
        groups[count] = <uint16_t>value
        count += 1
        if at == length:
            break
        if text[at] != c':' or at + 1 == length:
            return False
        at += 1
        if text[at] == c':':
            if gap >= 0:
                return False
            gap = count
            at += 1
    return place_groups(groups, count, gap, address)


cdef bint place_groups(
    const uint16_t* groups, int count, int gap, Address* address
) noexcept nogil:
    cdef int missing = 8 - count
    cdef int i, place
    if (missing == 0) != (gap < 0) or missing < 0:
        return False
    address.high = 0
    address.low = 0
    for i in range(count):
        place = i if gap < 0 or i < gap else i + missing
        if place < 4:
            address.high |= <uint64_t>groups[i] << (48 - 16 * place)
        else:
            address.low |= <uint64_t>groups[i] << (48 - 16 * (place - 4))
    return True


cdef bint read_address(const char* text, size_t length, Address* address) noexcept nogil:
    cdef uint32_t v4 = 0
    if length > 45:
        return False
    if read_v4(text, length, &v4):
        address.high = 0
        address.low = 0xFFFF00000000ULL | v4
        return True
    return read_v6(text, length, address)


cdef Reading read_network(
    const char* text, size_t length, Address* address, int64_t* prefix
) noexcept nogil:
    cdef const char* slash = <const char*>memchr(text, c'/', length)
    cdef size_t head = <size_t>(slash - text) if slash != NULL else length
    cdef bint mapped = memchr(text, c':', head) == NULL     # plain v4
    if not read_address(text, head, address):
        return READ_BAD
    prefix[0] = 128
    if slash != NULL:
        if length - head > 4 or text[head + 1] == c'-' or (
            text[head + 1] == c'0' and length - head > 2
        ):
            return READ_BAD
        if not read_integer(slash + 1, length - head - 1, prefix):
            return READ_BAD
        if prefix[0] > (32 if mapped else 128):
            return READ_BAD
        prefix[0] += 96 if mapped else 0
    cdef Address base = masked(address[0], prefix[0])
    if base.high != address.high or base.low != address.low:
        return READ_HOST_BITS
    return READ_OK


cdef Address masked(Address address, int64_t prefix) noexcept nogil:
    if prefix <= 64:
        address.low = 0
        address.high = 0 if prefix == 0 else address.high & (<uint64_t>-1 << (64 - prefix))
    elif prefix < 128:
        address.low &= <uint64_t>-1 << (128 - prefix)
    return address


cdef bint in_network(Address address, Address network, int64_t prefix) noexcept nogil:
    cdef Address base = masked(address, prefix)
    return base.high == network.high and base.low == network.low
