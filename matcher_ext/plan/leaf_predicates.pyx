"""Finds what each leaf tests, in four steps: kinds, numbers of values, places for them, values."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport (
    ATTRIBUTES, WORDS, Plan, lazy_test, missing_test, pushed_tests, section_count,
)
from matcher_ext.plan.predicate_index cimport (
    G_ABOVE, G_BELOW, G_BETWEEN, G_EQUAL, G_FROM, G_LAZY, G_MEMBER, G_OUTSIDE, G_PRESENT,
    G_STRANGER, G_UNEQUAL, G_UP_TO, GROUPS, PUSHED, ROLES, AttributeIndex, Bound, PointRow,
    RoleIndex, TextKey, order_float,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.ordering cimport sort_texts
from matcher_ext.values.predicate cimport (
    BETWEEN, EQUAL, FLOAT, IN, INTEGER_SET, LESS, LESS_EQUAL, ONE_OF, PRESENT, STRING, STRING_SET,
    Predicate,
)


cdef uint8_t test_of(int group, bint is_set) noexcept nogil:
    if group == G_EQUAL or group == G_UNEQUAL:
        return EQUAL
    if group == G_UP_TO or group == G_ABOVE:
        return LESS_EQUAL
    if group == G_BELOW or group == G_FROM:
        return LESS
    if group == G_BETWEEN or group == G_OUTSIDE:
        return BETWEEN
    if group == G_PRESENT:
        return PRESENT
    return ONE_OF if is_set else IN


cdef uint32_t count_of(int group) noexcept nogil:
    """Says how many values a group's leaves have; those of members are counted later."""
    if group == G_BETWEEN or group == G_OUTSIDE:
        return 2
    return 0 if group >= G_MEMBER else 1


cdef void name_tests(
    const Plan* plan, const CatalogTable* table, uint32_t number, vector[Predicate]* predicates
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef Predicate made
    cdef uint32_t leaf
    cdef int role, group
    made.attribute = number
    made.type = table.attributes[number].type
    made.first = 0
    made.unused = 0
    for role in range(<int>ROLES):
        for group in range(<int>G_LAZY):
            made.test = test_of(group, made.type == STRING_SET or made.type == INTEGER_SET)
            made.negated = group < G_PRESENT and group & 1
            made.count = count_of(group)
            for leaf in range(
                attribute.roles[role].starts[group], attribute.roles[role].starts[group + 1]
            ):
                predicates[0][leaf] = made
    for leaf in range(
        attribute.roles[<int>PUSHED].starts[<int>G_LAZY],
        attribute.roles[<int>PUSHED].starts[<int>GROUPS],
    ):
        predicates[0][leaf] = pushed_tests(plan, number).predicates[leaf]


cdef void copy_tests(const Plan* plan, vector[Predicate]* predicates) noexcept nogil:
    """Copies the predicates of leaves that belong to no attribute's ranges."""
    cdef uint32_t leaf
    cdef int role
    for role in range(<int>ROLES):
        for leaf in range(plan.totals.missing[role], plan.totals.missing_end[role]):
            predicates[0][leaf] = missing_test(plan, role, leaf)[0]
    for leaf in range(plan.totals.filled, plan.totals.leaves):
        predicates[0][leaf] = lazy_test(plan, leaf)[0]


cdef void place_values(
    const Plan* plan, const AttributeIndex* attribute, vector[Predicate]* predicates,
    vector[int64_t]* words,
) noexcept nogil:
    cdef uint64_t point = 2 * <uint64_t>attribute.point
    cdef uint64_t end = point + 2 * <uint64_t>attribute.key_count
    cdef Predicate* predicate
    cdef uint32_t i, leaf
    cdef int role, group
    for i in range(plan.points[point].member, plan.points[end].member):
        predicates[0][plan.members[i]].count += 1
    for role in range(<int>ROLES):
        for group in range(<int>G_LAZY):
            for leaf in range(
                attribute.roles[role].starts[group], attribute.roles[role].starts[group + 1]
            ):
                predicate = &predicates[0][leaf]
                predicate.first = <uint32_t>words.size()
                words.resize(words.size() + predicate.count)
                if group == G_MEMBER or group == G_STRANGER:
                    predicate.count = 0     # counted again while its values come in


cdef void list_keys(
    const Plan* plan, const AttributeIndex* attribute, uint8_t type, vector[int64_t]* keys
) noexcept nogil:
    """Lists the words of an attribute's keys, by rank."""
    cdef const TextKey* text
    cdef uint64_t i
    keys.assign(attribute.key_count, 0)
    if type == STRING or type == STRING_SET:
        if attribute.key_count:
            for i in range(<uint64_t>attribute.mask + 1):
                text = &plan.texts[attribute.keys + i]
                if text.rank != NOTHING:
                    keys[0][text.rank] = text.word
        return
    for i in range(attribute.key_count):
        keys[0][i] = plan.keys[attribute.keys + i]
        if type == FLOAT:
            keys[0][i] = order_float(keys[0][i])        # its own inverse


cdef inline void put_value(
    vector[Predicate]* predicates, vector[int64_t]* words, uint32_t leaf, uint32_t i, int64_t word
) noexcept nogil:
    words[0][predicates[0][leaf].first + i] = word


cdef void put_key(
    const Plan* plan, const PointRow* row, int64_t word, vector[Predicate]* predicates,
    vector[int64_t]* words,
) noexcept nogil:
    """Puts one key's value into all leaves of a role that name it, except intervals."""
    cdef Predicate* predicate
    cdef uint32_t leaf, i
    if row.equal != NOTHING:
        put_value(predicates, words, row.equal, 0, word)
    if row.unequal != NOTHING:
        put_value(predicates, words, row.unequal, 0, word)
    for leaf in range(row.up_to, row[2].up_to):
        put_value(predicates, words, leaf, 0, word)
    for leaf in range(row.above, row[2].above):
        put_value(predicates, words, leaf, 0, word)
    for leaf in range(row.below, row[2].below):
        put_value(predicates, words, leaf, 0, word)
    for leaf in range(row.from_, row[2].from_):
        put_value(predicates, words, leaf, 0, word)
    for i in range(row.member, row[1].member):
        predicate = &predicates[0][plan.members[i]]
        words[0][predicate.first + predicate.count] = word
        predicate.count += 1


cdef void put_intervals(
    const Plan* plan, const RoleIndex* role, const vector[int64_t]* keys,
    vector[Predicate]* predicates, vector[int64_t]* words,
) noexcept nogil:
    cdef const Bound* bound = plan.bounds + role.bounds
    cdef uint32_t leaf
    for leaf in range(role.starts[<int>G_BETWEEN], role.starts[<int>G_MEMBER]):
        put_value(predicates, words, leaf, 0, keys[0][bound.low])
        put_value(predicates, words, leaf, 1, keys[0][bound.high])
        bound += 1


cdef void sort_members(
    const Plan* plan, const RoleIndex* role, vector[Predicate]* predicates, vector[int64_t]* words
) noexcept nogil:
    """Sorts the values of each list: ranks of texts are in no order, values of a predicate are."""
    cdef int64_t* first
    cdef uint32_t leaf
    for leaf in range(role.starts[<int>G_MEMBER], role.starts[<int>G_PRESENT]):
        first = words.data() + predicates[0][leaf].first
        sort_texts(first, first + predicates[0][leaf].count, plan.tests.bytes)


cdef void thaw_predicates(
    const Plan* plan,
    const CatalogTable* table,
    vector[Predicate]* predicates,
    vector[int64_t]* words,
) noexcept nogil:
    cdef const AttributeIndex* attribute
    cdef vector[int64_t] keys
    cdef uint32_t number, rank
    cdef uint8_t type
    cdef int role
    predicates.resize(plan.totals.leaves)
    words.assign(plan.tests.words, plan.tests.words + section_count(plan, WORDS))
    copy_tests(plan, predicates)
    for number in range(<uint32_t>section_count(plan, ATTRIBUTES)):
        attribute = &plan.attributes[number]
        type = table.attributes[number].type
        name_tests(plan, table, number, predicates)
        place_values(plan, attribute, predicates, words)
        list_keys(plan, attribute, type, &keys)
        for role in range(<int>ROLES):
            for rank in range(attribute.key_count):
                put_key(
                    plan, plan.points + 2 * <size_t>(attribute.point + rank) + role, keys[rank],
                    predicates, words,
                )
            put_intervals(plan, &attribute.roles[role], &keys, predicates, words)
            if type == STRING or type == STRING_SET:
                sort_members(plan, &attribute.roles[role], predicates, words)
