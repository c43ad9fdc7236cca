"""Attributes that are put together from several values of a bid request (bid_forms.pxd)."""
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memchr
from libcpp.string cimport string
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.bid_paths cimport (
    add_said, add_whole, get, get_object, get_said, is_said, is_truthy, set_lowered, walk,
)
from matcher_ext.requests.bid_sources cimport CHAIN_LENGTH, CONSENT, VENDORS
from matcher_ext.requests.bid_values cimport find_first, walk_request
from matcher_ext.requests.consent_strings cimport Consent, is_allowed, read_consent
from matcher_ext.requests.json_tape cimport (
    FRACTION, LIST, OBJECT, WHOLE, Text, Token, is_text, read_fraction, read_whole, text_of,
)
from matcher_ext.requests.json_visits cimport MOST_ELEMENTS, read_json_value, set_position
from matcher_ext.values.predicate cimport INTEGER_SET, STRING_SET
from matcher_ext.visits.visit cimport (
    add_integer, add_text, begin_set, end_set, set_boolean, set_float, set_integer, set_text,
)

cdef enum:
    FURTHEST_METRES = 5_000

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
    """Takes a floor without a currency for dollars; no floor at all is the same in all."""
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
    """Names the browser by the brands it says, else by its user agent: the second path."""
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
        set_agent(
            table, source.attribute, text_of(tape, &tape.tokens[reading.found[0]]), name, visit
        )
    return True


cdef int set_agent(
    const CatalogTable* table, uint32_t attribute, Text agent, string* text, Visit* visit
) except -1:
    """Sets the first browser of AGENTS that a user agent contains; in AGENTS, browsers that also
    name others come first."""
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
    """Writes 'provider:taxonomy:id', or 'provider:id' where the taxonomy is not said."""
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
    """Writes the provider's name, or else its id, or else nothing."""
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
    if not read_consent(
        text.bytes, text.length, source.reader == VENDORS, &reading.consent, &consent
    ):
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
