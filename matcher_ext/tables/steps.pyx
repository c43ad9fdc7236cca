"""Counts funnels and sole blockers, block by block (steps.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from matcher_ext.machine.keeping cimport fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.asking cimport (
    Asker, ask_node, find_known, open_block, read_node, shelf_rows,
)
from matcher_ext.tables.kernels cimport (
    add_failures, add_false, and_rows, carry_failures, count_both, count_except, count_rows,
    except_rows,
)

cdef extern from * nogil:
    """
    #include <algorithm>
    #include <cstdint>
    // Orders bookings by gate, then by their steps.
    static inline void order_bookings(
        uint32_t* first, uint32_t* last, const uint32_t* gates, const uint32_t* firsts,
        const uint32_t* rests, const uint32_t* nodes
    ) {
        std::sort(first, last, [=](uint32_t a, uint32_t b) {
            if (gates[a] != gates[b]) return gates[a] < gates[b];
            return std::lexicographical_compare(
                nodes + firsts[a], nodes + rests[a], nodes + firsts[b], nodes + rests[b]
            );
        });
    }
    static inline size_t place_gate(
        const uint32_t* order, size_t count, const uint32_t* gates, uint32_t gate
    ) {
        return (size_t)(std::lower_bound(order, order + count, gate, [=](uint32_t a, uint32_t b) {
            return gates[a] < b;
        }) - order);
    }
    """
    void order_bookings(
        uint32_t* first, uint32_t* last, const uint32_t* gates, const uint32_t* firsts,
        const uint32_t* rests, const uint32_t* nodes
    )
    # Finds the first booking whose gate is not smaller.
    size_t place_gate(const uint32_t* order, size_t count, const uint32_t* gates, uint32_t gate)


cdef cppclass Stack:
    """What the steps of the present booking came to, by depth."""
    vector[vector[uint64_t]] rows       # passed; or failed once or more
    vector[vector[uint64_t]] others     # failed twice or more
    vector[vector[uint64_t]] truths     # of the rest, by condition
    vector[const uint64_t*] found       # of steps and rest
    vector[uint32_t] nodes              # steps
    vector[int64_t] passed              # visits, by depth
    vector[int64_t] failed              # visits of which the step is false
    vector[char] is_open                # by depth: rows are left
    int64_t weight

ctypedef int (*FollowBooking)(
    Asker*, const Followed*, size_t, Stack*, int64_t*
) except -1 nogil


cdef int order_followed(Followed* followed) except -1 nogil:
    cdef uint32_t i
    for i in range(<uint32_t>followed.gates.size()):
        followed.order.push_back(i)
    order_bookings(
        followed.order.data(), followed.order.data() + followed.order.size(),
        followed.gates.data(), followed.firsts.data(), followed.rests.data(), followed.nodes.data(),
    )
    return 0


cdef uint32_t share_steps(
    const Followed* followed, size_t booking, Stack* stack
) except 0xFFFFFFFF nogil:
    """Says how many of a booking's steps are on the stack; puts the others in their place."""
    cdef uint32_t first = followed.firsts[booking]
    cdef uint32_t count = followed.rests[booking] - first
    cdef uint32_t same = 0
    cdef uint32_t i
    while same < count and same < stack.nodes.size() and (
        stack.nodes[same] == followed.nodes[first + same]
    ):
        same += 1
    stack.nodes.resize(same)
    for i in range(same, count):
        stack.nodes.push_back(followed.nodes[first + i])
    if stack.passed.size() <= count:
        stack.passed.resize(count + 1)
        stack.failed.resize(count + 1)
        stack.is_open.resize(count + 1)
    return same


cdef int follow_gate(
    Asker* asker, const Followed* followed, uint32_t gate, FollowBooking follow, Stack* stack,
    int64_t* results,
) except -1 nogil:
    cdef size_t count = followed.order.size()
    cdef size_t i = place_gate(followed.order.data(), count, followed.gates.data(), gate)
    while i < count and followed.gates[followed.order[i]] == gate:
        follow(asker, followed, followed.order[i], stack, results)
        i += 1
    return 0


cdef int follow_blocks(
    Asker* asker, const Followed* followed, FollowBooking follow, int64_t* results
) except -1 nogil:
    cdef Stack stack
    cdef uint32_t block
    for block in range(asker.table.block_count):
        open_block(asker, block)
        stack.weight = asker.table.blocks[block].weight
        stack.nodes.clear()
        fill_vector(stack.passed, 1, <int64_t>count_rows(asker.valid, asker.words))
        fill_vector(stack.is_open, 1, stack.passed[0] > 0)
        fill_vector(stack.failed, 1, 0)
        if not stack.is_open[0]:
            continue
        memcpy(shelf_rows(&stack.rows, 0), asker.valid, 8 * <size_t>asker.words)
        if asker.table.blocks[block].by != NOTHING:
            follow_gate(
                asker, followed, asker.table.blocks[block].by, follow, &stack, results
            )
        follow_gate(asker, followed, NOTHING, follow, &stack, results)
    return 0


# Funnels.

cdef int pass_step(Asker* asker, Stack* stack, uint32_t depth) except -1 nogil:
    """Counts the visits that pass a step, of those that came to it."""
    cdef const uint64_t* came = shelf_rows(&stack.rows, depth)
    cdef uint64_t* rows = shelf_rows(&stack.rows, depth + 1)
    cdef const uint64_t* more
    stack.passed[depth + 1] = 0
    stack.failed[depth + 1] = 0
    stack.is_open[depth + 1] = False
    if not stack.is_open[depth]:
        return 0
    more = ask_node(asker, stack.nodes[depth], False)
    if more != asker.zero:
        stack.failed[depth + 1] = <int64_t>count_both(came, more, asker.words)
    more = ask_node(asker, stack.nodes[depth], True)
    if more != asker.zero and and_rows(rows, came, more, asker.words):
        stack.is_open[depth + 1] = True
        stack.passed[depth + 1] = <int64_t>count_rows(rows, asker.words)
    return 0


cdef const uint64_t* truth_at(
    Asker* asker, Stack* stack, uint32_t place, uint32_t node
) except NULL nogil:
    """Asks for the truth of a condition, once in a booking."""
    if stack.found[place] == NULL:
        stack.found[place] = read_node(asker, node, True, shelf_rows(&stack.truths, place))
    return stack.found[place]


cdef int count_false(
    Asker* asker, Stack* stack, const uint32_t* nodes, uint32_t count, uint64_t* lost,
    int64_t* results,
) except -1 nogil:
    """Counts the lost rows of which any condition is false. A leaf's false ones follow from its
    true ones; others are asked for."""
    cdef uint64_t* out = shelf_rows(&stack.truths, count + 1)
    cdef uint64_t* spare = shelf_rows(&stack.truths, count + 2)
    cdef const uint64_t* known
    cdef const uint64_t* rows
    cdef uint32_t i
    memset(out, 0, 8 * <size_t>asker.words)
    for i in range(count):
        known = find_known(asker, nodes[i])
        if known != NULL:
            rows = truth_at(asker, stack, i, nodes[i])
        else:
            known = read_node(asker, nodes[i], False, spare)
            rows = asker.zero
        if known != asker.zero and not add_false(out, lost, known, rows, asker.words):
            break
    results[0] += stack.weight * <int64_t>count_rows(out, asker.words)
    return 0


cdef int pass_rest(
    Asker* asker, Stack* stack, const uint32_t* nodes, uint32_t count, const uint64_t* came,
    int64_t* results,
) except -1 nogil:
    """Counts the campaign's step: all of its conditions true, or any of them false."""
    cdef uint64_t* rows = shelf_rows(&stack.truths, count)
    cdef const uint64_t* left = came
    cdef const uint64_t* more
    cdef uint32_t i
    fill_vector(stack.found, count + 1, <const uint64_t*>NULL)
    for i in range(count):
        more = truth_at(asker, stack, i, nodes[i])
        if more == asker.zero or not and_rows(rows, left, more, asker.words):
            left = asker.zero
            break
        left = rows
    if left != asker.zero:
        results[0] += stack.weight * <int64_t>count_rows(left, asker.words)
    if except_rows(rows, came, left, asker.words):
        count_false(asker, stack, nodes, count, rows, results + 1)
    return 0


cdef int follow_booking(
    Asker* asker, const Followed* followed, size_t booking, Stack* stack, int64_t* results
) except -1 nogil:
    cdef uint32_t first = followed.firsts[booking]
    cdef uint32_t rest = followed.rests[booking]
    cdef uint32_t i
    results += followed.results[booking]
    results[0] += stack.weight * stack.passed[0]
    for i in range(share_steps(followed, booking, stack), rest - first):
        pass_step(asker, stack, i)
    for i in range(1, rest - first + 1):
        results[2 * i - 1] += stack.weight * stack.passed[i]
        results[2 * i] += stack.weight * stack.failed[i]
    if stack.is_open[rest - first]:
        pass_rest(
            asker, stack, followed.nodes.data() + rest, followed.firsts[booking + 1] - rest,
            shelf_rows(&stack.rows, rest - first), results + 1 + 2 * (rest - first),
        )
    return 0


cdef int follow_steps(Asker* asker, const Followed* followed, int64_t* results) except -1 nogil:
    follow_blocks(asker, followed, follow_booking, results)
    return 0


# Sole blockers.

cdef int fail_step(Asker* asker, Stack* stack, uint32_t depth) except -1 nogil:
    """Carries the rows that failed once and twice over one step."""
    cdef const uint64_t* truth
    if stack.found.size() <= depth:
        stack.found.resize(depth + 1)
    truth = ask_node(asker, stack.nodes[depth], True)
    stack.found[depth] = truth
    stack.is_open[depth + 1] = stack.is_open[depth] and carry_failures(
        shelf_rows(&stack.rows, depth + 1), shelf_rows(&stack.others, depth + 1),
        shelf_rows(&stack.rows, depth), shelf_rows(&stack.others, depth),
        asker.valid, truth, asker.words,
    ) != 0
    return 0


cdef int block_booking(
    Asker* asker, const Followed* followed, size_t booking, Stack* stack, int64_t* results
) except -1 nogil:
    """Carries failures on over the rest; where a row failed once alone, looks what it was."""
    cdef uint32_t first = followed.firsts[booking]
    cdef uint32_t steps = followed.rests[booking] - first
    cdef uint32_t count = followed.firsts[booking + 1] - first
    cdef const uint32_t* nodes = followed.nodes.data() + first
    cdef uint64_t* once = shelf_rows(&stack.truths, count)
    cdef uint64_t* twice = shelf_rows(&stack.truths, count + 1)
    cdef uint32_t i
    if stack.nodes.empty():         # the first booking of a block
        memset(shelf_rows(&stack.rows, 0), 0, 8 * <size_t>asker.words)
        memset(shelf_rows(&stack.others, 0), 0, 8 * <size_t>asker.words)
    for i in range(share_steps(followed, booking, stack), steps):
        fail_step(asker, stack, i)
    if not stack.is_open[steps]:
        return 0
    memcpy(once, shelf_rows(&stack.rows, steps), 8 * <size_t>asker.words)
    memcpy(twice, shelf_rows(&stack.others, steps), 8 * <size_t>asker.words)
    if stack.found.size() < count:
        stack.found.resize(count)
    for i in range(steps, count):
        stack.found[i] = read_node(asker, nodes[i], True, shelf_rows(&stack.truths, i))
        if not add_failures(once, twice, asker.valid, stack.found[i], asker.words):
            return 0
    if not except_rows(once, once, twice, asker.words):
        return 0
    results += first
    for i in range(count):
        results[i] += stack.weight * <int64_t>count_except(once, stack.found[i], asker.words)
    return 0


cdef int find_sole_blockers(
    Asker* asker, const Followed* followed, int64_t* results
) except -1 nogil:
    follow_blocks(asker, followed, block_booking, results)
    return 0
