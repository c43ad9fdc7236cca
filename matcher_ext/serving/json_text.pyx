"""Pieces of JSON, written behind what is there (json_text.pxd)."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t
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
    """As few digits behind the point as say it, but one."""
    cdef char[4] digits
    cdef int i, length = 4
    cdef uint64_t rest = parts % 10_000
    for i in range(3, -1, -1):
        digits[i] = <char>(c"0" + rest % 10)
        rest //= 10
    while length > 1 and digits[length - 1] == b"0":
        length -= 1
    add_whole(text, parts // 10_000)
    text.push_back(b".")
    text.append(digits, length)


cdef void add_text(string* text, const char* content, size_t length) noexcept nogil:
    text.push_back(b'"')
    if needs_escapes(content, length):
        add_escaped(text, content, length)
    else:
        text.append(content, length)
    text.push_back(b'"')


cdef bint needs_escapes(const char* content, size_t length) noexcept nogil:
    """Without a way out of the loop, so that many characters are looked at in one step."""
    cdef size_t i
    cdef unsigned char character
    cdef int found = 0
    for i in range(length):
        character = <unsigned char>content[i]
        found |= (character < 0x20) | (character == 0x22) | (character == 0x5C)
    return found


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
