"""A plain scan over a snapshot's expressions, for benchmarks and for differential tests."""
import numpy

from libc.stdint cimport INT32_MIN, int32_t, int64_t, uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from matcher_ext.arena cimport (
    FLOAT,
    GEO,
    INTEGER_SET,
    IP,
    NORMAL_AND,
    NORMAL_OR,
    NORMAL_PREDICATE,
    STRING,
    STRING_SET,
    TRUE,
    Predicate,
    text_length,
    text_offset,
)
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.graph cimport begin_graph_visit, evaluate_node
from matcher_ext.leaves cimport group_of
from matcher_ext.filling cimport find_number, find_text
from matcher_ext.plan cimport *
from matcher_ext.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.visit cimport Value, is_eligible, read_visit, test_predicate


cdef int32_t code_value(
    const Plan* plan, const CatalogTable* table, uint32_t number, int64_t word, const char* bytes
) noexcept nogil:
    cdef const AttributeIndex* attribute = &plan.attributes[number]
    cdef int type = table.attributes[number].type
    cdef uint32_t rank
    if type == STRING:
        if not attribute.key_count:
            return 0
        rank = find_text(plan, attribute, bytes + text_offset(word), text_length(word))
        return <int32_t>(2 * rank + (rank < attribute.key_count))
    if type == FLOAT:
        word = order_float(word)
    rank = find_number(plan, attribute, word)
    return <int32_t>(
        2 * rank + (rank < attribute.key_count and plan.keys[attribute.keys + rank] == word)
    )


cdef inline bint has_value(const int32_t* values, int32_t count, int32_t value) noexcept nogil:
    cdef int32_t i
    for i in range(count):
        if values[i] == value:
            return True
    return False


cdef bint run_scan(
    const Plan* plan,
    const CatalogTable* table,
    ScratchHolder holder,
    const int32_t* base,
    const int32_t** at,
    const int32_t* visit,
) noexcept nogil:
    """Tests what is at `at` and moves it behind."""
    cdef const int32_t* code = at[0]
    cdef int test = code[0] & 0xFF
    cdef int32_t value
    cdef const int32_t* end
    cdef bint truth
    if test >= SCAN_AND:
        end = base + code[1]
        at[0] = code + 2
        while at[0] < end:
            truth = run_scan(plan, table, holder, base, at, visit)
            if truth == (test == SCAN_OR):
                at[0] = end
                return truth
        return test == SCAN_AND
    if test >= SCAN_OTHER:
        at[0] = code + 2
        if test == SCAN_OTHER:
            return TRUE == test_predicate(
                plan.predicates, &plan.predicates.predicates[code[1]], table,
                &holder.scratch.visit,
            )
        return TRUE == evaluate_node(
            plan, table, &holder.scratch.visit, &holder.graph, <uint32_t>code[1]
        )
    value = visit[code[0] >> 8]
    if test >= SCAN_MEMBER:
        at[0] = code + 2 + code[1]
        return value != INT32_MIN and (
            has_value(code + 2, code[1], value) == (test == SCAN_MEMBER)
        )
    at[0] = code + (3 if test >= SCAN_BETWEEN else 2)
    if value == INT32_MIN:
        return False
    if test == SCAN_EQUAL:
        return value == code[1]
    if test == SCAN_UNEQUAL:
        return value != code[1]
    if test == SCAN_UP_TO:
        return value <= code[1]
    if test == SCAN_ABOVE:
        return value > code[1]
    if test == SCAN_BELOW:
        return value < code[1]
    if test == SCAN_FROM:
        return value >= code[1]
    return (code[1] <= value <= code[2]) == (test == SCAN_BETWEEN)


cdef object copy_found(const vector[int64_t]* found):
    ids = numpy.empty(found.size(), dtype=numpy.int64)
    cdef int64_t[::1] target = ids
    if found.size():
        memcpy(&target[0], found.data(), found.size() * sizeof(int64_t))
    return ids


cdef class Scan:
    def __init__(self, Snapshot snapshot):
        cdef uint32_t i
        self.snapshot = snapshot
        self.holder = snapshot._take()
        for i in range(<uint32_t>section_count(&snapshot.plan, EXPRESSIONS)):
            self.starts.push_back(<uint32_t>self.code.size())
            self._emit(snapshot.plan.expressions[i].node)

    cdef int _emit(self, uint32_t number) except -1:
        cdef const PlanNode* node = &self.snapshot.plan.nodes[number]
        cdef size_t at
        cdef uint32_t i, child
        cdef bint is_leaf
        if node.kind == NORMAL_PREDICATE:
            return self._emit_leaf(node.first)
        if node.kind != NORMAL_AND and node.kind != NORMAL_OR:
            self.code.push_back(SCAN_NODE)
            self.code.push_back(<int32_t>number)
            return 0
        self.code.push_back(SCAN_AND if node.kind == NORMAL_AND else SCAN_OR)
        at = self.code.size()
        self.code.push_back(0)
        for is_leaf in (True, False):
            for i in range(node.count):
                child = self.snapshot.plan.edges[node.first + i]
                if (self.snapshot.plan.nodes[child].kind == NORMAL_PREDICATE) == is_leaf:
                    self._emit(child)
        self.code[at] = <int32_t>self.code.size()
        return 0

    cdef int _emit_leaf(self, uint32_t leaf) except -1:
        cdef const Plan* plan = &self.snapshot.plan
        cdef const CatalogTable* table = &self.snapshot.catalog.table
        cdef const Predicate* predicate = &plan.predicates.predicates[leaf]
        cdef int group = group_of(predicate)
        cdef uint32_t i
        if group > G_STRANGER or predicate.type == STRING_SET or predicate.type == INTEGER_SET:
            self.code.push_back(SCAN_OTHER)
            self.code.push_back(<int32_t>leaf)
            return 0
        self.code.push_back(<int32_t>(group | predicate.attribute << 8))
        if group >= G_MEMBER:
            self.code.push_back(<int32_t>predicate.count)
        for i in range(predicate.count):
            self.code.push_back(code_value(
                plan, table, predicate.attribute, plan.predicates.words[predicate.first + i],
                plan.predicates.bytes,
            ))
        return 0

    def match_ids(self, visit):
        """The ids whose expressions are true of the visit, as a numpy array in no order."""
        cdef ScratchHolder holder = self.holder
        cdef const Plan* plan = &self.snapshot.plan
        cdef const CatalogTable* table = &self.snapshot.catalog.table
        cdef const int32_t* base = self.code.data()
        cdef const int32_t* at
        cdef vector[int64_t] found
        cdef size_t i
        cdef uint32_t k, attribute
        cdef int type
        read_visit(self.snapshot.catalog, visit, &holder.scratch.visit)
        begin_graph_visit(plan, &holder.graph)
        with nogil:
            self.values.assign(table.attributes.size(), INT32_MIN)
            for i in range(holder.scratch.visit.carried.size()):
                attribute = holder.scratch.visit.carried[i]
                type = table.attributes[attribute].type
                if type != STRING_SET and type != INTEGER_SET and type != IP and type != GEO:
                    self.values[attribute] = code_value(
                        plan, table, attribute, holder.scratch.visit.values[attribute].word,
                        holder.scratch.visit.bytes.data(),
                    )
            for i in range(self.starts.size() if is_eligible(table, &holder.scratch.visit) else 0):
                at = base + self.starts[i]
                if run_scan(plan, table, holder, base, &at, self.values.data()):
                    for k in range(plan.expressions[i].count):
                        found.push_back(plan.ids[plan.expressions[i].first + k])
        return copy_found(&found)
