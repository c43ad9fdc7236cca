"""Visits in JSON, read from a tape straight into their typed form (json_visits.pxd)."""
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp, memcpy

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.short_bytes cimport same_bytes
from matcher_ext.requests.json_tape cimport (
    FALSE_WORD, FRACTION, LIST, OBJECT, TRUE_WORD, WHOLE, Token, is_number, is_text, read_fraction,
    read_whole, text_of,
)
from matcher_ext.values.catalog cimport Attribute, find_attribute
from matcher_ext.values.predicate cimport GEO, INTEGER_SET, STRING_SET
from matcher_ext.visits.visit cimport (
    add_integer, add_text, begin_set, end_set, read_whole_double, set_boolean, set_float,
    set_integer, set_malformed, set_point, set_text,
)

cdef enum Seen:
    NOT_SEEN
    WAS_SEEN
    STAMPED

LIMITS = MOST_ATTRIBUTES, MOST_OBJECTS_DEEP, LONGEST_NAME, MOST_ELEMENTS


cdef class Stamps:
    def __init__(self, tuple clocks not None, str place not None):
        self.clocks, self.place = clocks, place
        for name in (*clocks, place):
            self.names.push_back(<string>name.encode())


cdef bint read_json_visit(
    const CatalogTable* table, Stamps stamps, const Tape* tape, uint32_t place, Reading* reading,
    Visit* visit
) except -1:
    cdef uint32_t attribute
    cdef size_t i
    reading.count = reading.objects = reading.last = 0
    if reading.followers.size() != table.attributes.size():
        reading.followers.assign(table.attributes.size(), Followers(0, 0))
    if reading.followers.empty():
        return False
    reading.unknown.clear()
    reading.seen.assign(table.attributes.size(), 0)
    for i in range(stamps.names.size()):
        attribute = find_attribute(table, stamps.names[i].data(), stamps.names[i].size())
        if attribute != NOTHING:
            reading.seen[attribute] = STAMPED
    return read_members(table, stamps, tape, place, 0, 1, reading, visit)


cdef bint read_members(
    const CatalogTable* table, Stamps stamps, const Tape* tape, uint32_t place, size_t prefix,
    uint32_t depth, Reading* reading, Visit* visit
) except -1:
    """Reads the members of an object whose names begin with the first `prefix` bytes of
    reading.name."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t _, at = place + 1
    cdef Text name
    cdef uint32_t attribute
    if tokens[place].length > 2 * MOST_ATTRIBUTES:
        return False                # so that looking for what is there twice stays cheap
    for _ in range(tokens[place].length):
        name = text_of(tape, &tokens[at])
        if name.length + prefix > LONGEST_NAME:
            return False
        if prefix:
            memcpy(reading.name + prefix, name.bytes, name.length)
            name.bytes = <const char*>&reading.name[0]
            name.length += prefix
        attribute = find_next(table, name, reading)
        at += 1
        if attribute == NOTHING and tokens[at].kind == OBJECT:
            reading.objects += 1
            if depth == MOST_OBJECTS_DEEP or name.length == LONGEST_NAME or (
                reading.objects > MOST_ATTRIBUTES or is_twice(tape, place, at - 1)
            ):
                return False
            if not prefix:
                memcpy(reading.name, name.bytes, name.length)
            reading.name[name.length] = b"."
            if not read_members(
                table, stamps, tape, at, name.length + 1, depth + 1, reading, visit
            ):
                return False
        elif not read_leaf(table, stamps, tape, at, name, attribute, reading, visit):
            return False
        at = tokens[at].next
    return True


cdef bint is_twice(const Tape* tape, uint32_t place, uint32_t named) noexcept nogil:
    """Tells whether another member has this one's name: the general decoder takes the last."""
    cdef const Token* tokens = tape.tokens.data()
    cdef Text name = text_of(tape, &tokens[named]), other
    cdef uint32_t _, at = place + 1
    for _ in range(tokens[place].length):
        other = text_of(tape, &tokens[at])
        if at != named and other.length == name.length and (
            memcmp(other.bytes, name.bytes, name.length) == 0
        ):
            return True
        at = tokens[at + 1].next
    return False


cdef inline uint32_t find_next(
    const CatalogTable* table, Text name, Reading* reading
) noexcept nogil:
    """Finds an attribute by its name; compares with likely ones before looking it up."""
    cdef Followers* after = &reading.followers[reading.last]
    cdef uint32_t attribute = after.likely
    if not has_name(table, attribute, name):
        attribute = after.other
        if not has_name(table, attribute, name):
            attribute = find_attribute(table, name.bytes, name.length)
            if attribute == NOTHING:
                return NOTHING
        after.other = after.likely
        after.likely = attribute
    reading.last = attribute
    return attribute


cdef inline bint has_name(
    const CatalogTable* table, uint32_t attribute, Text name
) noexcept nogil:
    cdef const Attribute* likely = &table.attributes[attribute]
    return likely.name.length == name.length and (
        same_bytes(table.bytes.data() + likely.name.offset, name.bytes, name.length)
    )


cdef bint read_leaf(
    const CatalogTable* table, Stamps stamps, const Tape* tape, uint32_t at, Text name,
    uint32_t attribute, Reading* reading, Visit* visit
) except -1:
    cdef const Token* token = &tape.tokens[at]
    reading.count += 1
    if reading.count > MOST_ATTRIBUTES or (token.kind == LIST and token.length > MOST_ELEMENTS):
        return False
    if attribute == NOTHING:
        if not is_stamped(stamps, name):
            reading.unknown.push_back(string(name.bytes, name.length))
        return True
    if reading.seen[attribute] == STAMPED:
        return True
    if reading.seen[attribute]:
        return False                # a second time: the general decoder takes the last
    reading.seen[attribute] = WAS_SEEN
    return read_json_value(table, visit, attribute, tape, at)


cdef bint is_stamped(Stamps stamps, Text name) except -1:
    cdef size_t i
    for i in range(stamps.names.size()):
        if stamps.names[i].size() == name.length and (
            same_bytes(stamps.names[i].data(), name.bytes, name.length)
        ):
            return True
    return False


cdef int stamp_visit(
    const CatalogTable* table, Stamps stamps, Visit* visit, Text publisher, int64_t moment
) except -1:
    cdef uint32_t attribute
    cdef size_t i, place = stamps.names.size() - 1
    for i in range(stamps.names.size()):
        attribute = find_attribute(table, stamps.names[i].data(), stamps.names[i].size())
        if attribute == NOTHING:
            continue
        if i == place:
            set_text(table, visit, attribute, publisher.bytes, publisher.length)
        else:
            set_integer(table, visit, attribute, moment)
    return 0


cdef bint read_json_value(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape, uint32_t place
) except -1:
    cdef const Token* token = &tape.tokens[place]
    cdef Text text
    cdef int64_t whole = 0
    if is_text(token):
        text = text_of(tape, token)
        set_text(table, visit, attribute, text.bytes, text.length)
    elif token.kind == WHOLE:
        if not read_whole(tape, token, &whole):
            return False
        set_integer(table, visit, attribute, whole)
    elif token.kind == FRACTION:
        set_float(table, visit, attribute, read_fraction(tape, token))
    elif token.kind == TRUE_WORD or token.kind == FALSE_WORD:
        set_boolean(table, visit, attribute, token.kind == TRUE_WORD)
    elif token.kind == LIST or token.kind == OBJECT:
        return read_container(table, visit, attribute, tape, place)
    return True                     # null is missing


cdef bint read_container(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape, uint32_t place
) except -1:
    cdef const Token* token = &tape.tokens[place]
    if table.attributes[attribute].type == GEO:
        return read_position(table, visit, attribute, tape, place)
    if token.kind == LIST and table.attributes[attribute].type == STRING_SET:
        read_texts(table, visit, attribute, tape, place)
        return True
    if token.kind == LIST and table.attributes[attribute].type == INTEGER_SET:
        return read_wholes(table, visit, attribute, tape, place)
    set_malformed(visit, attribute)
    return True


cdef void read_texts(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape, uint32_t place
) noexcept nogil:
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at
    cdef size_t words = visit.words.size()
    cdef Text text
    begin_set(visit, attribute)
    for at in range(place + 1, tokens[place].next):
        if not is_text(&tokens[at]):
            visit.words.resize(words)
            set_malformed(visit, attribute)
            return
        text = text_of(tape, &tokens[at])
        add_text(visit, attribute, text.bytes, text.length)
    end_set(table, visit, attribute)


cdef bint read_wholes(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape, uint32_t place
) except -1:
    """Reads a set of whole numbers, each as a single value is read: 18.0 is 18."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at
    cdef size_t words = visit.words.size()
    cdef int64_t whole = 0
    begin_set(visit, attribute)
    for at in range(place + 1, tokens[place].next):
        if tokens[at].kind == WHOLE:
            if not read_whole(tape, &tokens[at], &whole):
                return False
        elif tokens[at].kind != FRACTION or (
            not read_whole_double(read_fraction(tape, &tokens[at]), &whole)
        ):
            visit.words.resize(words)
            set_malformed(visit, attribute)
            return True
        add_integer(visit, attribute, whole)
    end_set(table, visit, attribute)
    return True


cdef bint read_position(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape, uint32_t place
) except -1:
    """Reads `{"lat": .., "lon": ..}` or `[lat, lon]`; if a name stands there twice, the last one
    counts."""
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t latitude = NOTHING, longitude = NOTHING, _, at = place + 1
    cdef Text name
    if tokens[place].kind == LIST:
        if tokens[place].length == 2:
            latitude = at
            longitude = tokens[at].next
    else:
        for _ in range(tokens[place].length):
            name = text_of(tape, &tokens[at])
            if name.length == 3 and name.bytes[0] == b"l":
                if name.bytes[1] == b"a" and name.bytes[2] == b"t":
                    latitude = at + 1
                elif name.bytes[1] == b"o" and name.bytes[2] == b"n":
                    longitude = at + 1
            at = tokens[at + 1].next
    return set_position(table, visit, attribute, tape, latitude, longitude)


cdef bint set_position(
    const CatalogTable* table, Visit* visit, uint32_t attribute, const Tape* tape,
    uint32_t latitude, uint32_t longitude
) except -1:
    cdef double north, east
    if latitude == NOTHING or longitude == NOTHING or not (
        is_number(&tape.tokens[latitude]) and is_number(&tape.tokens[longitude])
    ):
        set_malformed(visit, attribute)
        return True
    north = read_coordinate(tape, &tape.tokens[latitude])
    east = read_coordinate(tape, &tape.tokens[longitude])
    set_point(table, visit, attribute, north, east)
    return True


cdef double read_coordinate(const Tape* tape, const Token* token) except? -1.0:
    """Reads any number, however large: what is off the globe is found out later."""
    cdef int64_t whole = 0
    if token.kind == FRACTION:
        return read_fraction(tape, token)
    return <double>whole if read_whole(tape, token, &whole) else 1000.0
