"""Compiles a snapshot's expressions to one program and scans them (scan.pxd)."""
import numpy

from libc.stdint cimport INT32_MIN, int32_t, int64_t, uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from matcher_ext.index.snapshot cimport ScratchHolder, Snapshot
from matcher_ext.match.leaf_bits cimport find_number, find_text
from matcher_ext.plan.graph cimport begin_graph_visit, evaluate_node
from matcher_ext.plan.plan cimport Expression, Plan, PlanNode, id_of
from matcher_ext.plan.predicate_index cimport (
    G_MEMBER, G_STRANGER, AttributeIndex, group_of, order_float,
)
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE
from matcher_ext.values.predicate cimport (
    FLOAT, GEO, INTEGER_SET, IP, STRING, STRING_SET, TRUE, Predicate,
)
from matcher_ext.values.spans cimport text_length, text_offset
from matcher_ext.visits.dict_reader cimport read_visit
from matcher_ext.visits.predicate_tests cimport test_predicate
from matcher_ext.visits.visit cimport Visit, has_required


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


cdef inline bint has_value(const uint32_t* values, uint32_t count, uint32_t value) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        if values[i] == value:
            return True
    return False


cdef bint test_other(
    const Plan* plan, const CatalogTable* table, ScratchHolder holder, const uint32_t* code
) noexcept nogil:
    if code[0] & 0xFF == SCAN_OTHER:
        return TRUE == test_predicate(
            plan.predicates, &plan.predicates.predicates[code[2]], table, &holder.scratch.visit
        )
    return TRUE == evaluate_node(
        plan, table, &holder.scratch.visit, &holder.graph, code[2]
    )


cdef inline bint test_value(const uint32_t* code, int test, int32_t value) noexcept nogil:
    cdef int32_t bound = <int32_t>code[2]
    if test == SCAN_EQUAL:
        return value == bound
    if test == SCAN_UNEQUAL:
        return value != bound
    if test == SCAN_UP_TO:
        return value <= bound
    if test == SCAN_ABOVE:
        return value > bound
    if test == SCAN_BELOW:
        return value < bound
    if test == SCAN_FROM:
        return value >= bound
    if test == SCAN_BETWEEN or test == SCAN_OUTSIDE:
        return (bound <= value <= <int32_t>code[3]) == (test == SCAN_BETWEEN)
    return has_value(code + 3, code[2], <uint32_t>value) == (test == SCAN_MEMBER)


cdef void run_scan(
    const Plan* plan,
    const CatalogTable* table,
    ScratchHolder holder,
    const uint32_t* code,
    const int32_t* visit,
    vector[int64_t]* found,
) noexcept nogil:
    cdef const Expression* expression
    cdef int32_t value
    cdef uint32_t k
    cdef int test
    cdef bint truth
    while True:
        value = visit[code[0] >> 8]
        if value == INT32_MIN:
            code += code[1] & 0xFFFF
            continue
        test = code[0] & 0xFF
        if test <= SCAN_STRANGER:
            truth = test_value(code, test, value)
        elif test <= SCAN_NODE:
            truth = test_other(plan, table, holder, code)
        elif test == SCAN_HIT:
            expression = &plan.expressions[code[1]]
            for k in range(expression.first, expression.first + expression.count):
                found.push_back(id_of(plan, k))
            code += 2
            continue
        else:
            return
        code += code[1] >> 16 if truth else code[1] & 0xFFFF


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
        snapshot._thaw()
        for i in range(<uint32_t>snapshot.plan.expression_count):
            self._emit_expression(i)
        self._emit_word(SCAN_END)

    cdef int _emit_word(self, uint32_t test) except -1:
        """Writes a word whose attribute is one that every visit carries."""
        self.code.push_back(test | <uint32_t>self.snapshot.catalog.table.attributes.size() << 8)
        return 0

    cdef int _emit_expression(self, uint32_t expression) except -1:
        cdef vector[Jump] if_false, if_true
        cdef uint32_t node = self.snapshot.plan.expressions[expression].node
        self.start = self.code.size()
        self._emit(node, &if_false, &if_true)
        if self.code.size() - self.start > LONGEST:
            self.code.resize(self.start)
            if_false.clear()
            if_true.clear()
            self._emit_test(SCAN_NODE, node, &if_false, &if_true)
        self._land(&if_true)
        self._emit_word(SCAN_HIT)
        self.code.push_back(expression)
        self._land(&if_false)
        return 0

    cdef int _land(self, const vector[Jump]* jumps) except -1:
        """Lets jumps lead here."""
        cdef size_t i
        cdef uint32_t distance
        for i in range(jumps.size()):
            distance = <uint32_t>self.code.size() - jumps[0][i].at
            self.code[jumps[0][i].at + 1] |= distance << (16 if jumps[0][i].sense else 0)
        return 0

    cdef int _emit(
        self, uint32_t number, vector[Jump]* if_false, vector[Jump]* if_true
    ) except -1:
        cdef const PlanNode* node = &self.snapshot.plan.nodes[number]
        cdef vector[uint32_t] children
        cdef vector[Jump] next_child
        cdef uint32_t i, child
        cdef bint is_leaf, is_last
        if node.kind != NORMAL_AND and node.kind != NORMAL_OR:
            return self._emit_test(SCAN_NODE, number, if_false, if_true)
        if self.code.size() - self.start > LONGEST:
            return 0            # given up
        for is_leaf in (True, False):
            for i in range(node.count):
                child = self.snapshot.plan.edges[node.first + i]
                if (self.snapshot.plan.nodes[child].kind == NORMAL_PREDICATE) == is_leaf:
                    children.push_back(child)
        for i in range(node.count):
            is_last = i + 1 == node.count
            next_child.clear()
            self._emit(
                children[i],
                if_false if is_last or node.kind == NORMAL_AND else &next_child,
                if_true if is_last or node.kind == NORMAL_OR else &next_child,
            )
            self._land(&next_child)
        return 0

    cdef int _emit_test(
        self, uint32_t test, uint32_t number, vector[Jump]* if_false, vector[Jump]* if_true
    ) except -1:
        cdef Jump jump
        jump.at = <uint32_t>self.code.size()
        jump.sense = False
        if_false.push_back(jump)
        jump.sense = True
        if_true.push_back(jump)
        self._emit_word(test)
        self.code.push_back(0)
        self.code.push_back(number)
        if self.snapshot.plan.nodes[number].kind == NORMAL_PREDICATE:
            self._emit_leaf(jump.at, self.snapshot.plan.nodes[number].first)
        return 0

    cdef int _emit_leaf(self, size_t at, uint32_t leaf) except -1:
        """Replaces the test of a node by that of its predicate."""
        cdef const Plan* plan = &self.snapshot.plan
        cdef const CatalogTable* table = &self.snapshot.catalog.table
        cdef const Predicate* predicate = &plan.predicates.predicates[leaf]
        cdef int group = group_of(predicate)
        cdef uint32_t i
        self.code.resize(at)
        if group > G_STRANGER or predicate.type == STRING_SET or predicate.type == INTEGER_SET or (
            group >= G_MEMBER and leaf >= plan.totals.filled    # a long list, without keys
        ):
            self._emit_word(SCAN_OTHER)
            self.code.push_back(0)
            self.code.push_back(leaf)
            return 0
        self.code.push_back(<uint32_t>group | predicate.attribute << 8)
        self.code.push_back(0)
        if group >= G_MEMBER:
            self.code.push_back(predicate.count)
        for i in range(predicate.count):
            self.code.push_back(<uint32_t>code_value(
                plan, table, predicate.attribute, plan.predicates.words[predicate.first + i],
                plan.predicates.bytes,
            ))
        return 0

    def match_ids(self, visit):
        """Returns the ids whose expressions are true of the visit, as a numpy array in no order."""
        cdef ScratchHolder holder = self.holder
        cdef const CatalogTable* table = &self.snapshot.catalog.table
        cdef vector[int64_t] found
        read_visit(self.snapshot.catalog, visit, &holder.scratch.visit)
        begin_graph_visit(&self.snapshot.plan, &holder.graph)
        with nogil:
            if has_required(table, &holder.scratch.visit):
                self._code_values(&holder.scratch.visit)
                run_scan(
                    &self.snapshot.plan, table, holder, self.code.data(), self.values.data(),
                    &found,
                )
        return copy_found(&found)

    def program_bytes(self):
        return self.code.capacity() * sizeof(uint32_t)

    cdef void _code_values(self, const Visit* visit) noexcept nogil:
        cdef const CatalogTable* table = &self.snapshot.catalog.table
        cdef uint32_t attribute
        cdef size_t i
        cdef int type
        self.values.assign(table.attributes.size() + 1, INT32_MIN)
        self.values[table.attributes.size()] = 0
        for i in range(visit.carried.size()):
            attribute = visit.carried[i]
            type = table.attributes[attribute].type
            if type != STRING_SET and type != INTEGER_SET and type != IP and type != GEO:
                self.values[attribute] = code_value(
                    &self.snapshot.plan, table, attribute, visit.values[attribute].word,
                    visit.bytes.data(),
                )
