"""Makes the clues of predicates and of values (clues.pxd): both sides of each kind together."""
from libc.math cimport asin, cos, fabs, floor, sin
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from matcher_ext.machine.hashing cimport hash_bytes, mix
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.literals cimport fold, host_length, minute_of_week
from matcher_ext.values.predicate cimport (
    ALL_OF, COUNT_EQUAL, COUNT_LESS_EQUAL, DURING, ENDS_WITH, GEO, INTEGER_SET, IP, LIKE, ONE_OF,
    ONLY_OF, PRESENT, STARTS_WITH, STRING, STRING_SET, TIMESTAMP_LOCAL, UNDER, WITHIN, Predicate,
    PredicateView, float_of,
)
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.visit cimport Value, Visit

cdef enum:
    MOST_PIECES = 64        # of one text among which the rarest is chosen

cdef struct Literal:        # a part of a pattern without wildcards
    const char* text
    size_t length
    uint32_t shape          # BEGINNING, ENDING or PIECE


cdef void add_clue(vector[Clue]* clues, uint64_t word, uint32_t shape) noexcept nogil:
    cdef Clue made
    made.word = mix(word, shape)
    made.shape = shape
    clues.push_back(made)


cdef inline uint64_t step(uint64_t hash, char byte) noexcept nogil:
    """Hashes byte by byte, so that one pass gives the hashes of all beginnings, or of all ends."""
    return (hash ^ <uint8_t>byte) * 0x100000001B3ULL


# Texts.

cdef uint64_t hash_backwards(const char* text, size_t length) noexcept nogil:
    cdef uint64_t hash = length > 0
    while length:
        length -= 1
        hash = step(hash, text[length])
    return hash


cdef uint64_t hash_forwards(const char* text, size_t length) noexcept nogil:
    cdef uint64_t hash = length > 0
    cdef size_t i
    for i in range(length):
        hash = step(hash, text[i])
    return hash


cdef inline uint64_t piece_at(const char* text, uint32_t size) noexcept nogil:
    cdef uint64_t word = 0
    memcpy(&word, text, size)
    return word


cdef bint list_literal(const Literal* literal, vector[Clue]* clues) noexcept nogil:
    cdef size_t length = min(literal.length, <size_t>LONGEST)
    cdef uint32_t power = 0
    cdef size_t i
    if length and literal.shape == BEGINNING:
        add_clue(clues, hash_forwards(literal.text, length), BEGINNING + <uint32_t>length - 1)
    elif length and literal.shape == ENDING:
        add_clue(
            clues, hash_backwards(literal.text + literal.length - length, length),
            ENDING + <uint32_t>length - 1,
        )
    elif length:
        while power < 3 and <size_t>2 << power <= literal.length:
            power += 1
        for i in range(min(literal.length - (1 << power) + 1, <size_t>MOST_PIECES)):
            add_clue(clues, piece_at(literal.text + i, 1 << power), PIECE + power)
    return True


cdef Literal longest_literal(const char* pattern, size_t length) noexcept nogil:
    """Finds the longest literal of a pattern, of equally long ones the first: a beginning is
    rarest."""
    cdef Literal best, part
    cdef size_t start = 0, i
    best.text = pattern
    best.length = 0
    best.shape = PIECE
    for i in range(length + 1):
        if i < length and pattern[i] != c'*' and pattern[i] != c'?':
            continue
        part.text = pattern + start
        part.length = i - start
        part.shape = BEGINNING if start == 0 else ENDING if i == length else PIECE
        if part.length > best.length:
            best = part
        start = i + 1
    return best


cdef bint list_text_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil:
    cdef Literal literal
    cdef int64_t word
    cdef uint32_t i
    if predicate.test == UNDER:
        for i in range(predicate.count):
            word = view.words[predicate.first + i]
            add_clue(
                clues, hash_backwards(view.bytes + text_offset(word), text_length(word)), HOST
            )
        return False
    word = view.words[predicate.first]
    literal.text = view.bytes + text_offset(word)
    literal.length = text_length(word)
    literal.shape = (
        BEGINNING if predicate.test == STARTS_WITH
        else ENDING if predicate.test == ENDS_WITH
        else PIECE
    )
    if predicate.test == LIKE:
        literal = longest_literal(literal.text, literal.length)
    return list_literal(&literal, clues)


cdef void find_text_clues(
    const char* text, size_t length, const uint64_t* shapes, vector[uint64_t]* clues
) noexcept nogil:
    cdef size_t reach = min(length, <size_t>LONGEST)
    cdef uint64_t hash = 1
    cdef uint32_t power
    cdef size_t i
    if shapes[0]:
        for i in range(reach):
            hash = step(hash, text[i])
            if shapes[0] >> i & 1:
                clues.push_back(mix(hash, BEGINNING + <uint32_t>i))
    if shapes[1]:
        hash = 1
        for i in range(reach):
            hash = step(hash, text[length - 1 - i])
            if shapes[1] >> i & 1:
                clues.push_back(mix(hash, ENDING + <uint32_t>i))
    for power in range(4):
        if has_shape(shapes, PIECE + power) and length >= <size_t>1 << power:
            for i in range(length - (1 << power) + 1):
                clues.push_back(mix(piece_at(text + i, 1 << power), PIECE + power))
    if has_shape(shapes, HOST):
        find_host_clues(text, host_length(text, length), clues)


cdef void find_host_clues(
    const char* text, size_t length, vector[uint64_t]* clues
) noexcept nogil:
    cdef uint64_t hash = 1
    cdef size_t i = length
    while i:
        i -= 1
        hash = step(hash, fold(text[i]))
        if i == 0 or text[i - 1] == c'.':
            clues.push_back(mix(hash, HOST))


# Sets.

cdef inline uint64_t element_word(const char* pool, int64_t word, bint textual) noexcept nogil:
    if textual:
        return hash_bytes(pool + text_offset(word), text_length(word))
    return <uint64_t>word


cdef bint list_set_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil:
    cdef uint32_t shape = ELEMENT if predicate.test == ALL_OF else EVERY_ELEMENT
    cdef bint textual = predicate.type == STRING_SET
    cdef uint32_t i
    if predicate.test == COUNT_EQUAL:
        add_clue(clues, <uint64_t>view.words[predicate.first], SIZE)
    elif predicate.test == ALL_OF or predicate.test == ONLY_OF:
        for i in range(predicate.count):
            add_clue(
                clues, element_word(view.bytes, view.words[predicate.first + i], textual), shape
            )
    return predicate.test == ALL_OF


cdef void find_elements(
    const CatalogTable* table,
    const Visit* visit,
    uint32_t attribute,
    uint32_t shape,
    vector[uint64_t]* clues,
) noexcept nogil:
    cdef bint textual = table.attributes[attribute].type == STRING_SET
    cdef const Value* value = &visit.values[attribute]
    cdef uint32_t i
    for i in range(value.count):
        clues.push_back(mix(
            element_word(visit.bytes.data(), visit.words[value.first + i], textual), shape
        ))


cdef void find_every(
    const CatalogTable* table, const Visit* visit, uint32_t attribute, vector[uint64_t]* clues
) noexcept nogil:
    find_elements(table, visit, attribute, EVERY_ELEMENT, clues)


# Networks.

cdef inline uint64_t cut(uint64_t word, int64_t bits) noexcept nogil:
    """Keeps the first bits of a word."""
    return 0 if bits <= 0 else word if bits >= 64 else word & ~<uint64_t>0 << (64 - bits)


cdef inline uint64_t network_word(uint64_t high, uint64_t low, int64_t prefix) noexcept nogil:
    return mix(cut(high, prefix), cut(low, prefix - 64))


cdef bint list_network_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil:
    cdef const int64_t* words = view.words + predicate.first
    cdef uint32_t i
    for i in range(0, predicate.count, 3):
        add_clue(
            clues, network_word(<uint64_t>words[i], <uint64_t>words[i + 1], words[i + 2]),
            <uint32_t>words[i + 2],
        )
    return False


cdef void find_network_clues(
    const int64_t* address, const uint64_t* shapes, vector[uint64_t]* clues
) noexcept nogil:
    cdef uint32_t prefix
    for prefix in range(129):
        if has_shape(shapes, prefix):
            clues.push_back(mix(
                network_word(<uint64_t>address[0], <uint64_t>address[1], prefix), prefix
            ))


# Places: grids over the plane of degrees, the coarsest with one cell for all of it.

cdef inline int64_t cell_of(double degrees, uint32_t grid) noexcept nogil:
    """Returns a coordinate's cell. It never decreases, whatever is rounded: what lies between two
    places has a cell between theirs."""
    return <int64_t>floor(degrees * (<double>(<int64_t>1 << grid) / 360.0))


cdef inline uint64_t cell_word(int64_t x, int64_t y, uint32_t grid) noexcept nogil:
    """Numbers a cell. Longitudes go round: 180 and -180 are one cell."""
    return <uint64_t>(x & ((<int64_t>1 << grid) - 1)) << 32 | <uint32_t>y


cdef void list_cells(
    double south, double north, double west, double east, vector[Clue]* clues
) noexcept nogil:
    """Lists the cells of a box, in the finest grid whose cells are as wide: two by two at most."""
    cdef double width = max(north - south, east - west)
    cdef uint32_t grid = 0
    cdef int64_t x, y
    while grid + 1 < GRIDS and 360.0 / <double>(<int64_t>2 << grid) >= width:
        grid += 1
    for x in range(cell_of(west + 180.0, grid), cell_of(east + 180.0, grid) + 1):
        for y in range(cell_of(south + 90.0, grid), cell_of(north + 90.0, grid) + 1):
            add_clue(clues, cell_word(x, y, grid), grid)


cdef void list_circle(
    double latitude, double longitude, double km, vector[Clue]* clues
) noexcept nogil:
    """Lists the cells of a box a little larger than the circle, so that no rounding matters."""
    cdef double degree = 3.141592653589793 / 180.0
    cdef double reach = km / 6371.0088 / degree * 1.000001 + 0.000001
    cdef double aside = 180.0
    if fabs(latitude) + reach < 89.9:
        aside = asin(min(1.0, sin(reach * degree) / cos(latitude * degree))) / degree
        aside = aside * 1.000001 + 0.000001
    if aside >= 90.0:
        add_clue(clues, cell_word(0, 0, 0), 0)
        return
    list_cells(
        latitude - reach, latitude + reach, longitude - aside, longitude + aside, clues
    )


cdef bint list_place_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil:
    cdef const int64_t* words = view.words + predicate.first
    cdef double south = 90.0, north = -90.0, west = 180.0, east = -180.0
    cdef uint32_t i
    if predicate.test == WITHIN:
        list_circle(float_of(words[0]), float_of(words[1]), float_of(words[2]), clues)
        return False
    for i in range(0, predicate.count, 2):
        south = min(south, float_of(words[i]))
        north = max(north, float_of(words[i]))
        west = min(west, float_of(words[i + 1]))
        east = max(east, float_of(words[i + 1]))
    list_cells(south - 0.000001, north + 0.000001, west - 0.000001, east + 0.000001, clues)
    return False


cdef void find_place_clues(
    const int64_t* point, const uint64_t* shapes, vector[uint64_t]* clues
) noexcept nogil:
    cdef double latitude = float_of(point[0])
    cdef double longitude = float_of(point[1])
    cdef uint32_t grid
    for grid in range(<uint32_t>GRIDS):
        if has_shape(shapes, grid):
            clues.push_back(mix(
                cell_word(cell_of(longitude + 180.0, grid), cell_of(latitude + 90.0, grid), grid),
                grid,
            ))


# Times of the week.

cdef bint list_week_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil:
    cdef const int64_t* words = view.words + predicate.first
    cdef int64_t width = 0, last = -1, cell
    cdef uint32_t grid = 0, i
    for i in range(0, predicate.count, 2):
        width = max(width, words[i + 1] - words[i])
    while grid + 1 < WEEK_GRIDS and <int64_t>1 << (WEEK_SHIFT + grid) < width:
        grid += 1
    for i in range(0, predicate.count, 2):
        for cell in range(
            max(last + 1, words[i] >> (WEEK_SHIFT + grid)),
            ((words[i + 1] - 1) >> (WEEK_SHIFT + grid)) + 1,
        ):
            add_clue(clues, <uint64_t>cell, grid)
            last = cell
    return False


cdef void find_week_clues(
    int64_t minute, const uint64_t* shapes, vector[uint64_t]* clues
) noexcept nogil:
    cdef uint32_t grid
    for grid in range(<uint32_t>WEEK_GRIDS):
        if has_shape(shapes, grid):
            clues.push_back(mix(<uint64_t>(minute >> (WEEK_SHIFT + grid)), grid))


# All of them.

cdef bint list_clues(
    PredicateView view, const Predicate* predicate, vector[Clue]* clues
) noexcept nogil:
    if predicate.test == PRESENT:
        return False
    if predicate.type == STRING:
        return list_text_clues(view, predicate, clues)
    if predicate.type == STRING_SET or predicate.type == INTEGER_SET:
        return list_set_clues(view, predicate, clues)
    if predicate.type == IP:
        return list_network_clues(view, predicate, clues)
    if predicate.type == GEO:
        return list_place_clues(view, predicate, clues)
    if predicate.test == DURING:
        return list_week_clues(view, predicate, clues)
    return False


cdef bint has_clues(PredicateView view, const Predicate* predicate) noexcept nogil:
    cdef int64_t word
    if predicate.test == LIKE:
        word = view.words[predicate.first]
        return longest_literal(view.bytes + text_offset(word), text_length(word)).length > 0
    return predicate.test == DURING or (
        predicate.test >= STARTS_WITH and predicate.test != ONE_OF
        and predicate.test != COUNT_LESS_EQUAL
    )


cdef void find_clues(
    const CatalogTable* table,
    const Visit* visit,
    uint32_t attribute,
    const uint64_t* shapes,
    vector[uint64_t]* clues,
) noexcept nogil:
    cdef uint8_t type = table.attributes[attribute].type
    cdef const Value* value = &visit.values[attribute]
    cdef int64_t offset = 0
    if type == STRING:
        find_text_clues(
            visit.bytes.data() + text_offset(value.word), text_length(value.word), shapes, clues
        )
    elif type == STRING_SET or type == INTEGER_SET:
        if has_shape(shapes, ELEMENT) or has_shape(shapes, TWO_ELEMENTS):
            find_elements(table, visit, attribute, ELEMENT, clues)
        if has_shape(shapes, SIZE):
            clues.push_back(mix(value.count, SIZE))
    elif type == IP:
        find_network_clues(visit.words.data() + value.first, shapes, clues)
    elif type == GEO:
        find_place_clues(visit.words.data() + value.first, shapes, clues)
    else:
        if type == TIMESTAMP_LOCAL:
            offset = visit.values[table.utc_offset].word
        find_week_clues(minute_of_week(value.word, offset), shapes, clues)
