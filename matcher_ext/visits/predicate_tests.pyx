"""Tests one predicate on one visit: finds the value, then compares by type (comparisons.pxd)."""
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from matcher_ext.values.addresses cimport Address, in_network
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.literals cimport minute_of_week
from matcher_ext.values.ordering cimport find_integer
from matcher_ext.values.predicate cimport (
    ALL_OF, COUNT_EQUAL, COUNT_LESS_EQUAL, DURING, FALSE, FLOAT, GEO, INTEGER_SET, IP, ONE_OF,
    PRESENT, STRING, STRING_SET, TIMESTAMP_LOCAL, TRUE, UNDEFINED, WITHIN, Predicate, PredicateView,
    Truth, float_of,
)
from matcher_ext.visits.comparisons cimport (
    distance_km, has_text, is_inside, test_float, test_number, test_schedule, test_string,
)
from matcher_ext.visits.visit cimport Value, Visit


cdef Truth test_predicate(
    PredicateView view, const Predicate* predicate, const CatalogTable* table, const Visit* visit
) noexcept nogil:
    cdef const Value* value = &visit.values[predicate.attribute]
    cdef bint answer
    if predicate.test == PRESENT:
        answer = value.known
    elif not value.known:
        return UNDEFINED
    elif predicate.test == DURING and predicate.type == TIMESTAMP_LOCAL and (
        not visit.values[table.utc_offset].known
    ):
        return UNDEFINED
    elif predicate.type == STRING:
        answer = test_string(view, predicate, visit.bytes.data(), value.word)
    elif predicate.type == STRING_SET or predicate.type == INTEGER_SET:
        answer = test_set(view, predicate, visit, value)
    elif predicate.type == IP:
        answer = test_address(view.words + predicate.first, predicate.count, visit, value)
    elif predicate.type == GEO:
        answer = test_point(
            predicate.test, view.words + predicate.first, predicate.count, visit, value
        )
    elif predicate.test == DURING:
        answer = test_schedule(
            view.words + predicate.first, predicate.count,
            minute_of_week(value.word, visit.values[table.utc_offset].word
                           if predicate.type == TIMESTAMP_LOCAL else 0),
        )
    elif predicate.type == FLOAT:
        answer = test_float(predicate, view.words + predicate.first, float_of(value.word))
    else:
        answer = test_number(predicate, view.words + predicate.first, value.word)
    return TRUE if answer != predicate.negated else FALSE


cdef bint test_set(
    PredicateView view, const Predicate* predicate, const Visit* visit, const Value* value
) noexcept nogil:
    cdef uint32_t shared
    if predicate.test == COUNT_EQUAL:
        return <int64_t>value.count == view.words[predicate.first]
    if predicate.test == COUNT_LESS_EQUAL:
        return <int64_t>value.count <= view.words[predicate.first]
    shared = count_shared(view, predicate, visit, value, predicate.test == ONE_OF)
    if predicate.test == ONE_OF:
        return shared > 0
    if predicate.test == ALL_OF:
        return shared == predicate.count
    return value.count > 0 and shared == value.count


cdef uint32_t count_shared(
    PredicateView view, const Predicate* predicate, const Visit* visit, const Value* value,
    bint only_first,
) noexcept nogil:
    """Counts the visit's elements that the predicate lists, by a search for each."""
    cdef const int64_t* words = view.words + predicate.first
    cdef const int64_t* end = words + predicate.count
    cdef const int64_t* found
    cdef uint32_t shared = 0
    cdef uint32_t i
    cdef int64_t element
    for i in range(value.count):
        element = visit.words[value.first + i]
        if predicate.type == STRING_SET:
            shared += has_text(view, predicate, visit.bytes.data(), element)
        else:
            found = find_integer(words, end, element)
            shared += found != end and found[0] == element
        if shared and only_first:
            return shared
    return shared


cdef bint test_address(
    const int64_t* words, uint32_t count, const Visit* visit, const Value* value
) noexcept nogil:
    cdef Address address = Address(
        <uint64_t>visit.words[value.first], <uint64_t>visit.words[value.first + 1]
    )
    cdef uint32_t i
    for i in range(0, count, 3):
        if in_network(
            address, Address(<uint64_t>words[i], <uint64_t>words[i + 1]), words[i + 2]
        ):
            return True
    return False


cdef bint test_point(
    uint8_t test, const int64_t* words, uint32_t count, const Visit* visit, const Value* value
) noexcept nogil:
    cdef double latitude = float_of(visit.words[value.first])
    cdef double longitude = float_of(visit.words[value.first + 1])
    if test == WITHIN:
        return not is_far_north_or_south(latitude, float_of(words[0]), float_of(words[2])) and (
            distance_km(latitude, longitude, float_of(words[0]), float_of(words[1]))
            <= float_of(words[2])
        )
    return is_inside(words, count, latitude, longitude)


cdef inline bint is_far_north_or_south(double lat1, double lat2, double km) noexcept nogil:
    """Says whether latitudes alone are too far apart, by more than the distance's rounding errors:
    most circles are ruled out without a sine."""
    return fabs(lat1 - lat2) * 111.195 > km * 1.000001 + 0.001
