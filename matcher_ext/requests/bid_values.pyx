"""Attributes whose values stand in a bid request as they are, or nearly so (bid_values.pxd)."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcmp
from libc.time cimport gmtime_r, time_t, tm
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.bid_paths cimport is_ascii, is_bit, is_truthy, set_lowered, walk
from matcher_ext.requests.bid_sources cimport (
    ADDRESS, AGE, COUNTRY, FLAG, LANGUAGE, LOWERED, NAMED_NUMBERS, VIDEO_START, Reader,
)
from matcher_ext.requests.json_tape cimport (
    FRACTION, WHOLE, Text, Token, is_number, is_text, read_fraction, read_whole, text_of,
)
from matcher_ext.requests.json_visits cimport MOST_ELEMENTS, read_json_value
from matcher_ext.values.predicate cimport BOOLEAN, INTEGER_SET, STRING_SET
from matcher_ext.visits.visit cimport (
    add_integer, add_text, begin_set, end_set, read_whole_double, set_boolean, set_integer,
    set_malformed, set_text,
)

cdef enum:
    FIRST_YEAR = 1_900


cdef void walk_request(
    const Tape* tape, uint32_t imp, const BidReading* reading, const vector[string]* path,
    vector[uint32_t]* found
) noexcept nogil:
    """Walks from the request on, which has this one impression."""
    if path[0][0] == <const char*>b"imp":
        walk(tape, imp, path, 1, found)
    else:
        walk(tape, reading.request, path, 0, found)


cdef uint32_t find_first(
    const Source* source, const Tape* tape, uint32_t imp, BidReading* reading
) noexcept nogil:
    """Finds the value of the first path that has one: paths stand best first."""
    cdef size_t i
    for i in range(source.paths.size()):
        reading.found.clear()
        walk_request(tape, imp, reading, &source.paths[i], &reading.found)
        if reading.found.size():
            return reading.found[0]
    return NOTHING


cdef bint read_plain(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1:
    cdef uint8_t type = table.attributes[source.attribute].type
    cdef bint is_set = type == STRING_SET or type == INTEGER_SET
    cdef size_t i
    for i in range(source.paths.size()):
        reading.found.clear()
        walk_request(tape, imp, reading, &source.paths[i], &reading.found)
        if source.reader == NAMED_NUMBERS:
            keep_named(source, tape, &reading.found)
        if source.paths[i].back() == <const char*>b"keywords":
            if reading.found.size():
                return set_keywords(table, source.attribute, tape, &reading.found, visit)
        elif reading.found.size():
            if source.reader == NAMED_NUMBERS:
                return set_names(table, source, tape, &reading.found, is_set, visit)
            if is_set:
                return set_all(table, source.attribute, tape, &reading.found, visit)
            return set_one(table, source.attribute, tape, reading.found[0], visit)
    return True


cdef bint set_one(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t place, Visit* visit
) except -1:
    """Truths may be sent as 0 and 1."""
    cdef const Token* token = &tape.tokens[place]
    if table.attributes[attribute].type == BOOLEAN and is_number(token):
        if is_bit(tape, token):
            set_boolean(table, visit, attribute, is_truthy(tape, token))
            return True
    return read_json_value(table, visit, attribute, tape, place)


cdef bint set_all(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, const vector[uint32_t]* found,
    Visit* visit
) except -1:
    cdef bint textual = table.attributes[attribute].type == STRING_SET
    cdef size_t words = visit.words.size(), i
    cdef const Token* token
    cdef Text text
    cdef int64_t whole = 0
    if found.size() > MOST_ELEMENTS:
        return False
    begin_set(visit, attribute)
    for i in range(found.size()):
        token = &tape.tokens[found[0][i]]
        if textual and is_text(token):
            text = text_of(tape, token)
            add_text(visit, attribute, text.bytes, text.length)
        elif not textual and token.kind == WHOLE:
            if not read_whole(tape, token, &whole):
                return False
            add_integer(visit, attribute, whole)
        elif not textual and token.kind == FRACTION and (
            read_whole_double(read_fraction(tape, token), &whole)
        ):
            add_integer(visit, attribute, whole)
        else:
            visit.words.resize(words)
            set_malformed(visit, attribute)
            return True
    end_set(table, visit, attribute)
    return True


cdef void keep_named(
    const Source* source, const Tape* tape, vector[uint32_t]* found
) noexcept nogil:
    cdef size_t i, kept = 0
    for i in range(found.size()):
        if find_name(source, tape, &tape.tokens[found[0][i]]) != NOTHING:
            found[0][kept] = found[0][i]
            kept += 1
    found.resize(kept)


cdef uint32_t find_name(const Source* source, const Tape* tape, const Token* token) noexcept nogil:
    """Finds the place of a number or text among those that have names. Keys that are numbers begin
    with a digit, those that are texts do not."""
    cdef Text said
    cdef size_t i
    cdef bint is_digit
    if token.kind != WHOLE and not is_text(token):
        return NOTHING
    said = text_of(tape, token)
    if token.kind == WHOLE and said.length == 2 and memcmp(said.bytes, b"-0", 2) == 0:
        said = Text(said.bytes + 1, 1)
    for i in range(source.keys.size()):
        is_digit = c"0" <= source.keys[i][0] <= c"9"
        if is_digit == (token.kind == WHOLE) and said.length == source.keys[i].size() and (
            memcmp(said.bytes, source.keys[i].data(), said.length) == 0
        ):
            return <uint32_t>i
    return NOTHING


cdef bint set_names(
    const CatalogTable* table, const Source* source, const Tape* tape,
    const vector[uint32_t]* found, bint is_set, Visit* visit
) except -1:
    cdef uint32_t attribute = source.attribute, number
    cdef size_t i
    number = find_name(source, tape, &tape.tokens[found[0][0]])
    if not is_set:
        set_text(
            table, visit, attribute, source.names[number].data(), source.names[number].size()
        )
        return True
    if table.attributes[attribute].type != STRING_SET or found.size() > MOST_ELEMENTS:
        return False
    begin_set(visit, attribute)
    for i in range(found.size()):
        number = find_name(source, tape, &tape.tokens[found[0][i]])
        add_text(visit, attribute, source.names[number].data(), source.names[number].size())
    end_set(table, visit, attribute)
    return True


cdef bint set_keywords(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, const vector[uint32_t]* found,
    Visit* visit
) except -1:
    """Keywords may come as one text with commas. Of others than plain texts Python is asked."""
    cdef Text text
    cdef size_t i
    if table.attributes[attribute].type != STRING_SET:
        return False
    begin_set(visit, attribute)
    for i in range(found.size()):
        if not is_text(&tape.tokens[found[0][i]]):
            return False
        text = text_of(tape, &tape.tokens[found[0][i]])
        if not is_ascii(text):
            return False            # Unicode has more blanks than we know
        add_split(visit, attribute, text)
    if visit.words.size() - visit.values[attribute].first > MOST_ELEMENTS:
        return False
    if visit.words.size() == visit.values[attribute].first:
        return False                # only commas: the next path counts
    end_set(table, visit, attribute)
    return True


cdef void add_split(Visit* visit, uint32_t attribute, Text text) noexcept nogil:
    cdef const char* at = text.bytes
    cdef const char* end = text.bytes + text.length
    cdef const char* comma
    cdef const char* first
    cdef const char* last
    while at <= end:
        comma = <const char*>memchr(at, b",", end - at)
        if comma == NULL:
            comma = end
        first = at
        last = comma
        while first < last and is_blank(first[0]):
            first += 1
        while first < last and is_blank(last[-1]):
            last -= 1
        if first < last:
            add_text(visit, attribute, first, last - first)
        at = comma + 1


cdef inline bint is_blank(char letter) noexcept nogil:
    """Judges as Python's strip() does."""
    return letter == 32 or 9 <= letter <= 13 or 28 <= letter <= 31


cdef bint read_first(
    BidReader reader, const CatalogTable* table, const Source* source, const Tape* tape,
    uint32_t imp, BidReading* reading, Visit* visit, int64_t moment
) except -1:
    cdef uint32_t place = find_first(source, tape, imp, reading)
    cdef uint32_t attribute = source.attribute
    cdef Reader kind = source.reader
    cdef const Token* token
    if kind == FLAG and place == NOTHING:
        set_boolean(table, visit, attribute, False)     # OpenRTB's default
        return True
    if place == NOTHING:
        return True
    token = &tape.tokens[place]
    if kind == VIDEO_START:
        return set_video_start(table, attribute, tape, token, visit)
    if kind == AGE:
        return set_age(table, attribute, tape, token, visit, moment)
    if kind == FLAG:
        if is_number(token) and is_bit(tape, token):
            set_boolean(table, visit, attribute, is_truthy(tape, token))
            return True
        return read_json_value(table, visit, attribute, tape, place)
    if not is_text(token):
        if kind == LANGUAGE or kind == LOWERED:
            return True
        return read_json_value(table, visit, attribute, tape, place)
    return set_form(reader, table, source, text_of(tape, token), reading, visit)


cdef bint set_form(
    BidReader reader, const CatalogTable* table, const Source* source, Text text,
    BidReading* reading, Visit* visit
) except -1:
    cdef const char* end
    cdef size_t i
    if source.reader == ADDRESS:
        end = <const char*>memchr(text.bytes, b"?", text.length)
        set_text(
            table, visit, source.attribute, text.bytes,
            text.length if end == NULL else <size_t>(end - text.bytes),
        )
        return True
    if source.reader == COUNTRY:
        return set_country(reader, table, source.attribute, text, visit)
    set_lowered(&reading.text, text)
    if source.reader == LANGUAGE:
        for i in range(reading.text.size()):
            if reading.text[i] == c"-" or reading.text[i] == c"_":
                reading.text.resize(i)
                break
    set_text(table, visit, source.attribute, reading.text.data(), reading.text.size())
    return True


cdef bint set_country(
    BidReader reader, const CatalogTable* table, uint32_t attribute, Text text, Visit* visit
) except -1:
    cdef char[3] capitals
    cdef size_t i
    cdef Py_ssize_t length = 0
    cdef const char* named
    for i in range(min(text.length, <size_t>3)):
        capitals[i] = text.bytes[i] & <char>0xDF
        if not c"A" <= capitals[i] <= c"Z":
            break
    else:
        if text.length == 3:
            set_text(table, visit, attribute, capitals, 3)
            return True
        if text.length == 2 and capitals[:2] in reader.countries:
            code = <bytes>reader.countries[capitals[:2]]
            set_text(table, visit, attribute, code, 3)
            return True
    country = reader.name_country(PyUnicode_DecodeUTF8(text.bytes, text.length, NULL))
    named = PyUnicode_AsUTF8AndSize(country, &length)
    set_text(table, visit, attribute, named, length)
    return True


cdef bint set_video_start(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, const Token* token,
    Visit* visit,
) except -1:
    cdef int64_t delay = 0
    if token.kind != WHOLE:
        return True
    if not read_whole(tape, token, &delay):
        return False
    if delay == 0:
        set_text(table, visit, attribute, b"pre_roll", 8)
    elif delay == -2:
        set_text(table, visit, attribute, b"post_roll", 9)
    elif delay > -2:
        set_text(table, visit, attribute, b"mid_roll", 8)
    return True


cdef bint set_age(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, const Token* token,
    Visit* visit, int64_t moment
) except -1:
    cdef int64_t born = 0
    cdef time_t seconds = moment // 1000
    cdef tm day
    if token.kind != WHOLE:
        return True
    gmtime_r(&seconds, &day)
    if read_whole(tape, token, &born) and FIRST_YEAR <= born <= day.tm_year + 1900:
        set_integer(table, visit, attribute, day.tm_year + 1900 - born)
    return True
