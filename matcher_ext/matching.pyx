"""The matcher of one visit over a frozen plan."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from matcher_ext.arena cimport (
    FALSE,
    GEO,
    IP,
    NORMAL_AND,
    NORMAL_FALSE,
    NORMAL_OR,
    NORMAL_PREDICATE,
    NORMAL_REFERENCE,
    NORMAL_TRUE,
    STRING,
    STRING_SET,
    INTEGER_SET,
    TRUE,
    UNDEFINED,
    Truth,
    text_length,
    text_offset,
)
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.plan cimport (
    NODES,
    ROOTS,
    Key,
    Plan,
    PlanNode,
    Range,
    key_hash_text,
    key_hash_word,
    section_count,
)
from matcher_ext.visit cimport Value, Visit, is_eligible, test_predicate


cdef void open_scratch(const Plan* plan, Scratch* scratch) noexcept nogil:
    scratch.truths.assign(section_count(plan, NODES), 0)
    scratch.asked.assign(section_count(plan, ROOTS), 0)
    scratch.signature = 0


cdef void begin_visit(const Plan* plan, Scratch* scratch) noexcept nogil:
    scratch.matched.clear()
    scratch.signature += 1
    if scratch.signature == 1 << 30:
        open_scratch(plan, scratch)
        scratch.signature = 1


cdef Truth combine(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, const PlanNode* node
) noexcept nogil:
    """And / or by Kleene's tables: one child may settle it, else undefined wins."""
    cdef Truth settles = FALSE if node.kind == NORMAL_AND else TRUE
    cdef Truth result = TRUE if node.kind == NORMAL_AND else FALSE
    cdef Truth truth
    cdef uint32_t i
    for i in range(node.count):
        truth = evaluate(plan, table, scratch, plan.edges[node.first + i])
        if truth == settles:
            return settles
        if truth == UNDEFINED:
            result = UNDEFINED
    return result


cdef Truth evaluate(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t number
) noexcept nogil:
    cdef const PlanNode* node = &plan.nodes[number]
    cdef Truth truth
    if scratch.truths[number] >> 2 == scratch.signature:
        return <Truth>(scratch.truths[number] & 3)
    if node.kind == NORMAL_PREDICATE:
        truth = test_predicate(
            plan.predicates, &plan.predicates.predicates[node.first], table, &scratch.visit
        )
    elif node.kind == NORMAL_REFERENCE:
        truth = evaluate(plan, table, scratch, plan.definitions[node.first].root)
        if node.negated and truth != UNDEFINED:
            truth = FALSE if truth == TRUE else TRUE
    elif node.kind == NORMAL_AND or node.kind == NORMAL_OR:
        truth = combine(plan, table, scratch, node)
    else:
        truth = TRUE if node.kind == NORMAL_TRUE else FALSE
    scratch.truths[number] = scratch.signature << 2 | <uint32_t>truth
    return truth


cdef void try_postings(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t first, uint32_t count
) noexcept nogil:
    cdef uint32_t i, root
    for i in range(count):
        root = plan.postings[first + i]
        if scratch.asked[root] == scratch.signature:
            continue
        scratch.asked[root] = scratch.signature
        if evaluate(plan, table, scratch, plan.roots[root].node) == TRUE:
            scratch.matched.push_back(root)


cdef void try_word(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute, int64_t word
) noexcept nogil:
    cdef uint64_t slot = key_hash_word(attribute, word) & plan.key_mask
    cdef const Key* key = &plan.keys[slot]
    while key.count:
        if key.attribute == attribute and key.word == word and not key.textual:
            try_postings(plan, table, scratch, key.first, key.count)
            return
        slot = (slot + 1) & plan.key_mask
        key = &plan.keys[slot]


cdef void try_text(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute, int64_t word
) noexcept nogil:
    cdef const char* text = scratch.visit.bytes.data() + text_offset(word)
    cdef uint32_t length = text_length(word)
    cdef uint64_t slot = key_hash_text(attribute, text, length) & plan.key_mask
    cdef const Key* key = &plan.keys[slot]
    while key.count:
        if key.attribute == attribute and key.textual and text_length(key.word) == length and (
            memcmp(plan.predicates.bytes + text_offset(key.word), text, length) == 0
        ):
            try_postings(plan, table, scratch, key.first, key.count)
            return
        slot = (slot + 1) & plan.key_mask
        key = &plan.keys[slot]


cdef void try_attribute(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute
) noexcept nogil:
    cdef Value value = scratch.visit.values[attribute]
    cdef int type = table.attributes[attribute].type
    cdef uint32_t i
    if type == STRING:
        try_text(plan, table, scratch, attribute, value.word)
    elif type == STRING_SET:
        for i in range(value.count):
            try_text(plan, table, scratch, attribute, scratch.visit.words[value.first + i])
    elif type == INTEGER_SET:
        for i in range(value.count):
            try_word(plan, table, scratch, attribute, scratch.visit.words[value.first + i])
    elif type != IP and type != GEO:
        try_word(plan, table, scratch, attribute, value.word)
    try_postings(
        plan, table, scratch, plan.carried[attribute].first, plan.carried[attribute].count
    )


cdef void match_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil:
    cdef const Range* always = &plan.carried[plan.attributes]
    cdef size_t i
    begin_visit(plan, scratch)
    if not is_eligible(table, &scratch.visit):
        return
    for i in range(scratch.visit.carried.size()):
        try_attribute(plan, table, scratch, scratch.visit.carried[i])
    try_postings(plan, table, scratch, always.first, always.count)


cdef size_t count_ids(const Plan* plan, const Scratch* scratch) noexcept nogil:
    cdef size_t total = 0, i
    for i in range(scratch.matched.size()):
        total += plan.roots[scratch.matched[i]].count
    return total


cdef void copy_ids(const Plan* plan, const Scratch* scratch, int64_t* target) noexcept nogil:
    cdef size_t i
    cdef uint32_t count
    for i in range(scratch.matched.size()):
        count = plan.roots[scratch.matched[i]].count
        memcpy(target, plan.ids + plan.roots[scratch.matched[i]].first, count * sizeof(int64_t))
        target += count
