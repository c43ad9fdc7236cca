"""Bid requests (OpenRTB 2.6), read straight into one visit per impression (bid_requests.pxd)."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcmp
from libc.time cimport gmtime_r, time_t, tm
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.arena cimport BOOLEAN, INTEGER_SET, NOTHING, STRING_SET
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.consent_strings cimport Consent, is_allowed, read_consent
from matcher_ext.json_tape cimport (
    FALSE_WORD, FRACTION, LIST, NULL_WORD, OBJECT, TRUE_WORD, WHOLE, Text, Token, is_number,
    is_text, read_fraction, read_whole, text_of,
)
from matcher_ext.json_visits cimport MOST_ELEMENTS, read_json_value, set_position
from matcher_ext.visit cimport (
    add_integer, add_text, begin_set, end_set, read_whole_double, set_boolean, set_float,
    set_integer, set_malformed, set_text,
)

READERS = {
    "named numbers": NAMED_NUMBERS, "address": ADDRESS, "language": LANGUAGE, "lowered": LOWERED,
    "segments": SEGMENTS, "channel": CHANNEL, "media types": MEDIA_TYPES, "sizes": SIZES,
    "floor": FLOOR, "flag": FLAG, "video start": VIDEO_START, "browser": BROWSER,
    "country": COUNTRY, "location": LOCATION, "age": AGE, "consent": CONSENT,
    "purposes": PURPOSES, "vendors": VENDORS, "sellers": SELLERS, "chain length": CHAIN_LENGTH,
    "plain": PLAIN,
}

cdef enum:
    FURTHEST_METRES = 5_000
    FIRST_YEAR = 1_900

cdef struct Sign:
    const char* mark
    const char* name

cdef Sign[8] AGENTS = [
    Sign(b"Edg", b"edge"), Sign(b"OPR/", b"opera"), Sign(b"SamsungBrowser/", b"samsung_internet"),
    Sign(b"Firefox/", b"firefox"), Sign(b"FxiOS/", b"firefox"), Sign(b"Chrome/", b"chrome"),
    Sign(b"CriOS/", b"chrome"), Sign(b"Safari/", b"safari"),
]
cdef Sign[3] BRANDS = [
    Sign(b"google chrome", b"chrome"), Sign(b"microsoft edge", b"edge"),
    Sign(b"samsung internet", b"samsung_internet"),
]
cdef Sign[3] CHANNELS = [Sign(b"site", b"web"), Sign(b"app", b"app"), Sign(b"dooh", b"dooh")]
cdef vector[string] MEDIA = [b"banner", b"video", b"audio", b"native"]


cdef class BidReader:
    def __init__(
        self, CompiledCatalog catalog not None, sources, dict countries not None, name_country,
        deprecated, stamped,
    ):
        """`sources` are (attribute, reader, paths, names of numbers); those of the attributes that
        are stamped anyway are left out."""
        cdef Source source
        self.catalog, self.name_country = catalog, name_country
        self.countries = {
            two.encode(): three.encode() for two, three in countries.items()
        }
        for name, reader, paths, numbers in sources:
            if name in stamped:
                continue
            source.attribute = catalog.numbers[name]
            source.reader = READERS[reader]
            source.paths = [[part.encode() for part in path] for path in paths]
            source.keys = [str(key).encode() for key in numbers]
            source.names = [named.encode() for named in numbers.values()]
            self.sources.push_back(source)
        for name in sorted(deprecated):
            if name in catalog.numbers:
                self.deprecated.push_back(<string>name.encode())
                self.deprecated_numbers.push_back(catalog.numbers[name])


cdef bint read_bid_request(
    BidReader reader, const Tape* tape, uint32_t place, BidReading* reading
) except -1:
    cdef uint32_t imps = get(tape, place, b"imp", 3), at
    reading.request = place
    reading.imps.clear()
    if imps == NOTHING or tape.tokens[imps].kind != LIST or not (
        1 <= tape.tokens[imps].length <= MOST_IMPS
    ):
        return False
    at = imps + 1
    while at < tape.tokens[imps].next:
        if tape.tokens[at].kind != OBJECT:
            return False
        reading.imps.push_back(at)
        at = tape.tokens[at].next
    return True


cdef uint32_t count_visits(const Tape* tape, uint32_t place) noexcept nogil:
    cdef uint32_t bid_request = get_object(tape, place, b"bid_request", 11), imps
    if bid_request == NOTHING:
        return 1
    imps = get(tape, bid_request, b"imp", 3)
    if imps == NOTHING or tape.tokens[imps].kind != LIST:
        return 1
    return max(tape.tokens[imps].length, 1)


cdef bint read_impression(
    BidReader reader, const Tape* tape, uint32_t number, BidReading* reading, Visit* visit,
    int64_t moment
) except -1:
    cdef const CatalogTable* table = &reader.catalog.table
    cdef uint32_t imp = reading.imps[number]
    cdef size_t i
    reading.notes.clear()
    reading.imp_id.clear()
    if not add_said(tape, get(tape, imp, b"id", 2), &reading.imp_id, str(number + 1).encode()):
        return False
    for i in range(reader.sources.size()):
        if not read_source(
            reader, table, &reader.sources[i], tape, imp, reading, visit, moment
        ):
            return False
    for i in range(reader.deprecated.size()):
        if is_told(visit, reader.deprecated_numbers[i]):
            reading.notes.push_back(Note(b"deprecated_attribute", reader.deprecated[i].data()))
    if not is_floor_in_dollars(tape, imp):
        reading.notes.push_back(Note(b"floor_not_in_usd", b"imp.floor"))
    return True


cdef bint is_told(const Visit* visit, uint32_t attribute) noexcept nogil:
    """Whether a value was there, of whatever type."""
    cdef size_t i
    if visit.values[attribute].known:
        return True
    for i in range(visit.malformed.size()):
        if visit.malformed[i] == attribute:
            return True
    return False


cdef bint read_source(
    BidReader reader, const CatalogTable* table, const Source* source, const Tape* tape,
    uint32_t imp, BidReading* reading, Visit* visit, int64_t moment
) except -1:
    cdef Reader kind = source.reader
    cdef uint32_t attribute = source.attribute, request = reading.request
    if kind == PLAIN or kind == NAMED_NUMBERS:
        return read_plain(table, source, tape, imp, reading, visit)
    if kind == SEGMENTS:
        return read_segments(table, source, tape, imp, reading, visit)
    if kind == CHANNEL:
        read_channel(table, attribute, tape, request, visit)
    elif kind == MEDIA_TYPES:
        return read_media_types(table, attribute, tape, imp, visit)
    elif kind == SIZES:
        return read_sizes(table, attribute, tape, imp, reading, visit)
    elif kind == FLOOR:
        return read_floor(table, attribute, tape, imp, visit)
    elif kind == LOCATION:
        return read_location(table, attribute, tape, request, visit)
    elif kind == BROWSER:
        return read_browser(table, source, tape, imp, reading, visit)
    elif kind == CONSENT or kind == PURPOSES or kind == VENDORS:
        return read_consents(table, source, tape, imp, reading, visit)
    elif kind == SELLERS or kind == CHAIN_LENGTH:
        return read_chain(table, source, tape, imp, reading, visit)
    else:
        return read_first(reader, table, source, tape, imp, reading, visit, moment)
    return True


# Where values stand.


cdef uint32_t get(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil:
    """The member of an object, the last of this name, or NOTHING."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at = place + 1, found = NOTHING, member
    cdef Text said
    for member in range(tokens[place].length):
        said = text_of(tape, &tokens[at])
        if said.length == length and memcmp(said.bytes, name, length) == 0:
            found = at + 1
        at = tokens[at + 1].next
    return found


cdef uint32_t get_said(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil:
    """The same; what is null is NOTHING."""
    cdef uint32_t found = get(tape, place, name, length)
    if found != NOTHING and tape.tokens[found].kind == NULL_WORD:
        return NOTHING
    return found


cdef uint32_t get_object(
    const Tape* tape, uint32_t place, const char* name, size_t length
) noexcept nogil:
    cdef uint32_t found = get(tape, place, name, length)
    if found == NOTHING or tape.tokens[found].kind != OBJECT:
        return NOTHING
    return found


cdef void walk(
    const Tape* tape, uint32_t place, const vector[string]* path, size_t step,
    vector[uint32_t]* found
) noexcept nogil:
    """The values at the end of a path, through lists. What OpenRTB 2.6 moved out of `ext` may
    still be sent there."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at, below, extended
    if tokens[place].kind == LIST:
        at = place + 1
        while at < tokens[place].next:
            if tokens[at].kind != LIST:
                walk(tape, at, path, step, found)
            at = tokens[at].next
    elif step == path.size():
        if tokens[place].kind != NULL_WORD:
            found.push_back(place)
    elif tokens[place].kind == OBJECT:
        below = get_said(tape, place, path[0][step].data(), path[0][step].size())
        if below == NOTHING:
            extended = get_object(tape, place, b"ext", 3)
            if extended != NOTHING:
                below = get_said(tape, extended, path[0][step].data(), path[0][step].size())
        if below != NOTHING:
            walk(tape, below, path, step + 1, found)


cdef void walk_request(
    const Tape* tape, uint32_t imp, const BidReading* reading, const vector[string]* path,
    vector[uint32_t]* found
) noexcept nogil:
    """From the request on, which has this one impression."""
    if path[0][0] == <const char*>b"imp":
        walk(tape, imp, path, 1, found)
    else:
        walk(tape, reading.request, path, 0, found)


cdef uint32_t find_first(
    const Source* source, const Tape* tape, uint32_t imp, BidReading* reading
) noexcept nogil:
    """Of several paths, the best first."""
    cdef size_t i
    for i in range(source.paths.size()):
        reading.found.clear()
        walk_request(tape, imp, reading, &source.paths[i], &reading.found)
        if reading.found.size():
            return reading.found[0]
    return NOTHING


# What they are as text and as a truth.


cdef bint add_said(
    const Tape* tape, uint32_t place, string* text, bytes absent
) except -1:
    """A value as Python's str() writes it. False where only Python knows how."""
    cdef const Token* token
    cdef Text said
    if place == NOTHING:
        text.append(<string>absent)
        return True
    token = &tape.tokens[place]
    if is_text(token):
        said = text_of(tape, token)
        text.append(said.bytes, said.length)
        return True
    if token.kind == NULL_WORD:
        text.append(b"None")
        return True
    return add_whole(tape, token, text)


cdef bint add_whole(const Tape* tape, const Token* token, string* text) except -1:
    cdef const char* digits = tape.text + token.at
    if token.kind != WHOLE or (digits[0] == b"-" and digits[1] == b"0"):
        return False
    text.append(digits, token.length)
    return True


cdef bint is_truthy(const Tape* tape, const Token* token) except -1:
    cdef uint32_t i
    if token.kind == WHOLE:
        for i in range(token.length):
            if c"1" <= tape.text[token.at + i] <= c"9":
                return True
        return False
    if token.kind == FRACTION:
        return read_fraction(tape, token) != 0
    return token.kind == TRUE_WORD or (token.kind not in (FALSE_WORD, NULL_WORD) and token.length > 0)


cdef bint is_said(const Tape* tape, const Token* token, const char* wanted, size_t length) noexcept nogil:
    cdef Text said
    if not is_text(token):
        return False
    said = text_of(tape, token)
    return said.length == length and memcmp(said.bytes, wanted, length) == 0


cdef bint is_ascii(Text text) noexcept nogil:
    cdef size_t i
    cdef char bits = 0
    for i in range(text.length):
        bits |= text.bytes[i]
    return bits >= 0


cdef int set_lowered(string* target, Text text) except -1:
    cdef Py_ssize_t length = 0
    cdef const char* lowered
    cdef size_t i
    cdef char letter
    target.clear()
    if is_ascii(text):
        for i in range(text.length):
            letter = text.bytes[i]
            target.push_back(letter + 32 if c"A" <= letter <= c"Z" else letter)
        return 0
    said = PyUnicode_DecodeUTF8(text.bytes, text.length, NULL).lower()
    lowered = PyUnicode_AsUTF8AndSize(said, &length)
    target.assign(lowered, length)
    return 0


# Attributes whose values stand there as they are.


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


cdef bint is_bit(const Tape* tape, const Token* token) except -1:
    cdef int64_t whole = 0
    cdef double fraction
    if token.kind == WHOLE:
        return read_whole(tape, token, &whole) and (whole == 0 or whole == 1)
    fraction = read_fraction(tape, token)
    return fraction == 0 or fraction == 1


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
    """The place of a number or text among those that have names. Keys that are numbers begin with a
    digit, those that are texts do not."""
    cdef Text said
    cdef size_t i
    cdef bint is_digit
    if token.kind != WHOLE and not is_text(token):
        return NOTHING
    said = text_of(tape, token)
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
    """As Python's strip() has it."""
    return letter == 32 or 9 <= letter <= 13 or 28 <= letter <= 31


# Attributes that are the first value of some paths, in another form.


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
    const CatalogTable* table, uint32_t attribute, const Tape* tape, const Token* token, Visit* visit
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


# Attributes that are put together.


cdef void read_channel(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t request, Visit* visit
) noexcept nogil:
    cdef size_t i
    cdef string name
    for i in range(3):
        name = string(CHANNELS[i].mark)
        if get(tape, request, name.data(), name.size()) != NOTHING:
            name = string(CHANNELS[i].name)
            set_text(table, visit, attribute, name.data(), name.size())
            return


cdef bint read_media_types(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t imp, Visit* visit
) except -1:
    cdef size_t i, count = 0
    if table.attributes[attribute].type != STRING_SET:
        return False
    begin_set(visit, attribute)
    for i in range(MEDIA.size()):
        if get(tape, imp, MEDIA[i].data(), MEDIA[i].size()) != NOTHING:
            add_text(visit, attribute, MEDIA[i].data(), MEDIA[i].size())
            count += 1
    if count:
        end_set(table, visit, attribute)
    return True


cdef bint read_sizes(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1:
    cdef uint32_t banner = get_object(tape, imp, b"banner", 6), formats, at
    cdef size_t first = visit.words.size()
    if banner == NOTHING:
        return True
    if table.attributes[attribute].type != STRING_SET:
        return False
    begin_set(visit, attribute)
    formats = get(tape, banner, b"format", 6)
    if formats != NOTHING and tape.tokens[formats].kind == LIST:
        at = formats + 1
        while at < tape.tokens[formats].next:
            if tape.tokens[at].kind == OBJECT and not add_size(
                attribute, tape, at, reading, visit
            ):
                return False
            at = tape.tokens[at].next
    if not add_size(attribute, tape, banner, reading, visit):
        return False
    if visit.words.size() - first > MOST_ELEMENTS:
        return False
    if visit.words.size() > first:
        end_set(table, visit, attribute)
    return True


cdef bint add_size(
    uint32_t attribute, const Tape* tape, uint32_t place, BidReading* reading, Visit* visit
) except -1:
    cdef uint32_t width = get(tape, place, b"w", 1), height = get(tape, place, b"h", 1)
    if width == NOTHING or height == NOTHING or not (
        tape.tokens[width].kind == WHOLE and tape.tokens[height].kind == WHOLE
    ):
        return True
    reading.text.clear()
    if not add_whole(tape, &tape.tokens[width], &reading.text):
        return False
    reading.text.push_back(b"x")
    if not add_whole(tape, &tape.tokens[height], &reading.text):
        return False
    add_text(visit, attribute, reading.text.data(), reading.text.size())
    return True


cdef bint is_floor_in_dollars(const Tape* tape, uint32_t imp) except -1:
    """Without a currency it is; and no floor at all is the same in every currency."""
    cdef uint32_t currency = get_said(tape, imp, b"bidfloorcur", 11)
    cdef uint32_t floor
    if currency == NOTHING or is_said(tape, &tape.tokens[currency], b"USD", 3) or (
        is_said(tape, &tape.tokens[currency], b"usd", 3)
    ):
        return True
    floor = get(tape, imp, b"bidfloor", 8)
    return floor == NOTHING or not is_truthy(tape, &tape.tokens[floor])


cdef bint read_floor(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t imp, Visit* visit
) except -1:
    cdef uint32_t floor
    if not is_floor_in_dollars(tape, imp):
        return True
    floor = get(tape, imp, b"bidfloor", 8)
    if floor == NOTHING:
        set_float(table, visit, attribute, 0.0)
        return True
    return read_json_value(table, visit, attribute, tape, floor)


cdef bint read_location(
    const CatalogTable* table, uint32_t attribute, const Tape* tape, uint32_t request, Visit* visit
) except -1:
    cdef uint32_t device = get_object(tape, request, b"device", 6), place = NOTHING
    cdef uint32_t latitude, longitude, accuracy
    cdef int64_t metres = 0
    if device != NOTHING:
        place = get_object(tape, device, b"geo", 3)
    if place == NOTHING:
        return True
    latitude = get_said(tape, place, b"lat", 3)
    longitude = get_said(tape, place, b"lon", 3)
    if latitude == NOTHING or longitude == NOTHING:
        return True
    accuracy = get(tape, place, b"accuracy", 8)
    if accuracy != NOTHING and tape.tokens[accuracy].kind == WHOLE:
        if not read_whole(tape, &tape.tokens[accuracy], &metres):
            return False
        if metres > FURTHEST_METRES:
            return True
    elif accuracy != NOTHING and tape.tokens[accuracy].kind == FRACTION:
        if read_fraction(tape, &tape.tokens[accuracy]) > FURTHEST_METRES:
            return True
    return set_position(table, visit, attribute, tape, latitude, longitude)


cdef bint read_browser(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1:
    """By the brands that the browser says, else by its user agent: the second path."""
    cdef string* name = &reading.text
    cdef const Token* token
    cdef size_t i, k
    reading.found.clear()
    walk_request(tape, imp, reading, &source.paths[0], &reading.found)
    for i in range(reading.found.size()):
        token = &tape.tokens[reading.found[i]]
        if not is_text(token):
            continue
        set_lowered(name, text_of(tape, token))
        if name.compare(0, 3, b"not") == 0 or name[0] == <const char*>b"chromium":
            continue
        for k in range(3):
            if name[0] == BRANDS[k].mark:
                name.assign(BRANDS[k].name)
                break
        set_text(table, visit, source.attribute, name.data(), name.size())
        return True
    reading.found.clear()
    walk_request(tape, imp, reading, &source.paths[1], &reading.found)
    if reading.found.size() and is_text(&tape.tokens[reading.found[0]]):
        set_agent(table, source.attribute, text_of(tape, &tape.tokens[reading.found[0]]), name, visit)
    return True


cdef int set_agent(
    const CatalogTable* table, uint32_t attribute, Text agent, string* text, Visit* visit
) except -1:
    """The first that it names; those who name others as well come first."""
    cdef size_t i
    text.assign(agent.bytes, agent.length)
    for i in range(8):
        if text.find(AGENTS[i].mark) != <size_t>-1:
            text.assign(AGENTS[i].name)
            set_text(table, visit, attribute, text.data(), text.size())
            return 0
    return 0


cdef bint read_segments(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1:
    cdef uint32_t attribute = source.attribute
    cdef size_t first = visit.words.size(), i
    if table.attributes[attribute].type != STRING_SET:
        return False
    reading.found.clear()
    for i in range(source.paths.size()):
        walk_request(tape, imp, reading, &source.paths[i], &reading.found)
    begin_set(visit, attribute)
    for i in range(reading.found.size()):
        if tape.tokens[reading.found[i]].kind == OBJECT and not add_segments(
            attribute, tape, reading.found[i], reading, visit
        ):
            return False
    if visit.words.size() - first > MOST_ELEMENTS:
        return False
    if visit.words.size() > first:
        end_set(table, visit, attribute)
    return True


cdef vector[string] SEGMENT_IDS = [b"segment", b"id"]
cdef vector[string] TAXONOMY = [b"segtax"]


cdef bint add_segments(
    uint32_t attribute, const Tape* tape, uint32_t provider, BidReading* reading, Visit* visit
) except -1:
    """As 'provider:taxonomy:id', or 'provider:id' where the taxonomy is not said."""
    cdef string* text = &reading.text
    cdef size_t prefix, i
    text.clear()
    if not add_provider(tape, provider, text):
        return False
    text.push_back(b":")
    reading.inner.clear()
    walk(tape, provider, &TAXONOMY, 0, &reading.inner)
    if reading.inner.size():
        if not add_said(tape, reading.inner[0], text, b""):
            return False
        text.push_back(b":")
    prefix = text.size()
    reading.inner.clear()
    walk(tape, provider, &SEGMENT_IDS, 0, &reading.inner)
    for i in range(reading.inner.size()):
        text.resize(prefix)
        if not add_said(tape, reading.inner[i], text, b""):
            return False
        add_text(visit, attribute, text.data(), text.size())
    return True


cdef bint add_provider(const Tape* tape, uint32_t provider, string* text) except -1:
    """Its name, or else its id, or else nothing."""
    cdef uint32_t place = get(tape, provider, b"name", 4)
    if place == NOTHING or not is_truthy(tape, &tape.tokens[place]):
        place = get(tape, provider, b"id", 2)
    if place == NOTHING or not is_truthy(tape, &tape.tokens[place]):
        return True
    return add_said(tape, place, text, b"")


cdef bint read_chain(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1:
    cdef uint32_t attribute = source.attribute, place
    cdef size_t i, count = 0
    reading.found.clear()
    walk_request(tape, imp, reading, &source.paths[0], &reading.found)
    if source.reader == CHAIN_LENGTH:
        if reading.found.size():
            set_integer(table, visit, attribute, reading.found.size())
        return True
    if table.attributes[attribute].type != STRING_SET or reading.found.size() > MOST_ELEMENTS:
        return False
    begin_set(visit, attribute)
    for i in range(reading.found.size()):
        place = reading.found[i]
        if tape.tokens[place].kind != OBJECT:
            continue
        count += 1
        reading.text.clear()
        if not add_said(tape, get(tape, place, b"asi", 3), &reading.text, b""):
            return False
        reading.text.push_back(b"/")
        if not add_said(tape, get(tape, place, b"sid", 3), &reading.text, b""):
            return False
        add_text(visit, attribute, reading.text.data(), reading.text.size())
    if count:
        end_set(table, visit, attribute)
    return True


cdef bint read_consents(
    const CatalogTable* table, const Source* source, const Tape* tape, uint32_t imp,
    BidReading* reading, Visit* visit
) except -1:
    cdef uint32_t place = find_first(source, tape, imp, reading), attribute = source.attribute
    cdef Consent consent
    cdef const vector[int64_t]* numbers
    cdef Text text
    cdef size_t i
    if place == NOTHING or not is_text(&tape.tokens[place]):
        return True
    text = text_of(tape, &tape.tokens[place])
    if memchr(text.bytes, b"=", text.length) != NULL:
        return False                    # padded by its sender: Python knows if that is right
    if not read_consent(text.bytes, text.length, source.reader == VENDORS, &reading.consent, &consent):
        return True
    if source.reader == CONSENT:
        set_boolean(table, visit, attribute, is_allowed(&consent))
        return True
    numbers = &consent.vendors if source.reader == VENDORS else &consent.purposes
    if table.attributes[attribute].type != INTEGER_SET or numbers.size() > MOST_ELEMENTS:
        return False
    begin_set(visit, attribute)
    for i in range(numbers.size()):
        add_integer(visit, attribute, numbers[0][i])
    end_set(table, visit, attribute)
    return True
