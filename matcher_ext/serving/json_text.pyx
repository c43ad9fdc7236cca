"""Writes pieces of JSON behind what is there (json_text.pxd)."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memcpy
from libcpp.string cimport string

cdef const char* HEXADECIMAL = b"0123456789abcdef"
cdef const char* NAMED_ESCAPES = b"........btn.fr.................."    # by control character


cdef int add_bytes(string* text, bytes more) except -1:
    text.append(PyBytes_AS_STRING(more), PyBytes_GET_SIZE(more))
    return 0


cdef void add_whole(string* text, uint64_t number) noexcept nogil:
    cdef char[20] digits
    cdef int at = 20
    while True:
        at -= 1
        digits[at] = <char>(c"0" + number % 10)
        number //= 10
        if not number:
            text.append(digits + at, 20 - at)
            return


cdef void add_tenths(string* text, uint64_t tenths) noexcept nogil:
    add_whole(text, tenths // 10)
    text.push_back(b".")
    text.push_back(<char>(c"0" + tenths % 10))


cdef void add_ten_thousandths(string* text, uint64_t parts) noexcept nogil:
    """Writes as few digits behind the point as are needed, but at least one."""
    cdef char[25] digits                # 20 before the point, 4 behind it
    cdef uint64_t whole = parts // 10_000, rest = parts % 10_000
    cdef int at, end = 25
    for at in range(24, 20, -1):
        digits[at] = <char>(c"0" + rest % 10)
        rest //= 10
    while end > 22 and digits[end - 1] == b"0":
        end -= 1
    at = 20
    digits[at] = b"."
    while True:
        at -= 1
        digits[at] = <char>(c"0" + whole % 10)
        whole //= 10
        if not whole:
            break
    text.append(digits + at, end - at)


cdef void add_text(string* text, const char* content, size_t length) noexcept nogil:
    text.push_back(b'"')
    if needs_escapes(content, length):
        add_escaped(text, content, length)
    else:
        text.append(content, length)
    text.push_back(b'"')


cdef bint needs_escapes(const char* content, size_t length) noexcept nogil:
    """Looks for special characters, eight at a time; the last eight may overlap those before."""
    cdef uint64_t word, found = 0
    cdef size_t i
    if length < 8:
        for i in range(length):
            found |= is_special(<unsigned char>content[i])
        return found != 0
    for i in range(0, length - 8, 8):
        memcpy(&word, content + i, 8)
        found |= find_special(word)
    memcpy(&word, content + length - 8, 8)
    return (found | find_special(word)) != 0


cdef inline bint is_special(unsigned char character) noexcept nogil:
    return (character < 0x20) | (character == 0x22) | (character == 0x5C)


cdef inline uint64_t find_special(uint64_t word) noexcept nogil:
    """Returns other than 0 if one of eight characters is special: a byte less than n borrows from
    its highest bit when n is subtracted, and a byte that equals n is 0 after being flipped by n."""
    cdef uint64_t quote = word ^ 0x2222222222222222ULL, slash = word ^ 0x5C5C5C5C5C5C5C5CULL
    return 0x8080808080808080ULL & (
        (word - 0x2020202020202020ULL) & ~word
        | (quote - 0x0101010101010101ULL) & ~quote
        | (slash - 0x0101010101010101ULL) & ~slash
    )


cdef void add_escaped(string* text, const char* content, size_t length) noexcept nogil:
    cdef size_t i, plain = 0
    cdef unsigned char character
    for i in range(length):
        character = <unsigned char>content[i]
        if character >= 0x20 and character != b'"' and character != b"\\":
            continue
        text.append(content + plain, i - plain)
        add_escape(text, character)
        plain = i + 1
    text.append(content + plain, length - plain)


cdef void add_escape(string* text, unsigned char character) noexcept nogil:
    text.push_back(b"\\")
    if character >= 0x20:
        text.push_back(<char>character)
    elif NAMED_ESCAPES[character] != b".":
        text.push_back(NAMED_ESCAPES[character])
    else:
        text.append(b"u00", 3)
        text.push_back(HEXADECIMAL[character >> 4])
        text.push_back(HEXADECIMAL[character & 15])
