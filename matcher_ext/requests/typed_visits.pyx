"""Describes visits as the index sees them, by names and typed values: for tests, and for whoever
looks for a reason.

Texts and numbers are themselves, sets are tuples in ascending order, an address is its two halves,
a position latitude and longitude.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.bid_requests cimport read_bid_request, read_impression
from matcher_ext.requests.bid_sources cimport BidReader, BidReading
from matcher_ext.requests.json_requests cimport Asked, read_asked
from matcher_ext.requests.json_tape cimport Tape, read_tape
from matcher_ext.requests.json_visits cimport Reading, Stamps, read_json_visit
from matcher_ext.values.catalog cimport CompiledCatalog
from matcher_ext.values.predicate cimport (
    BOOLEAN, FLOAT, GEO, INTEGER_SET, IP, STRING, STRING_SET, float_of,
)
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.visit cimport Value, Visit, clear_visit


def read_mapping(CompiledCatalog catalog not None, mapping):
    """Describes a flat visit: (values, names of attributes with a value of a wrong type)."""
    cdef Visit visit
    read_visit(catalog, mapping, &visit)
    return describe(catalog, &visit)


def read_request(
    BidReader reader not None, Stamps stamps not None, bytes body not None, int64_t moment,
    bint is_described=True,
):
    """Describes an eligibility request as [(imp's id or None, values, malformed, unknown, notes)],
    without its stamps; None where it is given back. Not `is_described`, it is only read, to be
    timed."""
    cdef CompiledCatalog catalog = reader.catalog
    cdef Tape tape
    cdef Asked asked
    cdef Reading reading
    cdef BidReading bids
    cdef Visit visit
    cdef uint32_t imp
    if not read_tape(&tape, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)) or (
        not read_asked(&tape, 0, &asked)
    ):
        return None
    clear_visit(&catalog.table, &visit)
    if asked.visit != NOTHING:
        if not read_json_visit(&catalog.table, stamps, &tape, asked.visit, &reading, &visit):
            return None
        if not is_described:
            return []
        unknown = {bytes(name).decode() for name in reading.unknown}
        return [(None, *describe(catalog, &visit), unknown, ())]
    if not read_bid_request(reader, &tape, asked.bid_request, &bids):
        return None
    found = []
    for imp in range(bids.imps.size()):
        clear_visit(&catalog.table, &visit)
        if not read_impression(reader, &tape, imp, &bids, &visit, moment):
            return None
        if not is_described:
            continue
        notes = tuple([(note.code.decode(), note.attribute.decode()) for note in bids.notes])
        found.append((bytes(bids.imp_id).decode(), *describe(catalog, &visit), set(), notes))
    return found


def count_tokens(bytes body not None):
    """Counts the tokens of a body's tape; 0 where it has none."""
    cdef Tape tape
    if not read_tape(&tape, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)):
        return 0
    return tape.tokens.size()


cdef tuple describe(CompiledCatalog catalog, const Visit* visit):
    cdef size_t i
    values = {}
    for i in range(visit.carried.size()):
        values[catalog.names[visit.carried[i]]] = value_of(catalog, visit, visit.carried[i])
    return values, {catalog.names[visit.malformed[i]] for i in range(visit.malformed.size())}


cdef object value_of(CompiledCatalog catalog, const Visit* visit, uint32_t attribute):
    cdef uint8_t type = catalog.table.attributes[attribute].type
    cdef const Value* value = &visit.values[attribute]
    words = [visit.words[value.first + i] for i in range(value.count)]
    if type == BOOLEAN:
        return bool(value.word)
    if type == FLOAT:
        return float_of(value.word)
    if type == STRING:
        return text_at(visit, value.word)
    if type == STRING_SET:
        return tuple([text_at(visit, word) for word in words])
    if type == GEO:
        return tuple([float_of(word) for word in words])
    if type == INTEGER_SET or type == IP:
        return tuple(words)
    return value.word


cdef str text_at(const Visit* visit, int64_t word):
    cdef const char* bytes_ = visit.bytes.data() + text_offset(word)
    return bytes_[:text_length(word)].decode()
