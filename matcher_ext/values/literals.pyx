"""Reads numbers, time stamps, weekly schedules and hosts (literals.pxd).

None of them allocates, except a schedule's list of intervals.
"""
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

cdef extern from * nogil:
    """
    #include <charconv>
    // Locale-free, correctly rounded, like Python's float().
    static inline bool read_double(const char* first, const char* last, double* value) {
        std::from_chars_result r = std::from_chars(first, last, *value);
        return r.ec == std::errc() && r.ptr == last;
    }
    """
    bint read_double(const char* first, const char* last, double* value)


cdef bint read_float(const char* text, size_t length, double* value) noexcept nogil:
    return length > 0 and read_double(text, text + length, value) and isfinite(value[0])


cdef bint read_integer(const char* text, size_t length, int64_t* value) noexcept nogil:
    cdef size_t i = 0
    cdef bint negative = length > 0 and text[0] == c'-'
    cdef uint64_t number = 0
    cdef uint64_t limit = 0x7FFFFFFFFFFFFFFFULL + negative
    if negative:
        i = 1
    if i == length:
        return False
    while i < length:
        if not is_digit(text[i]) or number > 922337203685477580ULL:
            return False
        number = number * 10 + <uint64_t>(text[i] - c'0')
        if number > limit:
            return False
        i += 1
    value[0] = <int64_t>(0 - number) if negative else <int64_t>number
    return True


cdef int read_digits(const char* text, size_t count) noexcept nogil:
    """Returns the number that exactly `count` digits make, or -1."""
    cdef int number = 0
    cdef size_t i
    for i in range(count):
        if not is_digit(text[i]):
            return -1
        number = number * 10 + (text[i] - c'0')
    return number


cdef int days_of_month(int year, int month) noexcept nogil:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


cdef int64_t days_since_1970(int64_t year, int64_t month, int64_t day) noexcept nogil:
    """Counts days in the proleptic Gregorian calendar, from March so that leap days come last."""
    year -= month <= 2
    month = month - 3 if month > 2 else month + 9
    cdef int64_t era = year // 400      # year >= 0 here
    cdef int64_t year_of_era = year - era * 400
    cdef int64_t day_of_year = (153 * month + 2) // 5 + day - 1
    return (
        era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100
        + day_of_year - 719468
    )


cdef bint read_timestamp(const char* text, size_t length, int64_t* ms) noexcept nogil:
    if length < 20 or text[4] != c'-' or text[7] != c'-':
        return False
    if text[10] != c'T' and text[10] != c't' and text[10] != c' ':
        return False
    cdef int year = read_digits(text, 4)
    cdef int month = read_digits(text + 5, 2)
    cdef int day = read_digits(text + 8, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > days_of_month(year, month):
        return False
    cdef int64_t seconds = read_clock(text + 11)
    if seconds < 0:
        return False
    cdef size_t at = 19
    cdef int64_t fraction = read_fraction(text, length, &at)
    cdef int64_t offset = 0
    if fraction < 0 or not read_offset(text + at, length - at, &offset):
        return False
    seconds += days_since_1970(year, month, day) * 86400 - offset * 60
    ms[0] = seconds * 1000 + fraction
    return True


cdef int64_t read_clock(const char* text) noexcept nogil:
    """Returns the seconds of the day of an HH:MM:SS (a leap second is allowed), or -1."""
    if text[2] != c':' or text[5] != c':':
        return -1
    cdef int hour = read_digits(text, 2)
    cdef int minute = read_digits(text + 3, 2)
    cdef int second = read_digits(text + 6, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 60:
        return -1
    return hour * 3600 + minute * 60 + second


cdef int64_t read_fraction(const char* text, size_t length, size_t* at) noexcept nogil:
    """Returns the milliseconds of an optional `.digits`, or -1."""
    cdef int64_t ms = 0
    cdef int64_t unit = 100
    if at[0] >= length or text[at[0]] != c'.':
        return 0
    at[0] += 1
    if at[0] >= length or not is_digit(text[at[0]]):
        return -1
    while at[0] < length and is_digit(text[at[0]]):
        ms += unit * (text[at[0]] - c'0')
        unit = unit // 10
        at[0] += 1
    return ms


cdef bint read_offset(const char* text, size_t length, int64_t* minutes) noexcept nogil:
    if length == 1 and (text[0] == c'Z' or text[0] == c'z'):
        return True
    if length != 6 or text[3] != c':' or (text[0] != c'+' and text[0] != c'-'):
        return False
    cdef int hour = read_digits(text + 1, 2)
    cdef int minute = read_digits(text + 4, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return False
    minutes[0] = (hour * 60 + minute) * (-1 if text[0] == c'-' else 1)
    return True


cdef size_t skip_spaces(const char* text, size_t length, size_t at) noexcept nogil:
    while at < length and text[at] == c' ':
        at += 1
    return at


cdef int read_day(const char* text, size_t length) noexcept nogil:
    """Returns the number of a day's name, 0 for Monday; -1 if it is none."""
    cdef const char* names = b"montuewedthufrisatsun"
    cdef int day
    if length < 3:
        return -1
    for day in range(7):
        if (
            fold(text[0]) == names[3 * day]
            and fold(text[1]) == names[3 * day + 1]
            and fold(text[2]) == names[3 * day + 2]
        ):
            return day
    return -1


cdef int read_minutes(const char* text, size_t length) noexcept nogil:
    """Returns the minutes of the day of an HH:MM, 24:00 included; -1 if it is none."""
    if length < 5 or text[2] != c':':
        return -1
    cdef int hour = read_digits(text, 2)
    cdef int minute = read_digits(text + 3, 2)
    if hour < 0 or minute < 0 or minute > 59 or hour * 60 + minute > 1440:
        return -1
    return hour * 60 + minute


cdef bint read_schedule(const char* text, size_t length, vector[int64_t]* pairs) noexcept nogil:
    """Reads entries `days times` by commas; days alone are whole days, times alone are every
    day."""
    cdef vector[pair[int64_t, int64_t]] intervals
    cdef size_t at = 0
    cdef size_t end
    while True:
        end = at
        while end < length and text[end] != c',':
            end += 1
        if not read_entry(text + at, end - at, &intervals):
            return False
        if end == length:
            break
        at = end + 1
    sort(intervals.begin(), intervals.end())
    merge_intervals(&intervals, pairs)
    return True


cdef bint read_entry(
    const char* text, size_t length, vector[pair[int64_t, int64_t]]* intervals
) noexcept nogil:
    cdef size_t at = skip_spaces(text, length, 0)
    cdef int first_day = read_day(text + at, length - at)
    cdef int last_day = first_day
    cdef int begin = 0
    cdef int end = 1440
    if first_day >= 0:
        at += 3
        if at < length and text[at] == c'-':
            last_day = read_day(text + at + 1, length - at - 1)
            at += 4
        if last_day < 0 or (at < length and text[at] != c' '):
            return False
        at = skip_spaces(text, length, at)
        if at == length:
            add_days(intervals, first_day, last_day, begin, end)
            return True
    else:
        first_day = 0
        last_day = 6
    begin = read_minutes(text + at, length - at)
    at += 5
    if begin < 0 or begin == 1440 or at >= length or text[at] != c'-':
        return False
    end = read_minutes(text + at + 1, length - at - 1)
    if end < 0 or end == begin or skip_spaces(text, length, at + 6) != length:
        return False
    add_days(intervals, first_day, last_day, begin, end if end > begin else end + 1440)
    return True


cdef void add_days(
    vector[pair[int64_t, int64_t]]* intervals, int first_day, int last_day, int begin, int end
) noexcept nogil:
    """Adds one interval per day; one that runs past Sunday's midnight goes on on Monday."""
    cdef int day = first_day
    cdef pair[int64_t, int64_t] interval
    while True:
        interval.first = day * 1440 + begin
        interval.second = day * 1440 + end
        if interval.second > MINUTES_OF_WEEK:
            intervals.push_back(pair[int64_t, int64_t](0, interval.second - MINUTES_OF_WEEK))
            interval.second = MINUTES_OF_WEEK
        intervals.push_back(interval)
        if day == last_day:
            return
        day = (day + 1) % 7


cdef void merge_intervals(
    const vector[pair[int64_t, int64_t]]* intervals, vector[int64_t]* pairs
) noexcept nogil:
    cdef size_t base = pairs.size()
    cdef size_t i
    for i in range(intervals.size()):
        if pairs.size() > base and intervals[0][i].first <= pairs.back():
            if intervals[0][i].second > pairs.back():
                pairs[0][pairs.size() - 1] = intervals[0][i].second
        else:
            pairs.push_back(intervals[0][i].first)
            pairs.push_back(intervals[0][i].second)


cdef int64_t minute_of_week(int64_t ms, int64_t offset_minutes) noexcept nogil:
    cdef int64_t minutes = ms // 60000          # C division: towards zero
    if ms < 0 and ms % 60000 != 0:
        minutes -= 1
    # 1970-01-01 was a Thursday; both parts are reduced first so that nothing overflows.
    cdef int64_t minute = minutes % MINUTES_OF_WEEK + offset_minutes % MINUTES_OF_WEEK + 3 * 1440
    minute %= MINUTES_OF_WEEK
    return minute + MINUTES_OF_WEEK if minute < 0 else minute


cdef size_t host_length(const char* text, size_t length) noexcept nogil:
    return length - 1 if length > 0 and text[length - 1] == c'.' else length


cdef bint is_host(const char* text, size_t length) noexcept nogil:
    """Allows labels of letters, digits, `-`, `_` or non-ASCII, none empty, and a trailing dot."""
    cdef size_t i
    cdef char c
    cdef bint empty = True
    length = host_length(text, length)
    for i in range(length):
        c = fold(text[i])
        if c == c'.':
            if empty:
                return False
            empty = True
        elif is_digit(c) or (c >= c'a' and c <= c'z') or c == c'-' or c == c'_' or is_high(c):
            empty = False
        else:
            return False
    return not empty
