"""Chooses the visits that are logged (choosing.pxd)."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint32_t, uint64_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.values.catalog cimport CatalogTable, find_attribute
from matcher_ext.values.predicate cimport STRING
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.visit cimport Visit

cdef enum:
    USER_LENGTH = 7
cdef const char* USER = b"user.id"
cdef uint64_t MOST = <uint64_t>0xFFFFFFFFFFFFFFFF


cdef bint choose_visit(
    const CatalogTable* table, const Visit* visit, int64_t moment, uint64_t number, uint64_t one_in
) noexcept nogil:
    cdef uint32_t user = find_attribute(table, USER, USER_LENGTH)
    cdef int64_t word
    if user == NOTHING or table.attributes[user].type != STRING or not visit.values[user].known:
        return is_below(hash_moment(moment, number), one_in)
    word = visit.values[user].word
    return is_below(
        hash_text(visit.bytes.data() + text_offset(word), text_length(word)), one_in
    )


def choose(bytes user, int64_t moment, uint64_t number, uint64_t one_in):
    """Chooses as `choose_visit` does, for a visit in another form; `user` is None if it names
    none."""
    if user is None:
        return is_below(hash_moment(moment, number), one_in)
    return is_below(hash_text(PyBytes_AS_STRING(user), PyBytes_GET_SIZE(user)), one_in)


cdef bint is_below(uint64_t hashed, uint64_t one_in) noexcept nogil:
    return one_in != 0 and hashed <= MOST // one_in


cdef uint64_t hash_text(const char* text, size_t length) noexcept nogil:
    """Hashes by FNV-1a, then spreads the bits: its high bits alone would be poor."""
    cdef uint64_t hashed = <uint64_t>0xCBF29CE484222325
    cdef size_t i
    for i in range(length):
        hashed = (hashed ^ <unsigned char>text[i]) * <uint64_t>0x100000001B3
    return spread(hashed)


cdef uint64_t hash_moment(int64_t moment, uint64_t number) noexcept nogil:
    return spread(spread(<uint64_t>moment) ^ number)


cdef uint64_t spread(uint64_t value) noexcept nogil:
    """Spreads every bit of the value into every bit (splitmix64)."""
    value = (value ^ (value >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    value = (value ^ (value >> 27)) * <uint64_t>0x94D049BB133111EB
    return value ^ (value >> 31)
