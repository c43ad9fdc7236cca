"""Storage of trees and normal forms: comparison, hashing and copying of predicates and nodes.

Owns no meaning: what a word stands for is said by arena.pxd.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.vector cimport vector


cdef void clear_tree(Tree* tree) noexcept nogil:
    tree.nodes.clear()
    tree.edges.clear()
    tree.conditions.clear()
    tree.words.clear()
    tree.raw.clear()
    tree.bytes.clear()
    tree.names.clear()
    tree.notes.clear()
    tree.problems.clear()
    tree.root = NOTHING


cdef void clear_form(NormalForm* form) noexcept nogil:
    form.nodes.clear()
    form.edges.clear()
    form.predicates.clear()
    form.words.clear()
    form.bytes.clear()
    form.names.clear()
    form.roots.clear()


cdef PredicateView view_predicates(const NormalForm* form) noexcept nogil:
    cdef PredicateView view
    view.predicates = form.predicates.data()
    view.words = form.words.data()
    view.bytes = form.bytes.data()
    return view


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


cdef bint node_equal(
    const NormalForm* left, uint32_t a, const NormalForm* right, uint32_t b
) noexcept nogil:
    cdef const NormalNode* x = &left.nodes[a]
    cdef const NormalNode* y = &right.nodes[b]
    if x.hash != y.hash or x.kind != y.kind or x.negated != y.negated:
        return False
    if x.kind == NORMAL_TRUE or x.kind == NORMAL_FALSE:
        return True
    if x.kind == NORMAL_PREDICATE:
        return predicate_equal(
            view_predicates(left), &left.predicates[x.first],
            view_predicates(right), &right.predicates[y.first],
        )
    if x.kind == NORMAL_REFERENCE:
        return span_equal(
            left.bytes.data(), left.names[x.first], right.bytes.data(), right.names[y.first]
        )
    return x.count == y.count and children_equal(left, x, right, y)


cdef bint children_equal(
    const NormalForm* left, const NormalNode* x, const NormalForm* right, const NormalNode* y
) noexcept nogil:
    cdef uint32_t i
    for i in range(x.count):
        if not node_equal(left, left.edges[x.first + i], right, right.edges[y.first + i]):
            return False
    return True


cdef bint span_equal(const char* left, Span a, const char* right, Span b) noexcept nogil:
    return a.length == b.length and memcmp(left + a.offset, right + b.offset, a.length) == 0


cdef int compare_text(
    const char* left, int64_t a, const char* right, int64_t b
) noexcept nogil:
    cdef uint32_t m = text_length(a)
    cdef uint32_t n = text_length(b)
    cdef int order = memcmp(left + text_offset(a), right + text_offset(b), min(m, n))
    if order != 0:
        return order
    return (m > n) - (m < n)
