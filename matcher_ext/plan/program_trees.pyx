"""Joins the tests of a program to trees (program_trees.pxd)."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport PlanNode
from matcher_ext.plan.record_format cimport (
    RECORD_NEVER, RECORD_WIDE, count_tests, is_wide, narrow_atom, narrow_jump, sense_of, tests_of,
    wide_jump,
)
from matcher_ext.values.normal_form cimport (
    NORMAL_AND, NORMAL_FALSE, NORMAL_OR, NORMAL_PREDICATE, NORMAL_TRUE,
)


cdef void begin_trees(
    Trees* trees, vector[PlanNode]* nodes, vector[uint32_t]* edges, uint32_t leaves
) noexcept nogil:
    trees.nodes = nodes
    trees.edges = edges
    trees.leaves = leaves
    trees.truths[0] = NOTHING
    trees.truths[1] = NOTHING


cdef uint32_t add_truth(Trees* trees, bint truth) noexcept nogil:
    if trees.truths[truth] == NOTHING:
        trees.truths[truth] = add_inner(trees, NORMAL_TRUE if truth else NORMAL_FALSE, NULL, 0)
    return trees.truths[truth]


cdef uint32_t add_inner(
    Trees* trees, uint8_t kind, const uint32_t* children, uint32_t count
) noexcept nogil:
    cdef PlanNode made
    memset(&made, 0, sizeof(made))
    made.kind = kind
    made.first = <uint32_t>trees.edges.size()
    made.count = count
    if count:
        trees.edges.insert(trees.edges.end(), children, children + count)
    trees.nodes.push_back(made)
    return <uint32_t>(trees.nodes.size() - 1)


cdef void read_test(Trees* trees, const uint32_t* program, uint32_t at, Part* part) noexcept nogil:
    """Makes a part of one test; appends its child."""
    cdef const uint32_t* tests = tests_of(program)
    cdef uint32_t atom, jump, sense
    if is_wide(program):
        atom = tests[2 * at]
        jump = wide_jump(tests[2 * at + 1])
        sense = sense_of(tests[2 * at + 1])
    else:
        atom = narrow_atom(tests[at])
        jump = narrow_jump(tests[at])
        sense = sense_of(tests[at])
    part.start = at
    part.when_true = at + (jump if sense else 1)
    part.when_false = at + (1 if sense else jump)
    part.kind = NORMAL_PREDICATE
    part.first = <uint32_t>trees.children.size()
    trees.children.push_back(
        atom if atom < trees.leaves else trees.slots[atom - trees.leaves]
    )


cdef bint can_join(
    Trees* trees, const Part* first, const Part* second, uint8_t* kind
) noexcept nogil:
    if trees.leads[second.start] != 1:
        return False
    if first.when_true == second.start and first.when_false == second.when_false:
        kind[0] = NORMAL_AND
        return True
    if first.when_false == second.start and first.when_true == second.when_true:
        kind[0] = NORMAL_OR
        return True
    return False


cdef void close_part(Trees* trees, Part* part, uint32_t end) noexcept nogil:
    """Makes one node of a part's children, which end at `end`; moves up those behind."""
    cdef uint32_t node = add_inner(
        trees, part.kind, trees.children.data() + part.first, end - part.first
    )
    trees.children[part.first] = node
    trees.children.erase(
        trees.children.begin() + part.first + 1, trees.children.begin() + end
    )
    part.kind = NORMAL_PREDICATE


cdef void join(Trees* trees, uint8_t kind) noexcept nogil:
    """Joins the last two parts."""
    cdef Part* second = &trees.parts.back()
    cdef Part* first = second - 1
    if second.kind != NORMAL_PREDICATE and second.kind != kind:
        close_part(trees, second, <uint32_t>trees.children.size())
    if first.kind != NORMAL_PREDICATE and first.kind != kind:
        close_part(trees, first, second.first)
    # The place that both led to has one lead less.
    if kind == NORMAL_AND:
        trees.leads[second.when_false] -= 1
    else:
        trees.leads[second.when_true] -= 1
    first.when_true = second.when_true
    first.when_false = second.when_false
    first.kind = kind
    trees.parts.pop_back()


cdef bint read_plain(Trees* trees, const uint32_t* program) noexcept nogil:
    """Reads a program that is an AND of its tests and nothing else, as half of all are; or
    False."""
    cdef const uint32_t* tests = tests_of(program)
    cdef uint32_t count = count_tests(program)
    cdef uint32_t i, atom
    if count == 0 or program[0] & (RECORD_WIDE | RECORD_NEVER):
        return False
    for i in range(count):
        if sense_of(tests[i]) or narrow_jump(tests[i]) != count + 1 - i:
            return False
    trees.children.resize(count)
    for i in range(count):
        atom = narrow_atom(tests[i])
        trees.children[i] = atom if atom < trees.leaves else trees.slots[atom - trees.leaves]
    return True


cdef bint join_program(Trees* trees, const uint32_t* program) noexcept nogil:
    """Joins a program's tests to one part, or none of an empty program, or returns False."""
    cdef uint32_t count = count_tests(program)
    cdef uint32_t i
    cdef Part part
    cdef uint8_t kind = NORMAL_AND
    trees.parts.clear()
    trees.children.clear()
    trees.leads.assign(count + 2, 0)
    for i in range(count):
        read_test(trees, program, i, &part)
        trees.leads[part.when_true] += 1
        trees.leads[part.when_false] += 1
        trees.parts.push_back(part)
        while trees.parts.size() > 1 and can_join(
            trees, &trees.parts[trees.parts.size() - 2], &trees.parts.back(), &kind
        ):
            join(trees, kind)
    return count == 0 or trees.parts.size() == 1 and (
        trees.parts[0].when_true == count and trees.parts[0].when_false == count + 1
    )


cdef uint32_t add_tree(
    Trees* trees, const uint32_t* program, const uint32_t* also, uint32_t also_count
) noexcept nogil:
    cdef uint8_t kind = NORMAL_AND
    if not read_plain(trees, program):
        if not join_program(trees, program):
            return NOTHING
        if program[0] & RECORD_NEVER:
            return add_truth(trees, False)
        if not trees.parts.empty():
            kind = trees.parts[0].kind
        if kind == NORMAL_OR and also_count:
            close_part(trees, &trees.parts[0], <uint32_t>trees.children.size())
            kind = NORMAL_AND
    trees.children.insert(trees.children.begin(), also, also + also_count)
    if trees.children.empty():
        return add_truth(trees, True)
    if trees.children.size() == 1:
        return trees.children[0]
    if kind == NORMAL_PREDICATE:
        kind = NORMAL_AND
    return add_inner(trees, kind, trees.children.data(), <uint32_t>trees.children.size())
