"""Writes and checks the frozen index's buffer. Reads no visits."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from matcher_ext.arena cimport (
    EQUAL,
    IN,
    IN_NETWORK,
    INSIDE,
    NORMAL_AND,
    NORMAL_FALSE,
    NORMAL_OR,
    NORMAL_PREDICATE,
    NORMAL_REFERENCE,
    NORMAL_TRUE,
    NOTHING,
    ONE_OF,
    PRESENT,
    TIMESTAMP_LOCAL,
    WITHIN,
    Predicate,
    hash_bytes,
    holds_text,
    mix,
    predicate_copy,
    text_length,
    text_offset,
)
from matcher_ext.store cimport Definition, NodeStore, StoredNode, view_store

cdef extern from * nogil:
    """
    static const char PLAN_MAGIC[8] = {'T', 'R', 'E', 'E', 'L', 'I', 'N', 'E'};
    static const uint32_t PLAN_VERSION = 1;
    """
    const char PLAN_MAGIC[8]
    const uint32_t PLAN_VERSION

cdef uint64_t checksum(const char* buffer, uint64_t size) noexcept nogil:
    cdef Header header
    memcpy(&header, buffer, sizeof(header))
    header.checksum = 0
    return mix(
        hash_bytes(<const char*>&header, sizeof(header)),
        hash_bytes(buffer + sizeof(header), size - sizeof(header)),
    )


cdef uint64_t key_hash_word(uint32_t attribute, int64_t word) noexcept nogil:
    return mix(attribute, <uint64_t>word)


cdef uint64_t key_hash_text(uint32_t attribute, const char* text, size_t length) noexcept nogil:
    return mix(attribute, hash_bytes(text, length))


cdef uint64_t section_count(const Plan* plan, Section section) noexcept nogil:
    return plan.header.counts[<int>section]


cdef uint64_t element_size(int section) noexcept nogil:
    if section == PREDICATES:
        return sizeof(Predicate)
    if section == WORDS or section == IDS:
        return sizeof(int64_t)
    if section == NODES:
        return sizeof(PlanNode)
    if section == ROOTS:
        return sizeof(Root)
    if section == DEFINITIONS:
        return sizeof(PlanDefinition)
    if section == KEYS:
        return sizeof(Key)
    if section == CARRIED:
        return sizeof(Range)
    if section == CATALOG or section == BYTES or section == NAMES:
        return 1
    return sizeof(uint32_t)


# Building.

cdef struct Posting:
    uint32_t key                # slot of keys, or NOTHING: see range
    uint32_t range              # of carried
    uint32_t root

cdef cppclass Draft:
    """The sections in the making."""
    const NodeStore* store
    vector[Predicate] predicates
    vector[int64_t] words
    vector[char] bytes
    vector[PlanNode] nodes
    vector[uint32_t] edges
    vector[float] costs             # by node: rough share of visits that its keys find
    vector[Root] roots
    vector[int64_t] ids
    vector[PlanDefinition] definitions
    vector[uint32_t] definition_numbers     # old -> new or NOTHING
    vector[uint32_t] numbers                # old node -> new or NOTHING
    vector[Key] keys
    vector[uint32_t] distinct               # values asked for with `=` and its kin, by attribute
    vector[Posting] postings
    vector[Range] carried


cdef float predicate_cost(Draft* draft, const Predicate* predicate) noexcept nogil:
    """Without measured rates: a value is the rarer, the more values its attribute is asked for."""
    cdef float values = <float>draft.distinct[predicate.attribute] + 1
    if predicate.test == PRESENT:
        return 1.0 if predicate.negated else 0.6
    if not is_keyed(predicate):
        return 0.5
    if predicate.test == ONE_OF:
        values /= 4         # a visit carries several elements
    return min(<float>0.45, predicate.count / values)


cdef bint is_keyed(const Predicate* predicate) noexcept nogil:
    """Local times are shifted by another attribute, so their words are no keys."""
    if predicate.negated or predicate.type == TIMESTAMP_LOCAL:
        return False
    return predicate.test == EQUAL or predicate.test == IN or predicate.test == ONE_OF


cdef float node_cost(Draft* draft, const PlanNode* node) noexcept nogil:
    cdef float cost = 0
    cdef uint32_t i
    if node.kind == NORMAL_PREDICATE:
        return predicate_cost(draft, &draft.predicates[node.first])
    if node.kind == NORMAL_FALSE:
        return 0
    if node.kind == NORMAL_AND:
        cost = 1
        for i in range(node.count):
            cost = min(cost, draft.costs[draft.edges[node.first + i]])
        return cost
    if node.kind == NORMAL_OR:
        for i in range(node.count):
            cost += draft.costs[draft.edges[node.first + i]]
        return min(cost, <float>1)
    return 1


cdef uint32_t place_node(Draft* draft, uint32_t old) noexcept nogil:
    """Copies a node after its children, and the definitions that it needs."""
    cdef const StoredNode* source = &draft.store.nodes[old]
    cdef PlanNode made
    cdef uint32_t i, first
    cdef vector[uint32_t] children
    if draft.numbers[old] != NOTHING:
        return draft.numbers[old]
    memset(&made, 0, sizeof(made))
    made.kind = source.kind
    made.negated = source.negated
    made.count = source.count
    if source.kind == NORMAL_PREDICATE:
        made.first = predicate_copy(
            view_store(draft.store), &draft.store.predicates[source.first],
            &draft.predicates, &draft.words, &draft.bytes,
        )
    elif source.kind == NORMAL_REFERENCE:
        made.first = place_definition(draft, source.first)
    elif source.kind == NORMAL_AND or source.kind == NORMAL_OR:
        for i in range(source.count):
            children.push_back(place_node(draft, draft.store.links[source.first + i]))
        made.first = <uint32_t>draft.edges.size()
        draft.edges.insert(draft.edges.end(), children.begin(), children.end())
    draft.nodes.push_back(made)
    draft.numbers[old] = <uint32_t>(draft.nodes.size() - 1)
    return draft.numbers[old]


cdef uint32_t place_definition(Draft* draft, uint32_t old) noexcept nogil:
    cdef PlanDefinition made
    if draft.definition_numbers[old] == NOTHING:
        made.name = draft.store.definitions[old].name
        made.root = place_node(draft, draft.store.definitions[old].root)
        draft.definition_numbers[old] = <uint32_t>draft.definitions.size()
        draft.definitions.push_back(made)
    return draft.definition_numbers[old]


cdef bint comes_before(const Entry& a, const Entry& b) noexcept nogil:
    return a.root < b.root or (a.root == b.root and a.id < b.id)


cdef void place_entries(Draft* draft, vector[Entry]* entries) noexcept nogil:
    cdef Root root
    cdef size_t i = 0
    sort(entries.begin(), entries.end(), comes_before)
    while i < entries.size():
        root.node = place_node(draft, entries[0][i].root)
        root.first = <uint32_t>draft.ids.size()
        root.count = 0
        while i < entries.size() and draft.numbers[entries[0][i].root] == root.node:
            draft.ids.push_back(entries[0][i].id)
            root.count += 1
            i += 1
        draft.roots.push_back(root)


cdef bint is_key(
    Draft* draft, const Key* key, uint32_t attribute, int64_t word, bint textual
) noexcept nogil:
    if key.attribute != attribute or key.textual != textual:
        return False
    if not textual:
        return key.word == word
    return text_length(key.word) == text_length(word) and memcmp(
        draft.bytes.data() + text_offset(key.word),
        draft.bytes.data() + text_offset(word),
        text_length(word),
    ) == 0


cdef uint64_t hash_key(
    Draft* draft, uint32_t attribute, int64_t word, bint textual
) noexcept nogil:
    if not textual:
        return key_hash_word(attribute, word)
    return key_hash_text(attribute, draft.bytes.data() + text_offset(word), text_length(word))


cdef uint32_t find_key(
    Draft* draft, uint32_t attribute, int64_t word, bint textual
) noexcept nogil:
    """The slot of a key, taken if there is none yet (its count is then 1: not empty)."""
    cdef size_t mask = draft.keys.size() - 1
    cdef size_t slot = hash_key(draft, attribute, word, textual) & mask
    while draft.keys[slot].count:
        if is_key(draft, &draft.keys[slot], attribute, word, textual):
            return <uint32_t>slot
        slot = (slot + 1) & mask
    draft.keys[slot].attribute = attribute
    draft.keys[slot].word = word
    draft.keys[slot].textual = textual
    draft.keys[slot].count = 1
    draft.distinct[attribute] += 1
    return <uint32_t>slot


cdef void post_predicate(Draft* draft, uint32_t number, uint32_t root) noexcept nogil:
    cdef const Predicate* predicate = &draft.predicates[number]
    cdef Posting posting
    cdef uint32_t i
    cdef bint textual = holds_text(predicate.type, predicate.test)
    posting.root = root
    posting.key = NOTHING
    posting.range = predicate.attribute
    if not is_keyed(predicate):
        if predicate.test == PRESENT and predicate.negated:
            posting.range = <uint32_t>(draft.carried.size() - 1)
        draft.postings.push_back(posting)
        return
    for i in range(predicate.count):
        posting.key = find_key(
            draft, predicate.attribute, draft.words[predicate.first + i], textual
        )
        draft.postings.push_back(posting)


cdef void post_node(Draft* draft, uint32_t number, uint32_t root) noexcept nogil:
    cdef const PlanNode* node = &draft.nodes[number]
    cdef uint32_t i, best
    cdef Posting posting
    if node.kind == NORMAL_PREDICATE:
        post_predicate(draft, node.first, root)
    elif node.kind == NORMAL_OR:
        for i in range(node.count):
            post_node(draft, draft.edges[node.first + i], root)
    elif node.kind == NORMAL_AND:
        best = draft.edges[node.first]
        for i in range(1, node.count):
            if draft.costs[draft.edges[node.first + i]] < draft.costs[best]:
                best = draft.edges[node.first + i]
        post_node(draft, best, root)
    elif node.kind != NORMAL_FALSE:
        posting.root = root
        posting.key = NOTHING
        posting.range = <uint32_t>(draft.carried.size() - 1)
        draft.postings.push_back(posting)


cdef size_t count_values(const Draft* draft) noexcept nogil:
    cdef size_t values = 1, i
    for i in range(draft.predicates.size()):
        values += draft.predicates[i].count
    return values


cdef void estimate_costs(Draft* draft) noexcept nogil:
    cdef const Predicate* predicate
    cdef size_t i
    cdef uint32_t k
    for i in range(draft.predicates.size()):
        predicate = &draft.predicates[i]
        if is_keyed(predicate):
            for k in range(predicate.count):
                find_key(
                    draft, predicate.attribute, draft.words[predicate.first + k],
                    holds_text(predicate.type, predicate.test),
                )
    for i in range(draft.nodes.size()):
        draft.costs.push_back(node_cost(draft, &draft.nodes[i]))


cdef void place_keys(
    Draft* draft, uint32_t attributes, vector[uint32_t]* postings
) noexcept nogil:
    """Postings by key: gather, count, then put each at its place."""
    cdef Key no_key
    cdef Range no_range
    cdef size_t size = 16, i
    cdef uint32_t root, first = 0
    memset(&no_key, 0, sizeof(no_key))
    memset(&no_range, 0, sizeof(no_range))
    while size < 2 * count_values(draft):
        size *= 2
    draft.distinct.assign(attributes, 0)
    draft.keys.assign(size, no_key)
    estimate_costs(draft)
    draft.keys.assign(size, no_key)
    draft.carried.assign(attributes + 1, no_range)
    for root in range(<uint32_t>draft.roots.size()):
        post_node(draft, draft.roots[root].node, root)
    for i in range(size):
        draft.keys[i].count = 0
    for i in range(draft.postings.size()):
        if draft.postings[i].key == NOTHING:
            draft.carried[draft.postings[i].range].count += 1
        else:
            draft.keys[draft.postings[i].key].count += 1
    for i in range(draft.carried.size()):
        draft.carried[i].first = first
        first += draft.carried[i].count
        draft.carried[i].count = 0
    for i in range(size):
        draft.keys[i].first = first
        first += draft.keys[i].count
        draft.keys[i].count = 0
    postings.resize(draft.postings.size())
    for i in range(draft.postings.size()):
        put_posting(draft, &draft.postings[i], postings)


cdef void put_posting(
    Draft* draft, const Posting* posting, vector[uint32_t]* postings
) noexcept nogil:
    cdef Key* key
    cdef Range* range_
    if posting.key == NOTHING:
        range_ = &draft.carried[posting.range]
        postings[0][range_.first + range_.count] = posting.root
        range_.count += 1
    else:
        key = &draft.keys[posting.key]
        postings[0][key.first + key.count] = posting.root
        key.count += 1


cdef void put_section(
    vector[char]* buffer, Header* header, Section section, const void* source, size_t count
) noexcept nogil:
    cdef size_t size = count * element_size(section)
    cdef const char* bytes = <const char*>source
    header.offsets[<int>section] = buffer.size()
    header.counts[<int>section] = count
    if size:
        buffer.insert(buffer.end(), bytes, bytes + size)
    while buffer.size() % 64:
        buffer.push_back(0)


cdef void build_plan(
    const NodeStore* store,
    vector[Entry]* entries,
    const char* catalog,
    size_t catalog_length,
    uint32_t attributes,
    vector[char]* buffer,
) noexcept nogil:
    cdef Draft draft
    cdef Header header
    cdef vector[uint32_t] postings
    cdef uint32_t i
    draft.store = store
    draft.numbers.assign(store.nodes.size(), NOTHING)
    draft.definition_numbers.assign(store.definitions.size(), NOTHING)
    for i in range(<uint32_t>store.definitions.size()):
        place_definition(&draft, i)
    place_entries(&draft, entries)
    place_keys(&draft, attributes, &postings)
    memset(&header, 0, sizeof(header))
    memcpy(header.magic, PLAN_MAGIC, 8)
    header.version = PLAN_VERSION
    header.sections = <uint32_t>SECTIONS
    buffer.assign((sizeof(header) + 63) // 64 * 64, 0)
    put_section(buffer, &header, CATALOG, catalog, catalog_length)
    put_section(buffer, &header, PREDICATES, draft.predicates.data(), draft.predicates.size())
    put_section(buffer, &header, WORDS, draft.words.data(), draft.words.size())
    put_section(buffer, &header, BYTES, draft.bytes.data(), draft.bytes.size())
    put_section(buffer, &header, NODES, draft.nodes.data(), draft.nodes.size())
    put_section(buffer, &header, EDGES, draft.edges.data(), draft.edges.size())
    put_section(buffer, &header, ROOTS, draft.roots.data(), draft.roots.size())
    put_section(buffer, &header, IDS, draft.ids.data(), draft.ids.size())
    put_section(
        buffer, &header, DEFINITIONS, draft.definitions.data(), draft.definitions.size()
    )
    put_section(buffer, &header, NAMES, store.names.data(), store.names.size())
    put_section(buffer, &header, KEYS, draft.keys.data(), draft.keys.size())
    put_section(buffer, &header, POSTINGS, postings.data(), postings.size())
    put_section(buffer, &header, CARRIED, draft.carried.data(), draft.carried.size())
    header.size = buffer.size()
    memcpy(buffer.data(), &header, sizeof(header))
    (<Header*>buffer.data()).checksum = checksum(buffer.data(), buffer.size())


# Checking.

cdef const char* read_header(const char* buffer, uint64_t size, Plan* plan) noexcept nogil:
    cdef const Header* header = <const Header*>buffer
    cdef uint64_t offset, length
    cdef int i
    if size < sizeof(Header) or memcmp(header.magic, PLAN_MAGIC, 8) != 0:
        return b"it is not a snapshot"
    if header.version != PLAN_VERSION:
        return b"its format version is another than this program's"
    if header.sections != <uint32_t>SECTIONS:
        return b"it has another number of sections"
    if header.size != size:
        return b"it is not as long as it says: truncated or extended"
    for i in range(<int>SECTIONS):
        offset = header.offsets[i]
        if offset % 64 or offset < sizeof(Header) or offset > size:
            return b"a section lies outside of it"
        length = element_size(i)
        if header.counts[i] > (size - offset) // length or header.counts[i] >= NOTHING:
            return b"a section lies outside of it"
    plan.header = header
    plan.predicates.predicates = <const Predicate*>(buffer + header.offsets[<int>PREDICATES])
    plan.predicates.words = <const int64_t*>(buffer + header.offsets[<int>WORDS])
    plan.predicates.bytes = buffer + header.offsets[<int>BYTES]
    plan.nodes = <const PlanNode*>(buffer + header.offsets[<int>NODES])
    plan.edges = <const uint32_t*>(buffer + header.offsets[<int>EDGES])
    plan.roots = <const Root*>(buffer + header.offsets[<int>ROOTS])
    plan.ids = <const int64_t*>(buffer + header.offsets[<int>IDS])
    plan.definitions = <const PlanDefinition*>(buffer + header.offsets[<int>DEFINITIONS])
    plan.names = buffer + header.offsets[<int>NAMES]
    plan.keys = <const Key*>(buffer + header.offsets[<int>KEYS])
    plan.postings = <const uint32_t*>(buffer + header.offsets[<int>POSTINGS])
    plan.carried = <const Range*>(buffer + header.offsets[<int>CARRIED])
    return NULL


cdef inline bint is_within(uint64_t first, uint64_t count, uint64_t size) noexcept nogil:
    return first + count <= size


cdef bint words_are_sound(const Plan* plan, const Predicate* predicate) noexcept nogil:
    cdef uint32_t i
    cdef int64_t word
    if not is_within(predicate.first, predicate.count, section_count(plan, WORDS)):
        return False
    if not holds_text(predicate.type, predicate.test):
        return True
    for i in range(predicate.count):
        word = plan.predicates.words[predicate.first + i]
        if not is_within(text_offset(word), text_length(word), section_count(plan, BYTES)):
            return False
    return True


cdef bint count_is_sound(const Predicate* predicate) noexcept nogil:
    """As many operands as the test reads."""
    if predicate.test == PRESENT:
        return predicate.count == 0
    if predicate.test == IN_NETWORK:
        return predicate.count % 3 == 0
    if predicate.test == WITHIN:
        return predicate.count == 3
    return predicate.count >= 1


cdef const char* check_predicates(const Plan* plan) noexcept nogil:
    cdef const Predicate* predicate
    cdef uint64_t i
    for i in range(section_count(plan, PREDICATES)):
        predicate = &plan.predicates.predicates[i]
        if predicate.attribute >= plan.attributes or predicate.test > INSIDE:
            return b"a predicate is malformed"
        if not words_are_sound(plan, predicate) or not count_is_sound(predicate):
            return b"a predicate is malformed"
    return NULL


cdef const char* check_nodes(const Plan* plan) noexcept nogil:
    """Children before parents; `needs` is one more than the last definition below a node."""
    cdef vector[uint32_t] needs
    cdef const PlanNode* node
    cdef uint32_t i, k, child
    needs.assign(section_count(plan, NODES), 0)
    for i in range(<uint32_t>section_count(plan, NODES)):
        node = &plan.nodes[i]
        if node.kind == NORMAL_PREDICATE:
            if node.first >= section_count(plan, PREDICATES):
                return b"a node names a predicate that is not there"
        elif node.kind == NORMAL_REFERENCE:
            if node.first >= section_count(plan, DEFINITIONS):
                return b"a node names a definition that is not there"
            needs[i] = node.first + 1
        elif node.kind == NORMAL_AND or node.kind == NORMAL_OR:
            if not is_within(node.first, node.count, section_count(plan, EDGES)) or not node.count:
                return b"a node's children lie outside of the file"
            for k in range(node.count):
                child = plan.edges[node.first + k]
                if child >= i:
                    return b"a node comes before its child"
                needs[i] = max(needs[i], needs[child])
        elif node.kind != NORMAL_TRUE and node.kind != NORMAL_FALSE:
            return b"a node is of no known kind"
    for i in range(<uint32_t>section_count(plan, DEFINITIONS)):
        if plan.definitions[i].root >= section_count(plan, NODES):
            return b"a definition names a node that is not there"
        if needs[plan.definitions[i].root] > i:
            return b"a definition comes before one that it refers to"
        if not is_within(
            plan.definitions[i].name.offset,
            plan.definitions[i].name.length,
            section_count(plan, NAMES),
        ):
            return b"a definition's name lies outside of the file"
    return NULL


cdef const char* check_roots(const Plan* plan) noexcept nogil:
    cdef uint64_t i
    for i in range(section_count(plan, ROOTS)):
        if plan.roots[i].node >= section_count(plan, NODES):
            return b"an entry names a node that is not there"
        if not is_within(plan.roots[i].first, plan.roots[i].count, section_count(plan, IDS)):
            return b"an entry's ids lie outside of the file"
    for i in range(section_count(plan, POSTINGS)):
        if plan.postings[i] >= section_count(plan, ROOTS):
            return b"a posting names an entry that is not there"
    return NULL


cdef const char* check_keys(Plan* plan) noexcept nogil:
    cdef uint64_t count = section_count(plan, KEYS)
    cdef uint64_t postings = section_count(plan, POSTINGS)
    cdef uint64_t used = 0, i
    cdef const Key* key
    if count == 0 or count & (count - 1):
        return b"its table of keys is malformed"
    if section_count(plan, CARRIED) != plan.attributes + 1:
        return b"its catalogue and its index are of different sizes"
    plan.key_mask = <uint32_t>(count - 1)
    for i in range(count):
        key = &plan.keys[i]
        used += key.count != 0
        if not is_within(key.first, key.count, postings):
            return b"a key's postings lie outside of the file"
        if key.textual and not is_within(
            text_offset(key.word), text_length(key.word), section_count(plan, BYTES)
        ):
            return b"a key's text lies outside of the file"
    if used == count:
        return b"its table of keys is full"
    for i in range(section_count(plan, CARRIED)):
        if not is_within(plan.carried[i].first, plan.carried[i].count, postings):
            return b"an attribute's postings lie outside of the file"
    return NULL


cdef const char* read_plan(
    const char* buffer, uint64_t size, uint32_t attributes, Plan* plan
) noexcept nogil:
    cdef const char* wrong = read_header(buffer, size, plan)
    plan.attributes = attributes
    if wrong == NULL:
        wrong = check_predicates(plan)
    if wrong == NULL:
        wrong = check_nodes(plan)
    if wrong == NULL:
        wrong = check_roots(plan)
    if wrong == NULL:
        wrong = check_keys(plan)
    return wrong
