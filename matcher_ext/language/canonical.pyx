"""Rewrites conditions into the few canonical tests, operands in order (canonical.pxd).

Every rewriting here keeps all three truth values: `a < 5` and `a <= 4` of an integer are both
undefined exactly when it is missing.
"""
from libc.stdint cimport INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr
from libcpp.vector cimport vector

from matcher_ext.values.addresses cimport Address, in_network
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.literals cimport read_schedule
from matcher_ext.values.normal_form cimport NormalForm
from matcher_ext.values.ordering cimport (
    find_text, sort_floats, sort_integers, sort_networks, sort_texts,
)
from matcher_ext.values.predicate cimport (
    ALL_OF, BETWEEN, BOOLEAN, CONTAINS, COUNT_EQUAL, COUNT_LESS_EQUAL, DURING, ENDS_WITH, EQUAL,
    FLOAT, IN, IN_NETWORK, INSIDE, IP, LESS, LESS_EQUAL, LIKE, ONE_OF, ONLY_OF, PRESENT,
    STARTS_WITH, STRING, STRING_SET, UNDER, WITHIN, Predicate,
)
from matcher_ext.values.spans cimport compare_text, text_length, text_offset, text_word
from matcher_ext.values.tree cimport (
    OP_ALL_OF, OP_BARE, OP_BETWEEN, OP_CONTAINS, OP_DURING, OP_ENDS_WITH, OP_EQUAL, OP_GREATER,
    OP_GREATER_EQUAL, OP_IN_NETWORK, OP_INSIDE, OP_IS_EMPTY, OP_IS_MISSING, OP_IS_PRESENT, OP_LESS,
    OP_LIKE, OP_NONE_OF, OP_NOT_EQUAL, OP_ONE_OF, OP_ONLY_OF, OP_STARTS_WITH, OP_UNDER, OP_WITHIN,
    Condition, Tree,
)


cdef uint32_t make_predicate(
    const CatalogTable* table,
    const Tree* tree,
    const Condition* condition,
    bint negated,
    NormalForm* form,
) noexcept nogil:
    cdef Predicate predicate
    predicate.attribute = condition.attribute
    predicate.type = table.attributes[condition.attribute].type
    predicate.negated = negated != condition.negated
    predicate.first = <uint32_t>form.words.size()
    predicate.unused = 0
    if condition.counted:
        make_count(tree, condition, &predicate, form)
    else:
        make_test(tree, condition, &predicate, form)
    predicate.count = <uint32_t>form.words.size() - predicate.first
    form.predicates.push_back(predicate)
    return <uint32_t>(form.predicates.size() - 1)


cdef void make_count(
    const Tree* tree, const Condition* condition, Predicate* predicate, NormalForm* form
) noexcept nogil:
    cdef int64_t number = tree.words[condition.first]
    cdef uint8_t op = condition.op
    if op == OP_NOT_EQUAL or op == OP_GREATER or op == OP_GREATER_EQUAL:
        predicate.negated = not predicate.negated
    if op == OP_LESS or op == OP_GREATER_EQUAL:
        number -= 1                         # never below -1: counts are not negative
    predicate.test = COUNT_LESS_EQUAL
    if op == OP_EQUAL or op == OP_NOT_EQUAL or number == 0:
        predicate.test = COUNT_EQUAL
    form.words.push_back(number)


cdef void make_test(
    const Tree* tree, const Condition* condition, Predicate* predicate, NormalForm* form
) noexcept nogil:
    cdef uint8_t op = condition.op
    if op == OP_BARE:
        predicate.test = EQUAL
        form.words.push_back(1)
    elif op == OP_IS_PRESENT or op == OP_IS_MISSING:
        predicate.test = PRESENT
        if op == OP_IS_MISSING:
            predicate.negated = not predicate.negated
    elif op == OP_IS_EMPTY:
        predicate.test = COUNT_EQUAL
        form.words.push_back(0)
    elif op == OP_DURING:
        predicate.test = DURING
        read_schedule(
            tree.bytes.data() + text_offset(tree.words[condition.first]),
            text_length(tree.words[condition.first]), &form.words,
        )
    elif op == OP_IN_NETWORK or predicate.type == IP:
        predicate.test = IN_NETWORK
        if op == OP_NOT_EQUAL:
            predicate.negated = not predicate.negated
        copy_words(tree, condition, form)
        reduce_networks(form, predicate.first)
    elif op == OP_WITHIN or op == OP_INSIDE:
        predicate.test = WITHIN if op == OP_WITHIN else INSIDE
        copy_words(tree, condition, form)
    elif op >= OP_LESS and op <= OP_BETWEEN:
        make_range(tree, condition, predicate, form)
    elif op == OP_LIKE:
        make_like(tree, tree.words[condition.first], predicate, form)
    else:
        make_membership(tree, condition, predicate, form)


cdef void copy_words(const Tree* tree, const Condition* condition, NormalForm* form) noexcept nogil:
    cdef const int64_t* source = tree.words.data() + condition.first
    form.words.insert(form.words.end(), source, source + condition.count)


cdef void copy_text(const char* text, uint32_t length, NormalForm* form) noexcept nogil:
    cdef uint32_t offset = <uint32_t>form.bytes.size()
    form.bytes.insert(form.bytes.end(), text, text + length)
    form.words.push_back(text_word(offset, length))


cdef void make_range(
    const Tree* tree, const Condition* condition, Predicate* predicate, NormalForm* form
) noexcept nogil:
    """Makes `<` and `>=` LESS and its negation, or of discrete values LESS_EQUAL of one less."""
    cdef uint8_t op = condition.op
    cdef int64_t word = tree.words[condition.first]
    if op == OP_BETWEEN:
        predicate.test = EQUAL if word == tree.words[condition.first + 1] else BETWEEN
        form.words.push_back(word)
        if predicate.test == BETWEEN:
            form.words.push_back(tree.words[condition.first + 1])
        return
    if op == OP_GREATER or op == OP_GREATER_EQUAL:
        predicate.negated = not predicate.negated
    predicate.test = LESS_EQUAL
    if op == OP_LESS or op == OP_GREATER_EQUAL:
        if predicate.type == FLOAT or word == INT64_MIN:
            predicate.test = LESS
        else:
            word -= 1
    form.words.push_back(word)


cdef void make_like(
    const Tree* tree, int64_t word, Predicate* predicate, NormalForm* form
) noexcept nogil:
    """Makes a pattern without inner wildcards the cheaper test that it stands for."""
    cdef const char* text = tree.bytes.data() + text_offset(word)
    cdef uint32_t length = text_length(word)
    cdef bint head = length > 0 and text[0] == c'*'
    cdef bint tail = length > 1 and text[length - 1] == c'*'
    cdef uint32_t inner = length - head - tail
    if inner == 0 or memchr(text + head, c'*', inner) != NULL or (
        memchr(text + head, c'?', inner) != NULL
    ):
        predicate.test = LIKE
        copy_text(text, length, form)
        return
    predicate.test = (
        CONTAINS if head and tail else ENDS_WITH if head else STARTS_WITH if tail else EQUAL
    )
    copy_text(text + head, inner, form)


cdef void make_membership(
    const Tree* tree, const Condition* condition, Predicate* predicate, NormalForm* form
) noexcept nogil:
    """Makes tests of whole values and lists, with ascending and distinct operands."""
    cdef uint8_t op = condition.op
    cdef uint32_t count
    if op == OP_NOT_EQUAL or op == OP_NONE_OF:
        predicate.negated = not predicate.negated
    predicate.test = (
        ONE_OF if op == OP_ONE_OF or op == OP_NONE_OF
        else ALL_OF if op == OP_ALL_OF
        else ONLY_OF if op == OP_ONLY_OF
        else UNDER if op == OP_UNDER
        else STARTS_WITH if op == OP_STARTS_WITH
        else ENDS_WITH if op == OP_ENDS_WITH
        else CONTAINS if op == OP_CONTAINS
        else IN
    )
    take_values(tree, condition, predicate, form)
    if predicate.type == BOOLEAN and form.words[predicate.first] == 0:
        form.words[predicate.first] = 1
        predicate.negated = not predicate.negated
    if predicate.test == UNDER:
        reduce_hosts(form, predicate.first)
    count = <uint32_t>form.words.size() - predicate.first
    if count == 1 and predicate.test == IN:
        predicate.test = EQUAL
    if count == 1 and predicate.test == ALL_OF:
        predicate.test = ONE_OF


cdef void take_values(
    const Tree* tree, const Condition* condition, const Predicate* predicate, NormalForm* form
) noexcept nogil:
    cdef uint32_t first = predicate.first
    cdef uint32_t i
    cdef int64_t word
    cdef bint textual = predicate.type == STRING or predicate.type == STRING_SET
    if not textual:
        copy_words(tree, condition, form)
        if condition.count > 1:
            if predicate.type == FLOAT:
                sort_floats(&form.words[first], &form.words[first] + condition.count)
            else:
                sort_integers(&form.words[first], &form.words[first] + condition.count)
    else:
        for i in range(condition.count):
            word = tree.words[condition.first + i]
            copy_text(tree.bytes.data() + text_offset(word), text_length(word), form)
        if condition.count > 1:
            sort_texts(
                &form.words[first], &form.words[first] + condition.count, form.bytes.data()
            )
    if condition.count > 1:
        drop_duplicates(form, first, textual)


cdef void drop_duplicates(NormalForm* form, uint32_t first, bint textual) noexcept nogil:
    cdef uint32_t kept = first + 1
    cdef uint32_t i
    cdef int64_t word, last
    for i in range(first + 1, <uint32_t>form.words.size()):
        word = form.words[i]
        last = form.words[kept - 1]
        if (
            compare_text(form.bytes.data(), last, form.bytes.data(), word) == 0
            if textual else last == word
        ):
            continue
        form.words[kept] = word
        kept += 1
    form.words.resize(kept)


cdef void reduce_hosts(NormalForm* form, uint32_t first) noexcept nogil:
    """Drops the hosts that are under another of the list."""
    cdef vector[int64_t] hosts
    cdef size_t i
    hosts.assign(form.words.begin() + first, form.words.end())
    form.words.resize(first)
    for i in range(hosts.size()):
        if not has_parent(&hosts, form.bytes.data(), hosts[i]):
            form.words.push_back(hosts[i])


cdef bint has_parent(const vector[int64_t]* hosts, const char* pool, int64_t host) noexcept nogil:
    cdef const int64_t* end = hosts.data() + hosts.size()
    cdef const int64_t* found
    cdef uint32_t offset = text_offset(host)
    cdef uint32_t length = text_length(host)
    cdef int64_t parent
    cdef uint32_t i
    for i in range(length):
        if pool[offset + i] == c'.':
            parent = text_word(offset + i + 1, length - i - 1)
            found = find_text(hosts.data(), end, pool, parent, pool)
            if found != end and compare_text(pool, found[0], pool, parent) == 0:
                return True
    return False


cdef void reduce_networks(NormalForm* form, uint32_t first) noexcept nogil:
    """Drops networks within others: sorted by base address, one follows the one that contains
    it."""
    cdef uint32_t count = (<uint32_t>form.words.size() - first) // 3
    cdef int64_t* words = form.words.data() + first
    cdef uint32_t kept = 1
    cdef uint32_t i
    if count < 2:
        return
    sort_networks(words, count)
    for i in range(1, count):
        if in_network(
            Address(<uint64_t>words[3 * i], <uint64_t>words[3 * i + 1]),
            Address(<uint64_t>words[3 * kept - 3], <uint64_t>words[3 * kept - 2]),
            words[3 * kept - 1],
        ):
            continue
        words[3 * kept] = words[3 * i]
        words[3 * kept + 1] = words[3 * i + 1]
        words[3 * kept + 2] = words[3 * i + 2]
        kept += 1
    form.words.resize(first + 3 * kept)
