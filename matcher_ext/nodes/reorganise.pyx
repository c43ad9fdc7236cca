"""Marks sets of nodes and searches known parents for the largest cover (reorganise.pxd)."""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.machine.hashing cimport sort_by_hash
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.nodes.store cimport NodeStore, StoredNode
from matcher_ext.values.normal_form cimport NORMAL_AND, NORMAL_OR


cdef inline void begin_marks(NodeStore* store) noexcept nogil:
    """Forgets which nodes are marked."""
    store.stamp += 1
    if store.marks.size() < store.nodes.size():
        store.marks.resize(store.nodes.size(), 0)


cdef inline void mark(NodeStore* store, const vector[uint32_t]* nodes) noexcept nogil:
    cdef size_t i
    for i in range(nodes.size()):
        store.marks[nodes[0][i]] = store.stamp


cdef inline bint is_marked(const NodeStore* store, uint32_t node) noexcept nogil:
    return store.marks[node] == store.stamp


cdef void flatten(
    const NodeStore* store, uint32_t node, vector[uint32_t]* content
) noexcept nogil:
    cdef const StoredNode* parent = &store.nodes[node]
    cdef uint32_t i, child
    for i in range(parent.count):
        child = store.links[parent.first + i]
        if parent.nesting and store.nodes[child].kind == parent.kind:
            flatten(store, child, content)
        else:
            content.push_back(child)


cdef void list_content(
    const NodeStore* store, uint32_t node, vector[uint32_t]* content
) noexcept nogil:
    flatten(store, node, content)
    sort_by_hash(content.data(), content.data() + content.size(), store.nodes.data())


cdef bint are_marked(const NodeStore* store, const vector[uint32_t]* nodes) noexcept nogil:
    cdef size_t i
    for i in range(nodes.size()):
        if not is_marked(store, nodes[0][i]):
            return False
    return True


cdef uint32_t find_largest(
    const NodeStore* store,
    uint8_t kind,
    const vector[uint32_t]* open_,
    size_t most,
    uint32_t* left,
    vector[uint32_t]* largest,
) noexcept nogil:
    """Finds the node that stands for most of the open children, which are marked, and no others."""
    cdef vector[uint32_t] content
    cdef const vector[uint32_t]* parents
    cdef const StoredNode* node
    cdef uint32_t best = NOTHING
    cdef size_t i, k
    largest.clear()
    for i in range(open_.size()):
        parents = &store.parents[open_[0][i]]
        for k in range(parents.size()):
            if left[0] == 0:
                return best
            left[0] -= 1
            node = &store.nodes[parents[0][k]]
            if node.kind != kind or node.nesting + 1 >= MOST_NESTING or parents[0][k] == best:
                continue
            content.clear()
            flatten(store, parents[0][k], &content)
            if content.size() > largest.size() and content.size() <= most and (
                are_marked(store, &content)
            ):
                best = parents[0][k]
                largest[0] = content
    return best


cdef void cover_children(
    NodeStore* store, uint8_t kind, vector[uint32_t]* children, vector[uint32_t]* covered
) noexcept nogil:
    cdef vector[uint32_t] open_, rest, chosen, content
    cdef uint32_t left = store.search_cap
    cdef uint32_t best
    cdef size_t i
    open_ = children[0]
    while open_.size() > 1:
        begin_marks(store)
        mark(store, &open_)
        best = find_largest(store, kind, &open_, children.size() - 1, &left, &content)
        if best == NOTHING:
            break
        chosen.push_back(best)
        covered.insert(covered.end(), content.begin(), content.end())
        begin_marks(store)
        mark(store, &content)
        rest.clear()
        for i in range(open_.size()):
            if not is_marked(store, open_[i]):
                rest.push_back(open_[i])
        open_.swap(rest)
    if chosen.size():
        children.swap(chosen)
        children.insert(children.end(), open_.begin(), open_.end())


cdef void find_holders(
    NodeStore* store, uint32_t node, vector[uint32_t]* holders
) noexcept nogil:
    cdef const StoredNode* made = &store.nodes[node]
    cdef const uint32_t* links = store.links.data() + made.first
    cdef const StoredNode* other
    cdef uint32_t rarest = links[0], found, i
    cdef size_t k
    begin_marks(store)
    for i in range(made.count):
        store.marks[links[i]] = store.stamp
        if store.parents[links[i]].size() < store.parents[rarest].size():
            rarest = links[i]
    for k in range(min(store.parents[rarest].size(), <size_t>store.search_cap)):
        other = &store.nodes[store.parents[rarest][k]]
        if other.kind != made.kind or other.count <= made.count or (
            made.nesting + 1 >= MOST_NESTING
        ):
            continue
        found = 0
        for i in range(other.count):
            found += is_marked(store, store.links[other.first + i])
        if found == made.count:
            holders.push_back(store.parents[rarest][k])


cdef void keep_parent(NodeStore* store, uint32_t child, uint32_t parent) noexcept nogil:
    if store.parents.size() < store.nodes.size():
        store.parents.resize(store.nodes.size())
    if store.parents[child].size() < PARENTS_KEPT:
        store.parents[child].push_back(parent)


cdef void forget_parent(NodeStore* store, uint32_t child, uint32_t parent) noexcept nogil:
    cdef vector[uint32_t]* parents = &store.parents[child]
    cdef size_t i
    for i in range(parents.size()):
        if parents[0][i] == parent:
            parents[0][i] = parents.back()
            parents.pop_back()
            return


cdef void tie_node(NodeStore* store, uint32_t node) noexcept nogil:
    cdef vector[uint32_t] holders
    cdef const StoredNode* made = &store.nodes[node]
    cdef size_t k
    cdef uint32_t i
    if store.parents.size() < store.nodes.size():
        store.parents.resize(store.nodes.size())
    if made.kind != NORMAL_AND and made.kind != NORMAL_OR:
        return
    if store.self_adjust:
        find_holders(store, node, &holders)
    for i in range(made.count):
        keep_parent(store, store.links[made.first + i], node)
    for k in range(holders.size()):
        replace_links(store, holders[k], node)


cdef void replace_links(NodeStore* store, uint32_t holder, uint32_t node) noexcept nogil:
    """Puts the node in the place of its own links among the holder's links."""
    cdef const StoredNode* made = &store.nodes[node]
    cdef StoredNode* changed = &store.nodes[holder]
    cdef uint32_t* links = store.links.data() + changed.first
    cdef uint32_t kept = 0, i
    begin_marks(store)
    for i in range(made.count):
        store.marks[store.links[made.first + i]] = store.stamp
    for i in range(changed.count):
        if is_marked(store, links[i]):
            forget_parent(store, links[i], holder)
            store.nodes[links[i]].uses -= 1     # the node's own link keeps it
        else:
            links[kept] = links[i]
            kept += 1
    links[kept] = node
    store.live_links -= changed.count - kept - 1
    changed.count = kept + 1
    store.nodes[node].uses += 1
    keep_parent(store, node, holder)
    raise_nesting(store, holder, made.nesting + 1)


cdef void raise_nesting(NodeStore* store, uint32_t node, uint32_t nesting) noexcept nogil:
    cdef size_t i
    if store.nodes[node].nesting >= nesting or nesting > 255:
        return
    store.nodes[node].nesting = <uint8_t>nesting
    for i in range(store.parents[node].size()):
        if store.nodes[store.parents[node][i]].kind == store.nodes[node].kind:
            raise_nesting(store, store.parents[node][i], nesting + 1)
