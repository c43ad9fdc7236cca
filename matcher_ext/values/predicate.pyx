"""Hashes, compares and copies predicates (predicate.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from matcher_ext.machine.hashing cimport hash_bytes, mix
from matcher_ext.values.spans cimport compare_text, text_length, text_offset, text_word


cdef uint64_t predicate_hash(PredicateView view, const Predicate* predicate) noexcept nogil:
    cdef uint64_t seed = <uint64_t>predicate.attribute << 32 | (
        <uint64_t>predicate.test << 16 | <uint64_t>predicate.negated << 8
    )
    cdef uint64_t value = mix(seed, predicate.count)
    cdef const int64_t* words = view.words + predicate.first
    cdef bint textual = holds_text(predicate.type, predicate.test)
    cdef uint32_t i
    for i in range(predicate.count):
        if textual:
            value = mix(
                value, hash_bytes(view.bytes + text_offset(words[i]), text_length(words[i]))
            )
        else:
            value = mix(value, <uint64_t>words[i])
    return value


cdef bint predicate_equal(
    PredicateView left, const Predicate* a, PredicateView right, const Predicate* b
) noexcept nogil:
    if a.attribute != b.attribute or a.test != b.test or a.negated != b.negated:
        return False
    if a.count != b.count or a.type != b.type:
        return False
    cdef const int64_t* x = left.words + a.first
    cdef const int64_t* y = right.words + b.first
    cdef uint32_t i
    if not holds_text(a.type, a.test):
        return memcmp(x, y, a.count * sizeof(int64_t)) == 0
    for i in range(a.count):
        if compare_text(left.bytes, x[i], right.bytes, y[i]) != 0:
            return False
    return True


cdef uint32_t predicate_copy(
    PredicateView view,
    const Predicate* predicate,
    vector[Predicate]* predicates,
    vector[int64_t]* words,
    vector[char]* bytes,
) noexcept nogil:
    cdef Predicate copy = predicate[0]
    cdef const int64_t* source = view.words + predicate.first
    cdef const char* text
    cdef uint32_t i, offset
    copy.first = <uint32_t>words.size()
    if not holds_text(predicate.type, predicate.test):
        words.insert(words.end(), source, source + predicate.count)
    else:
        for i in range(predicate.count):
            text = view.bytes + text_offset(source[i])
            offset = <uint32_t>bytes.size()
            bytes.insert(bytes.end(), text, text + text_length(source[i]))
            words.push_back(text_word(offset, text_length(source[i])))
    predicates.push_back(copy)
    return <uint32_t>(predicates.size() - 1)
