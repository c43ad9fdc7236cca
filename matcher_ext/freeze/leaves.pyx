"""Numbers the leaves and builds the predicate index, in six steps:

  1. the different values that predicates of an attribute name, in order: its keys;
  2. the order of the leaves, and with it their numbers;
  3. where each group of an attribute's leaves starts;
  4. for each key, where it cuts the ordered groups;
  5. for each key, the `in` and `one of` leaves that name it;
  6. the clues of the pushed leaves that have no keys.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset
from libcpp.algorithm cimport lower_bound, sort, unique
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.clue_tables cimport index_clues, rank_clues
from matcher_ext.freeze.draft cimport Draft
from matcher_ext.machine.hashing cimport hash_bytes
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport first_place, next_place, size_table
from matcher_ext.plan.plan cimport Totals
from matcher_ext.plan.predicate_index cimport (
    G_ABOVE, G_BELOW, G_BETWEEN, G_EQUAL, G_FROM, G_LAZY, G_MEMBER, G_OUTSIDE, G_STRANGER, G_UP_TO,
    GROUPS, PUSHED, ROLES, TESTED, AttributeIndex, Bound, PointRow, RoleIndex, TextKey, group_of,
    order_word, width_class,
)
from matcher_ext.values.normal_form cimport NORMAL_PREDICATE
from matcher_ext.values.predicate cimport BETWEEN, STRING, STRING_SET, Predicate
from matcher_ext.values.spans cimport text_length, text_offset

cdef enum:
    MISSING_PLACE = 1       # added to the place of a role's leaves: `is missing`
    TESTED_PLACE = 2
    LAZY_PLACE = 4          # tested and lazy: not filled

ctypedef pair[uint64_t, uint32_t] Ranked


cdef bint has_keys(const Predicate* predicate) noexcept nogil:
    return group_of(predicate) <= G_STRANGER


cdef bint needs_keys(const Draft* draft, const vector[uint32_t]* roles, size_t i) noexcept nogil:
    """Says whether a predicate's values become keys; deferred lists are searched themselves."""
    cdef const Predicate* predicate = &draft.predicates[i]
    cdef int group = group_of(predicate)
    if draft.is_deferred[i] and roles[0][i] == TESTED and (
        group == G_MEMBER or group == G_STRANGER
    ):
        return False
    return has_keys(predicate)


cdef bint is_textual(const Predicate* predicate) noexcept nogil:
    return predicate.type == STRING or predicate.type == STRING_SET


# 1. Keys.

cdef void gather_numbers(
    Draft* draft, LeafIndex* index, const vector[uint32_t]* roles
) noexcept nogil:
    cdef vector[vector[int64_t]] values
    cdef const Predicate* predicate
    cdef vector[int64_t].iterator end
    cdef size_t i
    cdef uint32_t k
    values.resize(index.attributes.size())
    for i in range(draft.predicates.size()):
        predicate = &draft.predicates[i]
        if needs_keys(draft, roles, i) and not is_textual(predicate):
            for k in range(predicate.count):
                values[predicate.attribute].push_back(
                    order_word(predicate, draft.words[predicate.first + k])
                )
    for i in range(values.size()):
        if values[i].size():
            sort(values[i].begin(), values[i].end())
            end = unique(values[i].begin(), values[i].end())
            values[i].resize(end - values[i].begin())
            index.attributes[i].keys = <uint32_t>index.keys.size()
            index.attributes[i].key_count = <uint32_t>values[i].size()
            index.keys.insert(index.keys.end(), values[i].begin(), values[i].end())


cdef void size_text_tables(
    Draft* draft, LeafIndex* index, const vector[uint32_t]* roles
) noexcept nogil:
    cdef const Predicate* predicate
    cdef TextKey empty
    cdef size_t i
    cdef uint32_t size
    empty.word = 0
    empty.hash = 0
    empty.rank = NOTHING
    for i in range(draft.predicates.size()):
        predicate = &draft.predicates[i]
        if needs_keys(draft, roles, i) and is_textual(predicate):
            index.attributes[predicate.attribute].mask += predicate.count
    for i in range(index.attributes.size()):
        if index.attributes[i].mask:
            size = <uint32_t>size_table(index.attributes[i].mask, 4)
            index.attributes[i].mask = size - 1
            index.attributes[i].keys = <uint32_t>index.texts.size()
            index.texts.resize(index.texts.size() + size, empty)


cdef TextKey* find_text_key(
    const Draft* draft, LeafIndex* index, uint32_t attribute, int64_t word
) noexcept nogil:
    """Finds the place of a text, or the empty one where it belongs."""
    cdef TextKey* table = index.texts.data() + index.attributes[attribute].keys
    cdef size_t mask = index.attributes[attribute].mask
    cdef const char* text = draft.bytes.data() + text_offset(word)
    cdef uint32_t length = text_length(word)
    cdef uint32_t hash = <uint32_t>hash_bytes(text, length)
    cdef size_t place = first_place(hash, mask)
    cdef TextKey* key = &table[place]
    while key.rank != NOTHING and not (
        key.hash == hash
        and text_length(key.word) == length
        and memcmp(draft.bytes.data() + text_offset(key.word), text, length) == 0
    ):
        place = next_place(place, mask)
        key = &table[place]
    key.hash = hash
    return key


cdef void gather_texts(
    Draft* draft, LeafIndex* index, const vector[uint32_t]* roles
) noexcept nogil:
    cdef const Predicate* predicate
    cdef TextKey* key
    cdef size_t i
    cdef uint32_t k
    size_text_tables(draft, index, roles)
    for i in range(draft.predicates.size()):
        predicate = &draft.predicates[i]
        if needs_keys(draft, roles, i) and is_textual(predicate):
            for k in range(predicate.count):
                key = find_text_key(
                    draft, index, predicate.attribute, draft.words[predicate.first + k]
                )
                if key.rank == NOTHING:
                    key.word = draft.words[predicate.first + k]
                    key.rank = index.attributes[predicate.attribute].key_count
                    index.attributes[predicate.attribute].key_count += 1
    shrink_text_tables(index)


cdef void shrink_text_tables(LeafIndex* index) noexcept nogil:
    """Shrinks tables to twice the texts that there are: they had room for one of each mention."""
    cdef vector[TextKey] texts
    cdef AttributeIndex* attribute
    cdef const TextKey* key
    cdef TextKey empty
    cdef size_t i, place
    cdef uint32_t size, first, k
    empty.word = 0
    empty.hash = 0
    empty.rank = NOTHING
    for i in range(index.attributes.size()):
        attribute = &index.attributes[i]
        if attribute.mask == 0:
            continue
        size = <uint32_t>size_table(attribute.key_count, 4)
        first = <uint32_t>texts.size()
        texts.resize(first + size, empty)
        for k in range(attribute.mask + 1):
            key = &index.texts[attribute.keys + k]
            if key.rank != NOTHING:
                place = first_place(key.hash, size - 1)
                while texts[first + place].rank != NOTHING:
                    place = next_place(place, size - 1)
                texts[first + place] = key[0]
        attribute.keys = first
        attribute.mask = size - 1
    index.texts.swap(texts)


cdef uint32_t rank_of(
    const Draft* draft, const LeafIndex* index, const Predicate* predicate, uint32_t value
) noexcept nogil:
    cdef int64_t word = draft.words[predicate.first + value]
    cdef const AttributeIndex* attribute = &index.attributes[predicate.attribute]
    cdef const int64_t* keys = index.keys.data() + attribute.keys
    if is_textual(predicate):
        return find_text_key(draft, <LeafIndex*>index, predicate.attribute, word).rank
    return <uint32_t>(
        lower_bound(keys, keys + attribute.key_count, order_word(predicate, word)) - keys
    )


cdef uint32_t find_draft_point(
    const Draft* draft, const LeafIndex* index, const Predicate* predicate, uint32_t value
) noexcept nogil:
    return index.attributes[predicate.attribute].point + rank_of(draft, index, predicate, value)


cdef void number_points(LeafIndex* index) noexcept nogil:
    cdef uint32_t point = 0
    cdef size_t i
    for i in range(index.attributes.size()):
        index.attributes[i].point = point
        point += index.attributes[i].key_count + 1
    index.points.resize(2 * <size_t>point + 1)
    for i in range(index.points.size()):
        memset(&index.points[i], 0, sizeof(PointRow))
        index.points[i].equal = NOTHING
        index.points[i].unequal = NOTHING


# 2. Order.

cdef void order_leaves(
    Draft* draft, LeafIndex* index, const vector[uint32_t]* roles
) noexcept nogil:
    cdef vector[Ranked] ranked
    cdef Ranked item
    cdef const Predicate* predicate
    cdef uint64_t place, rank
    cdef uint32_t i, high
    cdef int group
    for i in range(<uint32_t>draft.predicates.size()):
        predicate = &draft.predicates[i]
        group = group_of(predicate)
        place = TESTED_PLACE if roles[0][i] == TESTED else 0
        rank = i
        if group == GROUPS:
            place += MISSING_PLACE
        elif place == TESTED_PLACE and (group == G_LAZY or draft.is_deferred[i]):
            place = LAZY_PLACE
        elif has_keys(predicate):
            rank = rank_of(draft, index, predicate, 0)
            if predicate.test == BETWEEN:
                high = rank_of(draft, index, predicate, 1)
                rank |= <uint64_t>width_class(<uint32_t>rank, high) << 32
        elif group == G_LAZY:
            rank = <uint64_t>rank_clues(draft, i) << 30 | i
        item.first = (
            place << 60 | <uint64_t>predicate.attribute << 41 | <uint64_t>group << 37 | rank
        )
        item.second = i
        ranked.push_back(item)
    sort(ranked.begin(), ranked.end())
    draft.leaf_of.assign(draft.predicates.size(), NOTHING)
    for i in range(<uint32_t>ranked.size()):
        index.order.push_back(ranked[i].second)
        draft.leaf_of[ranked[i].second] = i
        count_leaf(index, &draft.predicates[ranked[i].second], <uint32_t>(ranked[i].first >> 60))


# 3. Groups.

cdef void count_leaf(LeafIndex* index, const Predicate* predicate, uint32_t place) noexcept nogil:
    """Counts a leaf; for now `starts[g + 1]` is the number of leaves of group g."""
    cdef Totals* totals = &index.totals
    cdef int role = PUSHED if place < TESTED_PLACE else TESTED
    totals.leaves += 1
    if place != LAZY_PLACE:
        totals.filled += 1
        if role == PUSHED:
            totals.pushed += 1
        if place & MISSING_PLACE:
            totals.missing_end[role] += 1
        else:
            index.attributes[predicate.attribute].roles[role].starts[group_of(predicate) + 1] += 1


cdef void start_groups(LeafIndex* index) noexcept nogil:
    cdef uint32_t next_leaf = 0
    cdef RoleIndex* role_index
    cdef size_t i
    cdef int role, group
    for role in range(<int>ROLES):
        for i in range(index.attributes.size()):
            role_index = &index.attributes[i].roles[role]
            role_index.starts[0] = next_leaf
            for group in range(<int>GROUPS):
                role_index.starts[group + 1] += role_index.starts[group]
            next_leaf = role_index.starts[<int>GROUPS]
        index.totals.missing[role] = next_leaf
        next_leaf += index.totals.missing_end[role]
        index.totals.missing_end[role] = next_leaf


# 4. Cuts.

cdef uint32_t leaf_rank(const Draft* draft, const LeafIndex* index, uint32_t leaf) noexcept nogil:
    return rank_of(draft, index, &draft.predicates[index.order[leaf]], 0)


cdef void cut_group(
    Draft* draft, LeafIndex* index, const AttributeIndex* attribute, int role, int group
) noexcept nogil:
    """Gives row i the first leaf of the group whose bound has rank i or more."""
    cdef uint32_t leaf = attribute.roles[role].starts[group]
    cdef uint32_t end = attribute.roles[role].starts[group + 1]
    cdef uint32_t rank = 0 if leaf == end else leaf_rank(draft, index, leaf)
    cdef PointRow* row
    cdef uint32_t i
    for i in range(attribute.key_count + 1):
        while leaf < end and rank < i:
            leaf += 1
            if leaf < end:
                rank = leaf_rank(draft, index, leaf)
        row = &index.points[2 * <size_t>(attribute.point + i) + role]
        if group == G_UP_TO:
            row.up_to = leaf
        elif group == G_ABOVE:
            row.above = leaf
        elif group == G_BELOW:
            row.below = leaf
        elif group == G_FROM:
            row.from_ = leaf
        elif leaf < end and rank == i:
            if group == G_EQUAL:
                row.equal = leaf
            else:
                row.unequal = leaf


cdef void bound_intervals(Draft* draft, LeafIndex* index, RoleIndex* role) noexcept nogil:
    cdef const Predicate* predicate
    cdef Bound bound
    cdef uint32_t leaf
    role.bounds = <uint32_t>index.bounds.size()
    for leaf in range(role.starts[<int>G_BETWEEN], role.starts[<int>G_OUTSIDE + 1]):
        predicate = &draft.predicates[index.order[leaf]]
        bound.low = rank_of(draft, index, predicate, 0)
        bound.high = rank_of(draft, index, predicate, 1)
        index.bounds.push_back(bound)


cdef void cut_groups(Draft* draft, LeafIndex* index) noexcept nogil:
    cdef size_t i
    cdef int role, group
    for i in range(index.attributes.size()):
        for role in range(<int>ROLES):
            for group in range(<int>G_BETWEEN):
                cut_group(draft, index, &index.attributes[i], role, group)
            bound_intervals(draft, index, &index.attributes[i].roles[role])


# 5. Members.

cdef void list_members(Draft* draft, LeafIndex* index) noexcept nogil:
    """Lists leaves in the order of rows; in a row first the members, then the strangers."""
    cdef vector[Ranked] listed
    cdef Ranked item
    cdef const Predicate* predicate
    cdef uint64_t row
    cdef uint32_t leaf, k
    cdef size_t next_item = 0
    cdef int group
    for leaf in range(index.totals.filled):
        predicate = &draft.predicates[index.order[leaf]]
        group = group_of(predicate)
        if group != G_MEMBER and group != G_STRANGER:
            continue
        item.second = leaf
        for k in range(predicate.count):
            row = 2 * <uint64_t>find_draft_point(draft, index, predicate, k)
            row += leaf >= index.totals.pushed
            item.first = 2 * row + (group == G_STRANGER)
            listed.push_back(item)
    sort(listed.begin(), listed.end())
    for row in range(index.points.size()):
        index.points[row].member = <uint32_t>next_item
        while next_item < listed.size() and listed[next_item].first == 2 * row:
            next_item += 1
        index.points[row].stranger = <uint32_t>next_item
        while next_item < listed.size() and listed[next_item].first == 2 * row + 1:
            next_item += 1
    for next_item in range(listed.size()):
        index.members.push_back(listed[next_item].second)


# 6. Clues.

cdef void find_lazy(
    const LeafIndex* index, vector[uint32_t]* starts, vector[uint32_t]* ends
) noexcept nogil:
    cdef size_t i
    for i in range(index.attributes.size()):
        starts.push_back(index.attributes[i].roles[<int>PUSHED].starts[<int>G_LAZY])
        ends.push_back(index.attributes[i].roles[<int>PUSHED].starts[<int>GROUPS])


cdef void find_roles(const Draft* draft, vector[uint32_t]* roles) noexcept nogil:
    cdef size_t i
    roles.assign(draft.predicates.size(), TESTED)
    for i in range(draft.nodes.size()):
        if draft.nodes[i].kind == NORMAL_PREDICATE and draft.pushed[i]:
            roles[0][draft.nodes[i].first] = PUSHED


cdef void index_leaves(Draft* draft, LeafIndex* index) noexcept nogil:
    cdef vector[uint32_t] roles, starts, ends
    cdef AttributeIndex empty
    memset(&empty, 0, sizeof(empty))
    memset(&index.totals, 0, sizeof(Totals))
    index.attributes.assign(draft.table.attributes.size(), empty)
    find_roles(draft, &roles)
    gather_numbers(draft, index, &roles)
    gather_texts(draft, index, &roles)
    number_points(index)
    order_leaves(draft, index, &roles)
    start_groups(index)
    cut_groups(draft, index)
    list_members(draft, index)
    find_lazy(index, &starts, &ends)
    index_clues(draft, &index.order, &starts, &ends, &index.candidates)
