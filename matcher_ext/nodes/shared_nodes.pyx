"""Finds, makes and removes nodes by hash, with use counts (shared_nodes.pxd). Knows nothing of
visits, ids or matching."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.machine.probing cimport find_empty, first_place, next_place
from matcher_ext.nodes.definitions cimport find_named
from matcher_ext.nodes.reorganise cimport cover_children, forget_parent, list_content, tie_node
from matcher_ext.nodes.store cimport NodeStore, StoredNode, is_inner, view_store
from matcher_ext.values.normal_form cimport (
    NORMAL_PREDICATE, NORMAL_REFERENCE, NormalForm, NormalNode, node_equal, view_predicates,
)
from matcher_ext.values.predicate cimport Predicate, holds_text, predicate_copy, predicate_equal
from matcher_ext.values.spans cimport text_length

cdef enum:
    FEW = 1024      # links, words or bytes whose waste does not matter


cdef void open_store(NodeStore* store) noexcept nogil:
    store.table.assign(64, NOTHING)
    store.live = 0
    store.live_links = 0
    store.dead_words = 0
    store.dead_bytes = 0
    store.sharing = True
    store.reorganise = False
    store.self_adjust = False
    store.search_cap = 64
    store.stamp = 0


# The table: open addressing (probing.pxd), removal by shifting back, at most half full.

cdef void place(NodeStore* store, uint32_t node) noexcept nogil:
    cdef size_t mask = store.table.size() - 1
    store.table[find_empty(store.table.data(), store.nodes[node].hash, mask)] = node


cdef void grow_table(NodeStore* store) noexcept nogil:
    cdef size_t size = store.table.size() * 2
    cdef uint32_t node
    store.table.assign(size, NOTHING)
    for node in range(<uint32_t>store.nodes.size()):
        if store.nodes[node].uses:
            place(store, node)


cdef void unplace(NodeStore* store, uint32_t node) noexcept nogil:
    cdef size_t mask = store.table.size() - 1
    cdef size_t hole = first_place(store.nodes[node].hash, mask)
    cdef size_t slot, home
    while store.table[hole] != node:
        hole = next_place(hole, mask)
    slot = hole
    while True:
        slot = next_place(slot, mask)
        if store.table[slot] == NOTHING:
            break
        home = first_place(store.nodes[store.table[slot]].hash, mask)
        # An entry may fill the hole unless its home lies after the hole, up to the entry.
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            store.table[hole] = store.table[slot]
            hole = slot
    store.table[hole] = NOTHING


# Finding: by hash, then in full.

cdef bint is_same(
    NodeStore* store, uint32_t stored, const NormalForm* form, uint32_t node
) noexcept nogil:
    """Compares in full, in linear time: the memo remembers what was found equal."""
    if store.memo[node] != NOTHING:
        return store.memo[node] == stored
    cdef const StoredNode* a = &store.nodes[stored]
    cdef const NormalNode* b = &form.nodes[node]
    cdef uint32_t i
    if a.hash != b.hash or a.kind != b.kind or a.negated != b.negated:
        return False
    if a.kind == NORMAL_PREDICATE:
        if not predicate_equal(
            view_store(store), &store.predicates[a.first],
            view_predicates(form), &form.predicates[b.first],
        ):
            return False
    elif a.kind == NORMAL_REFERENCE:
        if a.first != find_named(store, form, b.first):
            return False
    elif a.nesting:
        if not is_same_nested(store, stored, form, node):
            return False
    elif is_inner(a.kind):
        if a.count != b.count:
            return False
        for i in range(a.count):
            if not is_same(store, store.links[a.first + i], form, form.edges[b.first + i]):
                return False
    store.memo[node] = stored
    return True


cdef bint is_same_nested(
    NodeStore* store, uint32_t stored, const NormalForm* form, uint32_t node
) noexcept nogil:
    """Compares a node with nested links by what they flatten to."""
    cdef const NormalNode* wanted = &form.nodes[node]
    cdef vector[uint32_t] content
    cdef uint32_t i
    list_content(store, stored, &content)
    if content.size() != wanted.count:
        return False
    for i in range(wanted.count):
        if not is_same(store, content[i], form, form.edges[wanted.first + i]):
            return False
    return True


cdef uint32_t find(NodeStore* store, const NormalForm* form, uint32_t node) noexcept nogil:
    cdef size_t mask = store.table.size() - 1
    cdef size_t slot = first_place(form.nodes[node].hash, mask)
    if not store.sharing:
        return NOTHING
    if store.memo[node] != NOTHING:
        return store.memo[node]
    while store.table[slot] != NOTHING:
        if is_same(store, store.table[slot], form, node):
            return store.table[slot]
        slot = next_place(slot, mask)
    return NOTHING


# Making and removing.

cdef uint32_t take_number(NodeStore* store) noexcept nogil:
    cdef uint32_t node
    if store.free_nodes.size():
        node = store.free_nodes.back()
        store.free_nodes.pop_back()
        return node
    store.nodes.resize(store.nodes.size() + 1)
    return <uint32_t>(store.nodes.size() - 1)


cdef uint32_t take_predicate(
    NodeStore* store, const NormalForm* form, uint32_t predicate
) noexcept nogil:
    cdef uint32_t number = predicate_copy(
        view_predicates(form), &form.predicates[predicate],
        &store.predicates, &store.words, &store.bytes,
    )
    if store.free_predicates.size():
        number = store.free_predicates.back()
        store.free_predicates.pop_back()
        store.predicates[number] = store.predicates.back()
        store.predicates.pop_back()
    store.rates.resize(store.predicates.size())
    store.rates[number] = -1
    return number


cdef inline bint keeps_parts(const NodeStore* store) noexcept nogil:
    return store.sharing and not store.reorganise and not store.self_adjust


cdef bint is_of_part(
    const NormalForm* form, uint32_t part, uint32_t child, uint32_t* at
) noexcept nogil:
    """Says whether a part has this child. Callers ask by ascending hash, and `at` goes along."""
    cdef const uint32_t* children = form.edges.data() + form.nodes[part].first
    cdef uint64_t hash = form.nodes[child].hash
    cdef uint32_t i
    while at[0] < form.nodes[part].count and form.nodes[children[at[0]]].hash < hash:
        at[0] += 1
    i = at[0]
    while i < form.nodes[part].count and form.nodes[children[i]].hash == hash:
        if children[i] == child or node_equal(form, children[i], form, child):
            return True
        i += 1
    return False


cdef void fill_children(
    NodeStore* store, StoredNode* made, const NormalForm* form, uint32_t node
) noexcept nogil:
    cdef const NormalNode* source = &form.nodes[node]
    cdef vector[uint32_t] children, covered
    cdef uint32_t part = source.part if keeps_parts(store) else NOTHING
    cdef uint32_t at = 0, i
    for i in range(source.count):
        if part == NOTHING or not is_of_part(form, part, form.edges[source.first + i], &at):
            children.push_back(intern(store, form, form.edges[source.first + i]))
    if part != NOTHING:
        children.push_back(intern(store, form, part))
        made.nesting = 1
    if store.reorganise and source.count > 2:
        cover_children(store, made.kind, &children, &covered)
        for i in range(<uint32_t>children.size()):
            if covered.size() and store.nodes[children[i]].kind == made.kind:
                store.nodes[children[i]].uses += 1
                made.nesting = max(made.nesting, <uint8_t>(store.nodes[children[i]].nesting + 1))
        for i in range(<uint32_t>covered.size()):
            release(store, covered[i])
    made.first = <uint32_t>store.links.size()
    made.count = <uint32_t>children.size()
    store.links.insert(store.links.end(), children.begin(), children.end())
    store.live_links += made.count


cdef uint32_t intern(NodeStore* store, const NormalForm* form, uint32_t node) noexcept nogil:
    cdef uint32_t number = find(store, form, node)
    if number != NOTHING:
        store.nodes[number].uses += 1
        return number
    cdef const NormalNode* source = &form.nodes[node]
    cdef StoredNode made
    made.hash = source.hash
    made.first = 0
    made.count = source.count
    made.uses = 1
    made.kind = source.kind
    made.negated = source.negated
    made.nesting = 0
    if source.kind == NORMAL_PREDICATE:
        made.first = take_predicate(store, form, source.first)
    elif source.kind == NORMAL_REFERENCE:
        made.first = find_named(store, form, source.first)
    elif is_inner(source.kind):
        fill_children(store, &made, form, node)
    number = take_number(store)
    store.nodes[number] = made
    store.live += 1
    if store.sharing:
        if store.live * 2 > store.table.size():
            grow_table(store)
        else:
            place(store, number)
    store.memo[node] = number
    if store.reorganise or store.self_adjust:
        tie_node(store, number)
    return number


cdef void drop_predicate(NodeStore* store, uint32_t number) noexcept nogil:
    cdef const Predicate* predicate = &store.predicates[number]
    cdef uint32_t i
    store.free_predicates.push_back(number)
    store.dead_words += predicate.count
    if holds_text(predicate.type, predicate.test):
        for i in range(predicate.count):
            store.dead_bytes += text_length(store.words[predicate.first + i])


cdef void release(NodeStore* store, uint32_t node) noexcept nogil:
    cdef size_t base = store.pending.size()
    cdef StoredNode* dying
    cdef uint32_t i
    store.pending.push_back(node)
    while store.pending.size() > base:
        node = store.pending.back()
        store.pending.pop_back()
        dying = &store.nodes[node]
        if dying.uses > 1:
            dying.uses -= 1
            continue
        if store.sharing:
            unplace(store, node)
        dying.uses = 0
        store.live -= 1
        store.free_nodes.push_back(node)
        if dying.kind == NORMAL_PREDICATE:
            drop_predicate(store, dying.first)
        elif is_inner(dying.kind):
            store.live_links -= dying.count
            for i in range(dying.count):
                store.pending.push_back(store.links[dying.first + i])
                if store.parents.size():
                    forget_parent(store, store.links[dying.first + i], node)
        if store.parents.size():
            store.parents[node].clear()


cdef void begin_form(NodeStore* store, const NormalForm* form) noexcept nogil:
    store.memo.assign(form.nodes.size(), NOTHING)
    if store.links.size() > FEW and store.live_links * 2 < store.links.size():
        compact_links(store)
    if store.dead_words > FEW and store.dead_words * 2 > store.words.size() or (
        store.dead_bytes > FEW and store.dead_bytes * 2 > store.bytes.size()
    ):
        compact_values(store)


cdef void compact_links(NodeStore* store) noexcept nogil:
    cdef vector[uint32_t] links
    cdef uint32_t node, i, first
    links.reserve(store.live_links)
    for node in range(<uint32_t>store.nodes.size()):
        if store.nodes[node].uses and is_inner(store.nodes[node].kind):
            first = <uint32_t>links.size()
            for i in range(store.nodes[node].count):
                links.push_back(store.links[store.nodes[node].first + i])
            store.nodes[node].first = first
    store.links.swap(links)


cdef void compact_values(NodeStore* store) noexcept nogil:
    """Copies values that are in use; predicates keep their numbers. Places have 32 bits, which
    waste must not use up."""
    cdef vector[Predicate] copies
    cdef vector[int64_t] words
    cdef vector[char] bytes
    cdef uint32_t node, number
    for node in range(<uint32_t>store.nodes.size()):
        if store.nodes[node].uses and store.nodes[node].kind == NORMAL_PREDICATE:
            number = store.nodes[node].first
            predicate_copy(
                view_store(store), &store.predicates[number], &copies, &words, &bytes
            )
            store.predicates[number].first = copies.back().first
            copies.clear()
    store.words.swap(words)
    store.bytes.swap(bytes)
    store.dead_words = 0
    store.dead_bytes = 0


cdef void replace_definition(NodeStore* store, uint32_t definition, uint32_t root) noexcept nogil:
    cdef uint32_t old = store.definitions[definition].root
    store.definitions[definition].root = root
    release(store, old)
