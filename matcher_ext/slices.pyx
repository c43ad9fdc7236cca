"""Bit-sliced evaluation of a plan's graph (slices.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from matcher_ext.arena cimport (
    FLOAT,
    GEO,
    INTEGER_SET,
    IP,
    NORMAL_AND,
    NORMAL_OR,
    NORMAL_PREDICATE,
    NORMAL_REFERENCE,
    NORMAL_TRUE,
    NOTHING,
    STRING,
    STRING_SET,
    TRUE,
    text_length,
    text_offset,
)
from matcher_ext.filling cimport find_number, find_text
from matcher_ext.plan cimport *
from matcher_ext.visit cimport Value, Visit, is_eligible, test_predicate

cdef extern from * nogil:
    """
    static inline uint32_t count_bits(uint64_t w) { return (uint32_t)__builtin_popcountll(w); }
    static inline uint32_t first_bit(uint64_t w) { return (uint32_t)__builtin_ctzll(w); }
    """
    uint32_t count_bits(uint64_t word)
    uint32_t first_bit(uint64_t word)


# Slices.

cdef inline void clear(Slice* target) noexcept nogil:
    memset(target, 0, sizeof(Slice))


cdef inline void set_row(Slice* target, uint32_t row) noexcept nogil:
    target.words[row >> 6] |= <uint64_t>1 << (row & 63)


cdef inline void add(Slice* target, const Slice* other) noexcept nogil:
    cdef int i
    for i in range(WORDS_OF_SLICE):
        target.words[i] |= other.words[i]


cdef inline void keep(Slice* target, const Slice* other) noexcept nogil:
    cdef int i
    for i in range(WORDS_OF_SLICE):
        target.words[i] &= other.words[i]


cdef inline void subtract(Slice* target, const Slice* other) noexcept nogil:
    cdef int i
    for i in range(WORDS_OF_SLICE):
        target.words[i] &= ~other.words[i]


cdef inline bint is_empty(const Slice* slice_) noexcept nogil:
    cdef uint64_t all_words = 0
    cdef int i
    for i in range(WORDS_OF_SLICE):
        all_words |= slice_.words[i]
    return all_words == 0


cdef inline uint32_t store(Slices* slices, const Slice* made) noexcept nogil:
    """Its number; 0 if it is empty."""
    if is_empty(made):
        return 0
    slices.pool.push_back(made[0])
    return <uint32_t>(slices.pool.size() - 1)


cdef void open_slices(const Plan* plan, Slices* slices) noexcept nogil:
    cdef uint32_t most = 0
    cdef uint64_t i
    slices.visits.resize(ROWS)
    slices.cells.resize(section_count(plan, ATTRIBUTES))
    slices.carried.resize(section_count(plan, ATTRIBUTES))
    slices.of_node.resize(plan.node_count)
    for i in range(section_count(plan, ATTRIBUTES)):
        most = max(most, plan.attributes[i].key_count)
    slices.keys.resize(2 * <size_t>most + 2)
    slices.below.resize(<size_t>most + 2)


# 1. Rows.

cdef void add_cell(Slices* slices, uint32_t attribute, uint32_t row, uint32_t position) noexcept nogil:
    cdef Cell cell
    cell.row = row
    cell.position = position
    slices.cells[attribute].push_back(cell)


cdef void locate_word(
    const Plan* plan, const Visit* visit, Slices* slices, uint32_t number, int type,
    uint32_t row, int64_t word,
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef uint32_t rank = attribute.key_count
    cdef bint exact = False
    if type == STRING or type == STRING_SET:
        if rank:
            rank = find_text(
                plan, attribute, visit.bytes.data() + text_offset(word), text_length(word)
            )
        exact = rank < attribute.key_count
    else:
        if type == FLOAT:
            word = order_float(word)
        rank = find_number(plan, attribute, word)
        exact = rank < attribute.key_count and plan.keys[attribute.keys + rank] == word
    add_cell(slices, number, row, 2 * rank + exact)


cdef void locate_row(
    const Plan* plan, const CatalogTable* table, Slices* slices, uint32_t row
) noexcept nogil:
    cdef const Visit* visit = &slices.visits[row]
    cdef const Value* value
    cdef uint32_t number, k
    cdef size_t i
    cdef int type
    if not is_eligible(table, visit):
        return
    set_row(&slices.eligible, row)
    for i in range(visit.carried.size()):
        number = visit.carried[i]
        type = table.attributes[number].type
        value = &visit.values[number]
        set_row(&slices.carried[number], row)
        if type == STRING_SET or type == INTEGER_SET:
            for k in range(value.count):
                locate_word(
                    plan, visit, slices, number, type, row, visit.words[value.first + k]
                )
        elif type != IP and type != GEO:
            locate_word(plan, visit, slices, number, type, row, value.word)


cdef void locate_rows(const Plan* plan, const CatalogTable* table, Slices* slices) noexcept nogil:
    cdef size_t i
    cdef uint32_t row
    clear(&slices.eligible)
    for i in range(slices.cells.size()):
        slices.cells[i].clear()
        clear(&slices.carried[i])
    for row in range(slices.rows):
        locate_row(plan, table, slices, row)


# 2. Leaves.

cdef void slice_keys(Slices* slices, const AttributeIndex* attribute, uint32_t number) noexcept nogil:
    """keys[p]: the visits at position p; below[i]: those whose value is below key i."""
    cdef uint32_t positions = 2 * attribute.key_count + 1
    cdef const Cell* cell
    cdef Slice so_far
    cdef size_t i
    cdef uint32_t k
    memset(slices.keys.data(), 0, (positions + 1) * sizeof(Slice))
    for i in range(slices.cells[number].size()):
        cell = &slices.cells[number][i]
        set_row(&slices.keys[cell.position], cell.row)
    clear(&so_far)
    for k in range(attribute.key_count + 1):
        add(&so_far, &slices.keys[2 * k])
        slices.below[k] = so_far
        if k < attribute.key_count:
            add(&so_far, &slices.keys[2 * k + 1])


cdef inline void put_leaf(
    Slices* slices, uint32_t leaf, const Slice* plain, const Slice* without
) noexcept nogil:
    """`without`: the visits of which the negation is true are those of it without the plain."""
    cdef Slice made
    if without == NULL:
        slices.of_leaf[leaf] = store(slices, plain)
    else:
        made = without[0]
        subtract(&made, plain)
        slices.of_leaf[leaf] = store(slices, &made)


cdef void slice_bounds(
    const Plan* plan, Slices* slices, const AttributeIndex* attribute, int r, uint32_t number
) noexcept nogil:
    """Groups whose leaves have one bound; those with the bound of rank k lie between two cuts."""
    cdef const RoleIndex* role = &attribute.roles[r]
    cdef const Slice* carried = &slices.carried[number]
    cdef const PointRow* row
    cdef Slice up_to
    cdef uint32_t k, leaf
    for k in range(attribute.key_count):
        row = plan.points + 2 * <size_t>(attribute.point + k) + r
        if row.equal != NOTHING:
            put_leaf(slices, row.equal, &slices.keys[2 * k + 1], NULL)
        if row.unequal != NOTHING:
            put_leaf(slices, row.unequal, &slices.keys[2 * k + 1], carried)
        up_to = slices.below[k]
        add(&up_to, &slices.keys[2 * k + 1])
        for leaf in range(row.up_to, row[2].up_to):
            put_leaf(slices, leaf, &up_to, NULL)
        for leaf in range(row.above, row[2].above):
            put_leaf(slices, leaf, &up_to, carried)
        for leaf in range(row.below, row[2].below):
            put_leaf(slices, leaf, &slices.below[k], NULL)
        for leaf in range(row.from_, row[2].from_):
            put_leaf(slices, leaf, &slices.below[k], carried)


cdef void slice_intervals(
    const Plan* plan, Slices* slices, const RoleIndex* role, const Slice* carried
) noexcept nogil:
    cdef const Bound* bound = plan.bounds + role.bounds
    cdef const Slice* without = NULL
    cdef Slice within
    cdef uint32_t leaf
    for leaf in range(role.starts[<int>G_BETWEEN], role.starts[<int>G_MEMBER]):
        within = slices.below[bound.high]
        add(&within, &slices.keys[2 * bound.high + 1])
        subtract(&within, &slices.below[bound.low])
        if leaf == role.starts[<int>G_OUTSIDE]:
            without = carried
        put_leaf(slices, leaf, &within, without)
        bound += 1


cdef void slice_members(
    const Plan* plan, Slices* slices, const AttributeIndex* attribute, int r, uint32_t number
) noexcept nogil:
    """Gathers each leaf's visits value by value; for now a stranger holds those of its negation."""
    cdef const RoleIndex* role = &attribute.roles[r]
    cdef const PointRow* row
    cdef const Slice* key
    cdef uint32_t k, i, leaf
    cdef Slice made
    if role.starts[<int>G_MEMBER] == role.starts[<int>G_PRESENT]:
        return
    for k in range(attribute.key_count):
        key = &slices.keys[2 * k + 1]
        if is_empty(key):
            continue
        row = plan.points + 2 * <size_t>(attribute.point + k) + r
        for i in range(row.member, row[1].member):
            leaf = plan.members[i]
            if slices.of_leaf[leaf] == 0:
                slices.of_leaf[leaf] = store(slices, key)
            else:
                add(&slices.pool[slices.of_leaf[leaf]], key)
    for leaf in range(role.starts[<int>G_STRANGER], role.starts[<int>G_PRESENT]):
        made = slices.pool[slices.of_leaf[leaf]]
        put_leaf(slices, leaf, &made, &slices.carried[number])


cdef void slice_attribute(
    const Plan* plan, const CatalogTable* table, Slices* slices, uint32_t number
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef const Slice* carried = &slices.carried[number]
    cdef int type = table.attributes[number].type
    cdef uint32_t leaf
    cdef int r
    if is_empty(carried):
        return
    slice_keys(slices, attribute, number)
    for r in range(<int>ROLES):
        if type != STRING_SET and type != INTEGER_SET:
            slice_bounds(plan, slices, attribute, r, number)
            slice_intervals(plan, slices, &attribute.roles[r], carried)
        slice_members(plan, slices, attribute, r, number)
        for leaf in range(
            attribute.roles[r].starts[<int>G_PRESENT], attribute.roles[r].starts[<int>G_LAZY]
        ):
            put_leaf(slices, leaf, carried, NULL)
        for leaf in range(
            attribute.roles[r].starts[<int>G_LAZY], attribute.roles[r].starts[<int>GROUPS]
        ):
            slices.of_leaf[leaf] = NOTHING


cdef void slice_leaves(const Plan* plan, const CatalogTable* table, Slices* slices) noexcept nogil:
    cdef uint32_t leaf, attribute
    cdef int r
    clear_pool(slices)
    slices.of_leaf.assign(plan.totals.leaves, 0)
    for attribute in range(<uint32_t>section_count(plan, ATTRIBUTES)):
        slice_attribute(plan, table, slices, attribute)
    for r in range(<int>ROLES):
        for leaf in range(plan.totals.missing[r], plan.totals.missing_end[r]):
            attribute = plan.predicates.predicates[leaf].attribute
            put_leaf(slices, leaf, &slices.carried[attribute], &slices.eligible)
    for leaf in range(plan.totals.filled, plan.totals.leaves):
        slices.of_leaf[leaf] = NOTHING


cdef void clear_pool(Slices* slices) noexcept nogil:
    slices.pool.clear()
    slices.pool.resize(1)
    clear(&slices.pool[0])


cdef uint32_t ask_leaf(
    const Plan* plan, const CatalogTable* table, Slices* slices, uint32_t leaf
) noexcept nogil:
    """The slice of a lazy leaf, made when it is first asked for."""
    cdef const Slice* carried
    cdef Slice made
    cdef uint32_t row
    if slices.of_leaf[leaf] != NOTHING:
        return slices.of_leaf[leaf]
    carried = &slices.carried[plan.predicates.predicates[leaf].attribute]
    clear(&made)
    for row in range(slices.rows):
        if carried.words[row >> 6] >> (row & 63) & 1 and TRUE == test_predicate(
            plan.predicates, &plan.predicates.predicates[leaf], table, &slices.visits[row]
        ):
            set_row(&made, row)
    slices.of_leaf[leaf] = store(slices, &made)
    return slices.of_leaf[leaf]


# 3. Nodes.

cdef inline uint32_t slice_of(
    const Plan* plan, const CatalogTable* table, Slices* slices, uint32_t number
) noexcept nogil:
    if slices.of_node[number] != NOTHING:
        return slices.of_node[number]
    return ask_leaf(plan, table, slices, plan.nodes[number].first)


cdef uint32_t slice_and(
    const Plan* plan, const CatalogTable* table, Slices* slices, const PlanNode* node
) noexcept nogil:
    cdef uint32_t found = slice_of(plan, table, slices, plan.edges[node.first])
    cdef Slice made
    cdef uint32_t i
    if found == 0:
        return 0
    made = slices.pool[found]
    for i in range(1, node.count):
        found = slice_of(plan, table, slices, plan.edges[node.first + i])
        if found == 0:
            return 0
        keep(&made, &slices.pool[found])
        if is_empty(&made):
            return 0
    return store(slices, &made)


cdef uint32_t slice_or(
    const Plan* plan, const CatalogTable* table, Slices* slices, const PlanNode* node
) noexcept nogil:
    cdef uint32_t only = 0, others = 0, found, i
    cdef Slice made
    for i in range(node.count):
        found = slice_of(plan, table, slices, plan.edges[node.first + i])
        if found == 0:
            continue
        if only == 0:
            only = found
            continue
        if others == 0:
            made = slices.pool[only]
        others += 1
        add(&made, &slices.pool[found])
    return only if others == 0 else store(slices, &made)


cdef void slice_nodes(const Plan* plan, const CatalogTable* table, Slices* slices) noexcept nogil:
    cdef const PlanNode* node
    cdef uint32_t number, behind
    for number in range(<uint32_t>plan.node_count):
        node = &plan.nodes[number]
        if node.kind == NORMAL_PREDICATE:
            slices.of_node[number] = slices.of_leaf[node.first]
        elif node.kind == NORMAL_AND:
            slices.of_node[number] = slice_and(plan, table, slices, node)
        elif node.kind == NORMAL_OR:
            slices.of_node[number] = slice_or(plan, table, slices, node)
        elif node.kind == NORMAL_REFERENCE:
            behind = plan.definitions[node.first].root
            if node.negated:
                behind = plan.definitions[node.first].dual
            slices.of_node[number] = slice_of(plan, table, slices, behind)
        else:
            slices.of_node[number] = 0
            if node.kind == NORMAL_TRUE:
                slices.of_node[number] = store(slices, &slices.eligible)


# 4. Counts.

cdef void add_bits(
    const Slice* found, const int64_t* groups, int64_t size, uint32_t entry, int64_t* counts
) noexcept nogil:
    cdef uint64_t bits
    cdef int64_t line
    cdef int i
    for i in range(WORDS_OF_SLICE):
        bits = found.words[i]
        if groups == NULL:
            counts[entry] += count_bits(bits)
            continue
        while bits:
            line = groups[64 * i + first_bit(bits)]
            if line >= 0:
                counts[line * size + entry] += 1
            bits &= bits - 1


cdef void count_block(
    const Plan* plan,
    const CatalogTable* table,
    Slices* slices,
    const int64_t* groups,
    int64_t* counts,
) noexcept nogil:
    cdef int64_t size = <int64_t>plan.totals.entries
    cdef const Expression* expression
    cdef uint32_t found, entry
    cdef uint64_t i
    locate_rows(plan, table, slices)
    slice_leaves(plan, table, slices)
    slice_nodes(plan, table, slices)
    for i in range(plan.expression_count):
        expression = &plan.expressions[i]
        found = slice_of(plan, table, slices, expression.node)
        if found:
            for entry in range(expression.first, expression.first + expression.count):
                add_bits(&slices.pool[found], groups, size, entry, counts)
