"""Orders bits by level and by the leaf that most often leads there; counts links
(bit_numbers.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport BY_CHILD, Draft
from matcher_ext.freeze.layout cimport Layout
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.plan.plan cimport Expression, PlanNode
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR, NORMAL_PREDICATE

ctypedef pair[uint64_t, uint32_t] Ranked


cdef bint has_bit(const Draft* draft, uint32_t node) noexcept nogil:
    """Says whether a pushed node has a bit: an OR that something is above, or an AND that does not
    just set the bit of one OR."""
    cdef uint32_t parents = draft.or_parents[node] + draft.and_parents[node]
    if draft.nodes[node].kind == NORMAL_OR:
        return parents > 0
    return parents > 1 or draft.and_parents[node] == 1


cdef void rank_nodes(
    const Draft* draft, vector[uint32_t]* levels, vector[uint32_t]* leads
) noexcept nogil:
    """Finds by pushed node its level, and the leaf that most often leads to it."""
    cdef uint32_t number, i, child, likeliest
    cdef size_t count = draft.nodes.size()
    levels.assign(count, 0)
    leads.assign(count, NOTHING)
    for number in range(<uint32_t>count):
        if not draft.pushed[number]:
            continue
        if draft.nodes[number].kind == NORMAL_PREDICATE:
            leads[0][number] = draft.leaf_of[draft.nodes[number].first]
        elif draft.nodes[number].kind == NORMAL_OR:
            likeliest = draft.edges[draft.nodes[number].first]
            for i in range(draft.nodes[number].count):
                child = draft.edges[draft.nodes[number].first + i]
                levels[0][number] = max(levels[0][number], levels[0][child] + 1)
                if draft.rates[child] > draft.rates[likeliest]:
                    likeliest = child
            leads[0][number] = leads[0][likeliest]
        elif draft.pushed[number] == BY_CHILD:
            levels[0][number] = levels[0][draft.access[number]] + 1
            leads[0][number] = leads[0][draft.access[number]]
        else:
            levels[0][number] = 1


cdef void number_bits(Layout* layout) noexcept nogil:
    cdef Draft* draft = &layout.draft
    cdef vector[uint32_t] levels, leads
    cdef vector[Ranked] inner, direct, shared
    cdef Ranked item
    cdef uint32_t number, level = 0
    cdef size_t i
    rank_nodes(draft, &levels, &leads)
    for number in range(<uint32_t>draft.nodes.size()):
        item.second = number
        if not draft.pushed[number] or not is_inner(draft, number):
            continue
        item.first = <uint64_t>levels[number] << 32 | leads[number]
        if has_bit(draft, number):
            inner.push_back(item)
        elif draft.nodes[number].kind == NORMAL_OR:
            add_terminal(draft, number, &direct, &shared)
    sort(inner.begin(), inner.end())
    sort(direct.begin(), direct.end())
    sort(shared.begin(), shared.end())
    layout.bit_of.assign(draft.nodes.size(), NOTHING)
    cdef uint32_t first = (layout.leaves.totals.filled + 63) // 64 * 64
    for i in range(inner.size()):
        while level != <uint32_t>(inner[i].first >> 32):
            start_level(layout)
            level += 1
        layout.bit_of[inner[i].second] = first + <uint32_t>layout.bit_nodes.size()
        layout.bit_nodes.push_back(inner[i].second)
    start_level(layout)
    layout.leaves.totals.terminals = layout.levels.back()
    layout.leaves.totals.direct = <uint32_t>direct.size()
    number_terminals(layout, &direct)
    number_terminals(layout, &shared)
    layout.leaves.totals.bits = (
        layout.levels.back() + <uint32_t>layout.terminal_nodes.size() + 63
    ) // 64 * 64


cdef void add_terminal(
    const Draft* draft, uint32_t number, vector[Ranked]* direct, vector[Ranked]* shared
) noexcept nogil:
    """Adds a terminal by its id: which leaf leads there matters less than reading ids in order."""
    cdef const Expression* expression = &draft.expressions[draft.expression_of[number]]
    cdef Ranked item
    item.first = <uint64_t>draft.ids[expression.first] ^ <uint64_t>1 << 63
    item.second = number
    if expression.count == 1:
        direct.push_back(item)
    else:
        shared.push_back(item)


cdef void start_level(Layout* layout) noexcept nogil:
    while layout.bit_nodes.size() % 64:
        layout.bit_nodes.push_back(NOTHING)
    layout.levels.push_back(
        (layout.leaves.totals.filled + 63) // 64 * 64 + <uint32_t>layout.bit_nodes.size()
    )


cdef void number_terminals(Layout* layout, const vector[Ranked]* terminal) noexcept nogil:
    cdef size_t i
    for i in range(terminal.size()):
        layout.bit_of[terminal[0][i].second] = (
            layout.levels.back() + <uint32_t>layout.terminal_nodes.size()
        )
        layout.terminal_nodes.push_back(terminal[0][i].second)


# Links: who is above a leaf or an inner bit.

cdef void find_sources(Layout* layout) noexcept nogil:
    """Numbers the sources of links: a leaf, or leaves + inner bit; NOTHING for an AND that sets an
    OR's bit itself."""
    cdef const Draft* draft = &layout.draft
    cdef uint32_t number
    layout.source_of.assign(draft.nodes.size(), NOTHING)
    for number in range(<uint32_t>draft.nodes.size()):
        if not is_inner(draft, number):
            layout.source_of[number] = draft.leaf_of[draft.nodes[number].first]
        elif layout.bit_of[number] != NOTHING:
            layout.source_of[number] = layout.leaves.totals.leaves + layout.bit_of[number]


cdef void add_or_links(Layout* layout, uint32_t number, bint counting) noexcept nogil:
    cdef const PlanNode* node = &layout.draft.nodes[number]
    cdef uint32_t i, source
    for i in range(node.count):
        source = layout.source_of[layout.draft.edges[node.first + i]]
        if source == NOTHING:
            continue
        if counting:
            layout.or_first[source + 1] += 1
        else:
            layout.or_targets[layout.or_first[source]] = layout.bit_of[number]
            layout.or_first[source] += 1


cdef void add_links(Layout* layout, bint counting) noexcept nogil:
    cdef const Draft* draft = &layout.draft
    cdef uint32_t number, source
    for number in range(<uint32_t>draft.nodes.size()):
        if draft.pushed[number] != BY_CHILD:
            continue
        if draft.nodes[number].kind == NORMAL_OR:
            add_or_links(layout, number, counting)
        elif draft.nodes[number].kind == NORMAL_AND:
            source = layout.source_of[draft.access[number]]
            if counting:
                layout.and_first[source + 1] += 1
            else:
                layout.and_nodes[layout.and_first[source]] = number
                layout.and_first[source] += 1


cdef void add_up(vector[uint32_t]* counts) noexcept nogil:
    cdef size_t i
    for i in range(1, counts.size()):
        counts[0][i] += counts[0][i - 1]


cdef void step_back(vector[uint32_t]* firsts) noexcept nogil:
    """Moves firsts back: after filling, each stands at its end, which is the next one's first."""
    cdef size_t i
    for i in range(firsts.size() - 1, 0, -1):
        firsts[0][i] = firsts[0][i - 1]
    firsts[0][0] = 0


cdef void link_nodes(Layout* layout) noexcept nogil:
    cdef size_t sources = layout.leaves.totals.leaves + layout.leaves.totals.bits + 1
    layout.or_first.assign(sources + 1, 0)
    layout.and_first.assign(sources + 1, 0)
    find_sources(layout)
    add_links(layout, True)
    add_up(&layout.or_first)
    add_up(&layout.and_first)
    layout.or_targets.resize(layout.or_first.back())
    layout.and_nodes.resize(layout.and_first.back())
    add_links(layout, False)
    step_back(&layout.or_first)
    step_back(&layout.and_first)
