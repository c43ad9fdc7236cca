"""Compares numbers, texts, schedules and places (comparisons.pxd)."""
from libc.math cimport asin, cos, fmin, sin, sqrt
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from matcher_ext.values.literals cimport fold, host_length
from matcher_ext.values.ordering cimport find_integer, find_text
from matcher_ext.values.predicate cimport (
    BETWEEN, CONTAINS, ENDS_WITH, EQUAL, IN, LESS, LESS_EQUAL, STARTS_WITH, UNDER, Predicate,
    PredicateView, float_of,
)
from matcher_ext.values.spans cimport compare_text, text_length, text_offset, text_word

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <cstring>
    #include <string_view>
    static inline bool contains_text(const char* text, size_t n, const char* part, size_t m) {
        return std::string_view(text, n).find(std::string_view(part, m)) != std::string_view::npos;
    }
    """
    bint contains_text(const char* text, size_t n, const char* part, size_t m)


cdef enum:
    LONGEST_NAME = 253      # of a host; in a longer text only as much counts as is asked for


cdef bint test_number(
    const Predicate* predicate, const int64_t* words, int64_t value
) noexcept nogil:
    """Tests Booleans, integers and time stamps."""
    cdef const int64_t* found
    if predicate.test == EQUAL:
        return value == words[0]
    if predicate.test == LESS_EQUAL:
        return value <= words[0]
    if predicate.test == BETWEEN:
        return words[0] <= value and value <= words[1]
    if predicate.test == LESS:
        return value < words[0]
    found = find_integer(words, words + predicate.count, value)
    return found != words + predicate.count and found[0] == value


cdef bint test_float(
    const Predicate* predicate, const int64_t* words, double value
) noexcept nogil:
    cdef uint32_t low = 0
    cdef uint32_t high = predicate.count
    cdef uint32_t middle
    if predicate.test == EQUAL:
        return value == float_of(words[0])
    if predicate.test == LESS_EQUAL:
        return value <= float_of(words[0])
    if predicate.test == BETWEEN:
        return float_of(words[0]) <= value and value <= float_of(words[1])
    if predicate.test == LESS:
        return value < float_of(words[0])
    while low < high:
        middle = (low + high) // 2
        if float_of(words[middle]) < value:
            low = middle + 1
        else:
            high = middle
    return low < predicate.count and float_of(words[low]) == value


cdef bint has_text(
    PredicateView view, const Predicate* predicate, const char* pool, int64_t text
) noexcept nogil:
    cdef const int64_t* words = view.words + predicate.first
    cdef const int64_t* end = words + predicate.count
    cdef const int64_t* found = find_text(words, end, view.bytes, text, pool)
    return found != end and compare_text(view.bytes, found[0], pool, text) == 0


cdef bint test_string(
    PredicateView view, const Predicate* predicate, const char* pool, int64_t value
) noexcept nogil:
    cdef uint8_t test = predicate.test
    if test == IN:
        return has_text(view, predicate, pool, value)
    if test == UNDER:
        return test_host(view, predicate, pool + text_offset(value), text_length(value))
    cdef int64_t word = view.words[predicate.first]
    cdef const char* text = pool + text_offset(value)
    cdef size_t n = text_length(value)
    cdef const char* part = view.bytes + text_offset(word)
    cdef size_t m = text_length(word)
    if test == EQUAL:
        return n == m and memcmp(text, part, n) == 0
    if test == STARTS_WITH:
        return n >= m and memcmp(text, part, m) == 0
    if test == ENDS_WITH:
        return n >= m and memcmp(text + n - m, part, m) == 0
    if test == CONTAINS:
        return contains_text(text, n, part, m)
    return test_pattern(text, n, part, m)


cdef size_t next_character(const char* text, size_t n, size_t at) noexcept nogil:
    at += 1
    while at < n and (<uint8_t>text[at] & 0xC0) == 0x80:
        at += 1
    return at


cdef bint test_pattern(
    const char* text, size_t n, const char* pattern, size_t m
) noexcept nogil:
    """Matches `*` with any characters, `?` with one: greedy, goes back only to the last star, O(n
    m)."""
    cdef size_t i = 0
    cdef size_t j = 0
    cdef size_t star = m
    cdef size_t mark = 0
    while i < n:
        if j < m and pattern[j] == c'*':
            star = j
            mark = i
            j += 1
        elif j < m and pattern[j] == c'?':
            i = next_character(text, n, i)
            j += 1
        elif j < m and pattern[j] == text[i]:
            i += 1
            j += 1
        elif star < m:
            mark = next_character(text, n, mark)
            i = mark
            j = star + 1
        else:
            return False
    while j < m and pattern[j] == c'*':
        j += 1
    return j == m


cdef size_t longest_text(PredicateView view, const Predicate* predicate) noexcept nogil:
    cdef size_t longest = 0
    cdef uint32_t i
    for i in range(predicate.count):
        longest = max(longest, <size_t>text_length(view.words[predicate.first + i]))
    return longest


cdef bint test_host(
    PredicateView view, const Predicate* predicate, const char* text, size_t length
) noexcept nogil:
    """Looks up each suffix that begins at a label."""
    cdef vector[char] folded
    cdef size_t i, longest
    length = host_length(text, length)
    if length > LONGEST_NAME:
        longest = longest_text(view, predicate)
        if length > longest + 1:
            text += length - longest - 1    # with the dot before it
            length = longest + 1
    folded.reserve(length)
    for i in range(length):
        folded.push_back(fold(text[i]))
    for i in range(length):
        if (i == 0 or folded[i - 1] == c'.') and has_text(
            view, predicate, folded.data(), text_word(<uint32_t>i, <uint32_t>(length - i))
        ):
            return True
    return False


cdef bint test_schedule(const int64_t* pairs, uint32_t count, int64_t minute) noexcept nogil:
    cdef uint32_t i
    for i in range(0, count, 2):
        if pairs[i] <= minute and minute < pairs[i + 1]:
            return True
    return False


cdef double distance_km(double lat1, double lon1, double lat2, double lon2) noexcept nogil:
    """Measures by haversine on a sphere of 6371.0088 km, step by step as the plain evaluator
    does."""
    cdef double radian = 3.141592653589793 / 180.0
    cdef double a = sin((lat2 - lat1) * radian / 2.0)
    cdef double b = sin((lon2 - lon1) * radian / 2.0)
    cdef double h = a * a + cos(lat1 * radian) * cos(lat2 * radian) * (b * b)
    return 2.0 * 6371.0088 * asin(sqrt(fmin(1.0, h)))


cdef bint is_inside(
    const int64_t* words, uint32_t count, double latitude, double longitude
) noexcept nogil:
    """Counts the edges crossed on the way east: the even-odd rule on the plane of degrees."""
    cdef bint inside = False
    cdef uint32_t i
    cdef double lat1 = float_of(words[count - 2])
    cdef double lon1 = float_of(words[count - 1])
    cdef double lat2, lon2
    for i in range(0, count, 2):
        lat2 = float_of(words[i])
        lon2 = float_of(words[i + 1])
        if (lat1 > latitude) != (lat2 > latitude) and (
            longitude < (lon2 - lon1) * (latitude - lat1) / (lat2 - lat1) + lon1
        ):
            inside = not inside
        lat1 = lat2
        lon1 = lon2
    return inside
