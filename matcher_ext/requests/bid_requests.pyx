"""Reads bid requests (OpenRTB 2.6) straight into one visit per impression (bid_requests.pxd)."""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.bid_forms cimport (
    is_floor_in_dollars, read_browser, read_chain, read_channel, read_consents, read_floor,
    read_location, read_media_types, read_segments, read_sizes,
)
from matcher_ext.requests.bid_paths cimport add_said, get, get_object
from matcher_ext.requests.bid_sources cimport (
    BROWSER, CHAIN_LENGTH, CHANNEL, CONSENT, FLOOR, LOCATION, MEDIA_TYPES, NAMED_NUMBERS, PLAIN,
    PURPOSES, SEGMENTS, SELLERS, SIZES, VENDORS, Note, Reader, Source,
)
from matcher_ext.requests.bid_values cimport read_first, read_plain
from matcher_ext.requests.json_tape cimport LIST, OBJECT, Token
from matcher_ext.values.catalog cimport CatalogTable


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
    if tape.tokens[imps].length > 1 and tape.tokens[imps].length * (
        length_of(&tape.tokens[place]) - length_of(&tape.tokens[imps])
    ) > MOST_SHARED:
        return False
    at = imps + 1
    while at < tape.tokens[imps].next:
        if tape.tokens[at].kind != OBJECT:
            return False
        reading.imps.push_back(at)
        at = tape.tokens[at].next
    return True


cdef inline uint32_t length_of(const Token* container) noexcept nogil:
    return container.end - container.at


cdef uint32_t count_visits(const Tape* tape, uint32_t place) noexcept nogil:
    cdef uint32_t bid_request = get_object(tape, place, b"bid_request", 11), imps
    if bid_request == NOTHING:
        return 1
    imps = get(tape, bid_request, b"imp", 3)
    if imps == NOTHING or tape.tokens[imps].kind != LIST:
        return 1
    return min(max(tape.tokens[imps].length, 1), <uint32_t>MOST_COUNTED)


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
    """Tells whether the visit has a value of the attribute, of whatever type."""
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
