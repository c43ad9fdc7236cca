"""Checks that each leaf is of one group of one attribute, and that points stay within groups."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport (
    ATTRIBUTES, BOUNDS, BYTES, KEYS, MEMBERS, POINTS, PREDICATES, TEXTS, WORDS, Plan, is_within,
    section_count,
)
from matcher_ext.plan.predicate_index cimport (
    G_ABOVE, G_BELOW, G_BETWEEN, G_EQUAL, G_FROM, G_LAZY, G_MEMBER, G_PRESENT, G_UNEQUAL, G_UP_TO,
    GROUPS, PUSHED, ROLES, TESTED, AttributeIndex, Bound, PointRow, RoleIndex, TextKey,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport (
    BETWEEN, COUNT_LESS_EQUAL, DURING, EQUAL, GEO, IN, IN_NETWORK, INSIDE, INTEGER_SET, IP, ONE_OF,
    ONLY_OF, PRESENT, STARTS_WITH, STRING, STRING_SET, TIMESTAMP, TIMESTAMP_LOCAL, UNDER, WITHIN,
    Predicate, holds_text,
)
from matcher_ext.values.spans cimport text_length, text_offset


cdef bint test_fits(const Predicate* predicate, const CatalogTable* table) noexcept nogil:
    cdef uint8_t type = predicate.type
    cdef uint8_t test = predicate.test
    if test == PRESENT:
        return True
    if type == STRING:
        return test == EQUAL or test == IN or STARTS_WITH <= test <= UNDER
    if type == STRING_SET or type == INTEGER_SET:
        return ONE_OF <= test <= COUNT_LESS_EQUAL
    if type == IP:
        return test == IN_NETWORK
    if type == GEO:
        return test == WITHIN or test == INSIDE
    if test == DURING:
        return type == TIMESTAMP or type == TIMESTAMP_LOCAL and table.utc_offset != NOTHING
    return EQUAL <= test <= BETWEEN


cdef bint count_fits(const Plan* plan, const Predicate* predicate) noexcept nogil:
    """Says whether a predicate has as many operands as its test reads."""
    cdef uint32_t i
    if predicate.test == PRESENT:
        return predicate.count == 0
    if predicate.test == IN or ONE_OF <= predicate.test <= ONLY_OF or predicate.test == UNDER:
        return predicate.count >= 1
    if predicate.test == BETWEEN:
        return predicate.count == 2
    if predicate.test == DURING or predicate.test == INSIDE:
        return predicate.count >= 2 and predicate.count % 2 == 0
    if predicate.test == WITHIN:
        return predicate.count == 3
    if predicate.test != IN_NETWORK:
        return predicate.count == 1
    for i in range(2, predicate.count, 3):
        if not 0 <= plan.tests.words[predicate.first + i] <= 128:
            return False
    return predicate.count % 3 == 0


cdef bint words_fit(const Plan* plan, const Predicate* predicate) noexcept nogil:
    cdef uint32_t i
    cdef int64_t word
    if not is_within(predicate.first, predicate.count, section_count(plan, WORDS)):
        return False
    if not holds_text(predicate.type, predicate.test):
        return True
    for i in range(predicate.count):
        word = plan.tests.words[predicate.first + i]
        if not is_within(text_offset(word), text_length(word), section_count(plan, BYTES)):
            return False
    return True


cdef const char* check_tests(const Plan* plan, const CatalogTable* table) noexcept nogil:
    cdef const Predicate* predicate
    cdef uint64_t i
    for i in range(section_count(plan, PREDICATES)):
        predicate = &plan.tests.predicates[i]
        if predicate.attribute >= table.attributes.size():
            return b"a predicate names an attribute that is not there"
        if predicate.type != table.attributes[predicate.attribute].type or (
            predicate.negated > 1 or not test_fits(predicate, table)
        ):
            return b"a predicate does not fit its attribute"
        if not words_fit(plan, predicate) or not count_fits(plan, predicate):
            return b"a predicate's values are malformed"
    return NULL


cdef const char* check_points(const Plan* plan) noexcept nogil:
    """Checks that the members of rows follow one another."""
    cdef const PointRow* row
    cdef uint32_t last = 0
    cdef uint64_t i
    if section_count(plan, POINTS) % 2 == 0:
        return b"its points are miscounted"
    for i in range(section_count(plan, POINTS)):
        row = &plan.points[i]
        if not last <= row.member <= row.stranger:
            return b"a point's members are malformed"
        last = row.stranger
    if last > section_count(plan, MEMBERS):
        return b"a point's members are malformed"
    return NULL


cdef bint groups_fit(const RoleIndex* role, uint8_t type, int which) noexcept nogil:
    """Says whether leaves are in order and only of kinds of tests that the type has."""
    cdef int group
    for group in range(<int>GROUPS):
        if role.starts[group] > role.starts[group + 1]:
            return False
    if which == TESTED and role.starts[<int>G_LAZY] != role.starts[<int>GROUPS]:
        return False
    if type == STRING:
        return role.starts[<int>G_UP_TO] == role.starts[<int>G_MEMBER]
    if type == STRING_SET or type == INTEGER_SET:
        return role.starts[0] == role.starts[<int>G_MEMBER]
    if type == IP or type == GEO:
        return role.starts[0] == role.starts[<int>G_PRESENT]
    return True


cdef bint bounds_fit(
    const Plan* plan, const AttributeIndex* attribute, const RoleIndex* role
) noexcept nogil:
    cdef uint32_t intervals = role.starts[<int>G_MEMBER] - role.starts[<int>G_BETWEEN]
    cdef const Bound* bound
    cdef uint32_t i
    if not is_within(role.bounds, intervals, section_count(plan, BOUNDS)):
        return False
    for i in range(intervals):
        bound = plan.bounds + role.bounds + i
        if bound.low >= attribute.key_count or bound.high >= attribute.key_count:
            return False
    return True


cdef bint singles_fit(
    const PointRow* row, const AttributeIndex* attribute, const RoleIndex* role
) noexcept nogil:
    """Says whether the leaves of `=` and of its negation follow one another, as the keys go."""
    cdef uint32_t equal = role.starts[<int>G_EQUAL]
    cdef uint32_t unequal = role.starts[<int>G_UNEQUAL]
    cdef uint32_t _
    for _ in range(attribute.key_count):
        if row.equal != NOTHING:
            if row.equal != equal:
                return False
            equal += 1
        if row.unequal != NOTHING:
            if row.unequal != unequal:
                return False
            unequal += 1
        row += 2
    return equal == role.starts[<int>G_UNEQUAL] and unequal == role.starts[<int>G_UP_TO] and (
        row.equal == NOTHING and row.unequal == NOTHING
    )


cdef bint cuts_fit(
    const PointRow* row, const AttributeIndex* attribute, const RoleIndex* role
) noexcept nogil:
    """Says whether cuts go from a group's first leaf to its end, never back."""
    cdef const PointRow* last = row + 2 * <uint64_t>attribute.key_count
    if row.up_to != role.starts[<int>G_UP_TO] or row.above != role.starts[<int>G_ABOVE]:
        return False
    if row.below != role.starts[<int>G_BELOW] or row.from_ != role.starts[<int>G_FROM]:
        return False
    if last.up_to != role.starts[<int>G_ABOVE] or last.above != role.starts[<int>G_BELOW]:
        return False
    if last.below != role.starts[<int>G_FROM] or last.from_ != role.starts[<int>G_BETWEEN]:
        return False
    while row < last:
        if row.up_to > row[2].up_to or row.above > row[2].above:
            return False
        if row.below > row[2].below or row.from_ > row[2].from_:
            return False
        row += 2
    return True


cdef bint members_fit(
    const Plan* plan, const AttributeIndex* attribute, const RoleIndex* role, int which
) noexcept nogil:
    """Says whether points list only leaves of the listing groups of their own attribute and
    role."""
    cdef const PointRow* row = plan.points + 2 * <uint64_t>attribute.point + which
    cdef uint32_t first = role.starts[<int>G_MEMBER]
    cdef uint32_t count = role.starts[<int>G_PRESENT] - first
    cdef bint fits = True
    cdef uint32_t _, k
    for _ in range(attribute.key_count):
        for k in range(row.member, row[1].member):
            fits = fits and plan.members[k] - first < count
        row += 2
    return fits


cdef const char* check_role(
    const Plan* plan, const AttributeIndex* attribute, uint8_t type, int which
) noexcept nogil:
    cdef const RoleIndex* role = &attribute.roles[which]
    cdef const PointRow* row = plan.points + 2 * <uint64_t>attribute.point + which
    if not groups_fit(role, type, which):
        return b"an attribute's leaves are malformed"
    if not bounds_fit(plan, attribute, role):
        return b"an interval's bounds are malformed"
    if not singles_fit(row, attribute, role) or not cuts_fit(row, attribute, role):
        return b"a point names a leaf that is not its own"
    if not members_fit(plan, attribute, role, which):
        return b"a point lists leaves of another attribute"
    return NULL


cdef bint table_fits(const Plan* plan, const AttributeIndex* attribute) noexcept nogil:
    """Says whether a table of texts lies in its section, has an empty place, and ranks of keys."""
    cdef uint64_t size = <uint64_t>attribute.mask + 1
    cdef const TextKey* key
    cdef bint has_empty = False
    cdef uint64_t i
    if size & (size - 1) or not is_within(attribute.keys, size, section_count(plan, TEXTS)):
        return False
    for i in range(size):
        key = &plan.texts[attribute.keys + i]
        if key.rank == NOTHING:
            has_empty = True
        elif key.rank >= attribute.key_count or not is_within(
            text_offset(key.word), text_length(key.word), section_count(plan, BYTES)
        ):
            return False
    return has_empty


cdef const char* check_attribute(const Plan* plan, uint32_t number, uint8_t type) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef const RoleIndex* pushed = &attribute.roles[<int>PUSHED]
    cdef const char* wrong
    cdef int which
    if not is_within(
        attribute.point, <uint64_t>attribute.key_count + 1, section_count(plan, POINTS) // 2
    ):
        return b"an attribute's points lie outside of the file"
    for which in range(<int>ROLES):
        wrong = check_role(plan, attribute, type, which)
        if wrong != NULL:
            return wrong
    if not is_within(
        attribute.lazy, pushed.starts[<int>GROUPS] - pushed.starts[<int>G_LAZY],
        section_count(plan, PREDICATES),
    ):
        return b"an attribute's tests lie outside of the file"
    if type != STRING and type != STRING_SET:
        if not is_within(attribute.keys, attribute.key_count, section_count(plan, KEYS)):
            return b"an attribute's keys lie outside of the file"
    elif attribute.key_count and not table_fits(plan, attribute):
        return b"an attribute's texts are malformed"
    return NULL


cdef const char* check_attributes(const Plan* plan, const CatalogTable* table) noexcept nogil:
    """Checks each attribute; their leaves follow one another, first the pushed, then the tested."""
    cdef uint32_t ends[2]
    cdef const char* wrong
    cdef uint32_t i
    cdef int which
    ends[<int>PUSHED] = 0
    ends[<int>TESTED] = plan.totals.pushed
    for i in range(<uint32_t>section_count(plan, ATTRIBUTES)):
        for which in range(<int>ROLES):
            if plan.attributes[i].roles[which].starts[0] != ends[which]:
                return b"two attributes share leaves"
            ends[which] = plan.attributes[i].roles[which].starts[<int>GROUPS]
        wrong = check_attribute(plan, i, table.attributes[i].type)
        if wrong != NULL:
            return wrong
    for which in range(<int>ROLES):
        if plan.totals.missing[which] != ends[which]:
            return b"its leaves are miscounted"
    return NULL
