"""Walks over the exchange graph: see routes.pxd for the arrays and the rounds."""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset
from cython.operator cimport dereference
from libcpp.algorithm cimport lower_bound, sort
from libcpp.vector cimport vector

from matcher_ext.machine.links cimport NOTHING

cdef extern from * nogil:
    """
    struct TreelineShares {
        treeline_share powers[9];
        TreelineShares() {
            powers[0] = 1;
            for (int i = 1; i < 9; i++) powers[i] = powers[i - 1] * 10000;
        }
    };
    static const TreelineShares share_table;
    /* As if the way had all eight hops: comparable whatever its length. */
    static inline treeline_share full_share(treeline_share share, uint32_t hops) {
        return share * share_table.powers[8 - hops];
    }
    static inline uint64_t high_half(treeline_share share) { return (uint64_t)(share >> 64); }
    static inline uint64_t low_half(treeline_share share) { return (uint64_t)share; }
    static inline double as_part(treeline_share share, uint32_t hops) {
        return (double)share / (double)share_table.powers[hops];
    }
    """
    Share full_share(Share share, uint32_t hops)
    unsigned long long high_half(Share share)
    unsigned long long low_half(Share share)
    double as_part(Share share, uint32_t hops)


cdef void open_walk(const Routes* routes, Walk* walk) noexcept nogil:
    walk.last.assign(routes.node_count, NOTHING)
    walk.fewest.assign(routes.node_count, <uint8_t>NOT_REACHED)
    walk.ways.clear()


cdef void end_walk(Walk* walk) noexcept nogil:
    cdef size_t i
    for i in range(walk.ways.size()):
        walk.last[walk.ways[i].node] = NOTHING
        walk.fewest[walk.ways[i].node] = NOT_REACHED
    walk.ways.clear()


# Comparing two ways: the larger share, fewer hops, earlier names, smaller edge ids.

cdef bint is_named_before(
    const Routes* routes, const Walk* walk, uint32_t way, uint32_t edge, uint32_t rival,
    uint32_t rival_edge,
) noexcept nogil:
    """Chooses between two ways of one length to one party, given as their last edge and the way
    before it: the difference nearest to the source decides, and edges only where all parties
    agree."""
    cdef bint by_name = False, is_named = False, by_edge = edge < rival_edge
    cdef const Way* a
    cdef const Way* b
    while way != rival:
        a = &walk.ways[way]
        b = &walk.ways[rival]
        if a.node != b.node:
            is_named = True
            by_name = routes.nodes[a.node].rank < routes.nodes[b.node].rank
        if a.edge != b.edge:
            by_edge = a.edge < b.edge
        way = a.before
        rival = b.before
    return by_name if is_named else by_edge


cdef inline bint is_better(
    const Routes* routes, const Walk* walk, Share share, uint32_t hops, uint32_t before,
    uint32_t edge, const Way* rival,
) noexcept nogil:
    cdef Share mine, other
    if hops == rival.hops:
        if share != rival.share:
            return share > rival.share
        return is_named_before(routes, walk, before, edge, rival.before, rival.edge)
    mine = full_share(share, hops)
    other = full_share(rival.share, rival.hops)
    return mine > other or (mine == other and hops < rival.hops)


# The rounds.

cdef uint32_t add_way(
    Walk* walk, Share share, const RouteHop* hop, uint32_t node, uint32_t before, uint32_t shorter
) noexcept nogil:
    cdef Way made
    made.share = share
    made.node = node
    made.edge = hop.edge if hop != NULL else NOTHING
    made.before = before
    made.shorter = shorter
    made.hops = walk.ways[before].hops + 1 if before != NOTHING else 0
    walk.ways.push_back(made)
    return <uint32_t>(walk.ways.size() - 1)


cdef void go_on(
    const Routes* routes, Walk* walk, uint32_t way, size_t round_start, AskEdge ask, void* asker
) noexcept nogil:
    """Extends one way over all sales of its party. This round's ways begin at `round_start`."""
    cdef uint32_t node = walk.ways[way].node
    cdef uint32_t hops = walk.ways[way].hops + 1
    cdef Share before = walk.ways[way].share
    cdef Share share
    cdef const RouteHop* hop
    cdef uint32_t known, i
    for i in range(routes.nodes[node].sales, routes.nodes[node + 1].sales):
        hop = &routes.sales[i]
        known = walk.last[hop.node]
        share = before * hop.numerator
        if known != NOTHING and not is_better(
            routes, walk, share, hops, way, hop.edge, &walk.ways[known]
        ):
            continue
        if not ask(asker, hop.atom):
            continue
        if known != NOTHING and known >= round_start:
            walk.ways[known].share = share
            walk.ways[known].edge = hop.edge
            walk.ways[known].before = way
        else:
            walk.last[hop.node] = add_way(walk, share, hop, hop.node, way, known)
            if known == NOTHING:
                walk.fewest[hop.node] = <uint8_t>hops


cdef void walk_from(
    const Routes* routes, Walk* walk, uint32_t source, AskEdge ask, void* asker
) noexcept nogil:
    cdef size_t start = 0, end = 1, i
    cdef uint32_t _
    walk.last[source] = add_way(walk, 1, NULL, source, NOTHING, NOTHING)
    walk.fewest[source] = 0
    for _ in range(1, routes.max_hops):
        for i in range(start, end):
            go_on(routes, walk, <uint32_t>i, end, ask, asker)
        start = end
        end = walk.ways.size()


cdef uint32_t find_last_hop(
    const Routes* routes, Walk* walk, uint32_t target, uint32_t hops, AskEdge ask, void* asker
) noexcept nogil:
    cdef uint32_t found = NOTHING, way, i
    cdef const RouteHop* hop
    cdef Share share
    if walk.ways[0].node == target:
        return NOTHING
    for i in range(routes.nodes[target].purchases, routes.nodes[target + 1].purchases):
        hop = &routes.purchases[i]
        way = walk.last[hop.node]
        while way != NOTHING and walk.ways[way].hops >= hops:
            way = walk.ways[way].shorter
        if way == NOTHING:
            continue
        share = walk.ways[way].share * hop.numerator
        if found != NOTHING and not is_better(
            routes, walk, share, walk.ways[way].hops + 1, way, hop.edge, &walk.ways[found]
        ):
            continue
        if not ask(asker, hop.atom):
            continue
        if found == NOTHING:
            found = add_way(walk, share, hop, target, way, NOTHING)
        else:
            walk.ways[found].share = share
            walk.ways[found].edge = hop.edge
            walk.ways[found].before = way
            walk.ways[found].hops = walk.ways[way].hops + 1
    return found


cdef double share_of(const Way* way) noexcept nogil:
    return as_part(way.share, way.hops)


# Making the arrays.

cdef bint is_cheaper(const RouteHop& a, const RouteHop& b) noexcept nogil:
    return a.numerator > b.numerator if a.numerator != b.numerator else a.edge < b.edge


cdef void count_hops(
    RouteTables* tables, const vector[RouteEdge]* edges, const vector[uint8_t]* sells
) noexcept nogil:
    """Finds the first hop of each node, by counting."""
    cdef vector[uint32_t] sales, purchases
    cdef const RouteEdge* edge
    cdef size_t i
    sales.assign(tables.nodes.size(), 0)
    purchases.assign(tables.nodes.size(), 0)
    for i in range(edges.size()):
        edge = &edges[0][i]
        sales[edge.seller] += sells[0][edge.buyer]
        purchases[edge.buyer] += 1
    tables.nodes[0].sales = 0
    tables.nodes[0].purchases = 0
    for i in range(1, tables.nodes.size()):
        tables.nodes[i].sales = tables.nodes[i - 1].sales + sales[i - 1]
        tables.nodes[i].purchases = tables.nodes[i - 1].purchases + purchases[i - 1]
    tables.sales.resize(tables.nodes.back().sales)
    tables.purchases.resize(tables.nodes.back().purchases)


cdef void fill_tables(RouteTables* tables, const vector[RouteEdge]* edges) noexcept nogil:
    cdef vector[uint32_t] sold, bought
    cdef vector[uint8_t] sells      # by node
    cdef const RouteEdge* edge
    cdef RouteHop hop
    cdef size_t i
    sells.assign(tables.nodes.size(), 0)
    for i in range(edges.size()):
        sells[edges[0][i].seller] = 1
    count_hops(tables, edges, &sells)
    for i in range(tables.nodes.size()):
        sold.push_back(tables.nodes[i].sales)
        bought.push_back(tables.nodes[i].purchases)
    for i in range(edges.size()):
        edge = &edges[0][i]
        tables.edge_ids.push_back(edge.id)
        hop = RouteHop(edge.buyer, edge.atom, <uint32_t>i, edge.numerator)
        if sells[edge.buyer]:
            tables.sales[sold[edge.seller]] = hop
            sold[edge.seller] += 1
        hop.node = edge.seller
        tables.purchases[bought[edge.buyer]] = hop
        bought[edge.buyer] += 1
    # The cheapest first: what comes after it is then seldom asked.
    for i in range(tables.nodes.size() - 1):
        sort(
            tables.purchases.begin() + tables.nodes[i].purchases,
            tables.purchases.begin() + tables.nodes[i + 1].purchases,
            is_cheaper,
        )


cdef int make_tables(RouteTables* tables, list parties, list links) except -1:
    cdef vector[RouteEdge] edges
    cdef RouteNode node
    cdef uint32_t i
    numbers = {party: number for number, party in enumerate(parties)}
    if len(numbers) != len(parties):
        raise ValueError("a party is given twice")
    last_id = None
    for i, (edge_id, seller_id, buyer_id, numerator) in enumerate(links):
        if last_id is not None and edge_id <= last_id:
            raise ValueError(f"edge {edge_id} is not in ascending order of ids")
        if not 1 <= numerator <= WHOLE:
            raise ValueError(f"edge {edge_id}: its fee must leave 1 to {WHOLE}, not {numerator}")
        last_id = edge_id
        edges.push_back(RouteEdge(edge_id, numbers[seller_id], numbers[buyer_id], i, numerator))
    memset(&node, 0, sizeof(node))
    for i in range(len(parties) + 1):
        node.party = parties[i] if i < len(parties) else 0
        node.rank = i
        tables.nodes.push_back(node)
    fill_tables(tables, &edges)
    return 0


cdef Routes view_tables(const RouteTables* tables) noexcept nogil:
    cdef Routes routes
    routes.nodes = tables.nodes.data()
    routes.sales = tables.sales.data()
    routes.purchases = tables.purchases.data()
    routes.edge_ids = tables.edge_ids.data()
    routes.node_count = <uint32_t>tables.nodes.size() - 1
    routes.max_hops = MOST_HOPS
    return routes


cdef tuple spell_out(const Routes* routes, const Walk* walk, uint32_t way):
    edges = []
    while walk.ways[way].before != NOTHING:
        edges.append(routes.edge_ids[walk.ways[way].edge])
        way = walk.ways[way].before
    return tuple(reversed(edges))


cdef object whole_share(const Way* way):
    return int(high_half(way.share)) << 64 | int(low_half(way.share))


# Finding whom a party reaches, and who reaches it, in how few hops.

cdef void count_on(const Routes* routes, uint32_t source, vector[uint8_t]* hops) noexcept nogil:
    """Counts the hops from a source to itself and to each party that sells on."""
    cdef vector[uint32_t] reached
    cdef uint32_t node, i
    cdef size_t done = 0
    hops.assign(routes.node_count, <uint8_t>NOT_REACHED)
    hops[0][source] = 0
    reached.push_back(source)
    while done < reached.size():
        node = reached[done]
        done += 1
        for i in range(routes.nodes[node].sales, routes.nodes[node + 1].sales):
            if hops[0][routes.sales[i].node] == NOT_REACHED and hops[0][node] < MOST_HOPS:
                hops[0][routes.sales[i].node] = hops[0][node] + 1
                reached.push_back(routes.sales[i].node)


cdef void count_back(const Routes* routes, uint32_t target, vector[uint8_t]* hops) noexcept nogil:
    cdef vector[uint32_t] reached
    cdef uint32_t node, i
    cdef size_t done = 0
    hops.assign(routes.node_count, <uint8_t>NOT_REACHED)
    hops[0][target] = 0
    reached.push_back(target)
    while done < reached.size():
        node = reached[done]
        done += 1
        for i in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
            if hops[0][routes.purchases[i].node] == NOT_REACHED and hops[0][node] < MOST_HOPS:
                hops[0][routes.purchases[i].node] = hops[0][node] + 1
                reached.push_back(routes.purchases[i].node)


cdef bint may_pass(
    const Routes* routes, const Walk* walk, const vector[uint8_t]* passes, uint32_t target,
    uint32_t edge,
) noexcept nogil:
    """Says whether a last hop to the target is the edge, or comes after a way that passes it."""
    cdef const RouteHop* hop
    cdef uint32_t way, i
    for i in range(routes.nodes[target].purchases, routes.nodes[target + 1].purchases):
        hop = &routes.purchases[i]
        if hop.edge == edge:
            return True
        way = walk.last[hop.node]
        while way != NOTHING:
            if passes[0][way]:
                return True
            way = walk.ways[way].shorter
    return False


cdef bint ask_nothing(void* asker, uint32_t atom) noexcept nogil:
    return True


# The walk by itself, for whoever knows the truths already.

cdef cppclass KnownTruths:
    vector[uint8_t] truths      # by edge
    vector[uint32_t] asked      # how often


cdef bint ask_known(void* asker, uint32_t atom) noexcept nogil:
    cdef KnownTruths* known = <KnownTruths*>asker
    known.asked[atom] += 1
    return known.truths[atom]


cdef class RouteGraph:
    """The arrays of a graph, and walks over them with given truths. Safe for many threads."""
    cdef RouteTables tables
    cdef dict numbers

    def __init__(self, names, links):
        """Makes the graph of `names` by party and `links`: (edge id, seller, buyer, what the fee
        leaves of 10,000)."""
        parties = sorted(names, key=lambda party: (names[party], party))
        self.numbers = {party: number for number, party in enumerate(parties)}
        make_tables(&self.tables, parties, sorted(links))

    def find_paths(self, source, truths, hops=MOST_HOPS, parties=None):
        """Finds the cheapest path within some hops to each of some parties (all, if none are named)
        that is reached: its edge ids and its share of 10,000 ** edges; and how often each edge was
        asked for."""
        cdef Routes routes = view_tables(&self.tables)
        cdef KnownTruths known
        cdef Walk walk
        cdef uint32_t way, number, limit = hops
        if not 1 <= hops <= MOST_HOPS:
            raise ValueError(f"hops must be from 1 to {MOST_HOPS}, not {hops}")
        known.truths = [bool(truths[edge_id]) for edge_id in self.tables.edge_ids]
        known.asked.assign(known.truths.size(), 0)
        open_walk(&routes, &walk)
        walk_from(&routes, &walk, self.numbers[source], ask_known, &known)
        paths = {}
        for party in self.numbers if parties is None else parties:
            number = self.numbers[party]
            way = find_last_hop(&routes, &walk, number, limit, ask_known, &known)
            if way != NOTHING:
                paths[party] = spell_out(&routes, &walk, way), whole_share(&walk.ways[way])
        asked = {edge_id: known.asked[i] for i, edge_id in enumerate(self.tables.edge_ids)}
        return paths, asked

    def find_cheapest(self, source, parties, hops=MOST_HOPS):
        """Finds the same paths where every edge is open, to these parties alone."""
        cdef Routes routes = view_tables(&self.tables)
        cdef Walk walk
        cdef uint32_t way, limit = hops
        if not 1 <= hops <= MOST_HOPS:
            raise ValueError(f"hops must be from 1 to {MOST_HOPS}, not {hops}")
        if source not in self.numbers:
            return {}
        open_walk(&routes, &walk)
        walk_from(&routes, &walk, self.numbers[source], ask_nothing, NULL)
        paths = {}
        for party in parties:
            if party not in self.numbers:
                continue
            way = find_last_hop(&routes, &walk, self.numbers[party], limit, ask_nothing, NULL)
            if way != NOTHING:
                paths[party] = spell_out(&routes, &walk, way), whole_share(&walk.ways[way])
        return paths

    def find_passing(self, source, edge_id):
        """Lists (party, fewest, most) wherever the cheapest path from the source passes the edge if
        it may have from fewest to most hops."""
        cdef Routes routes = view_tables(&self.tables)
        cdef vector[uint8_t] passes     # by way
        cdef Walk walk
        cdef uint32_t edge, node, way, most, fewest, i
        cdef bint is_on
        edge = self.find_edge(edge_id)
        if edge == NOTHING or source not in self.numbers:
            return []
        open_walk(&routes, &walk)
        walk_from(&routes, &walk, self.numbers[source], ask_nothing, NULL)
        for i in range(walk.ways.size()):
            way = walk.ways[i].before
            is_on = way != NOTHING and (walk.ways[i].edge == edge or passes[way] == 1)
            passes.push_back(<uint8_t>is_on)
        found = []
        for node in range(routes.node_count):
            if not may_pass(&routes, &walk, &passes, node, edge):
                continue
            most = MOST_HOPS
            while most > 0:
                way = find_last_hop(&routes, &walk, node, most, ask_nothing, NULL)
                if way == NOTHING:
                    break
                fewest = walk.ways[way].hops
                if walk.ways[way].edge == edge or passes[walk.ways[way].before] == 1:
                    found.append((routes.nodes[node].party, fewest, most))
                most = fewest - 1
        return found

    def find_sources(self, party):
        """Lists every party that reaches this one, or is it, and that nobody sells to."""
        cdef Routes routes = view_tables(&self.tables)
        cdef vector[uint8_t] hops
        cdef uint32_t node
        if party not in self.numbers:
            return []
        count_back(&routes, self.numbers[party], &hops)
        return [
            routes.nodes[node].party for node in range(routes.node_count)
            if hops[node] != NOT_REACHED
            and routes.nodes[node].purchases == routes.nodes[node + 1].purchases
        ]

    def find_between(self, source, target, hops=MOST_HOPS):
        """Lists the edges that some way of at most so many hops from source to target passes, and
        perhaps some more: one that visits a party twice counts as a way."""
        cdef Routes routes = view_tables(&self.tables)
        cdef vector[uint8_t] before, behind
        cdef const RouteHop* hop
        cdef uint32_t node, i, limit = hops
        if source not in self.numbers or target not in self.numbers:
            return []
        count_on(&routes, self.numbers[source], &before)
        count_back(&routes, self.numbers[target], &behind)
        found = []
        for node in range(routes.node_count):
            if behind[node] >= limit:
                continue
            for i in range(routes.nodes[node].purchases, routes.nodes[node + 1].purchases):
                hop = &routes.purchases[i]
                if <uint32_t>before[hop.node] + 1 + behind[node] <= limit:
                    found.append(routes.edge_ids[hop.edge])
        return found

    cdef uint32_t find_edge(self, edge_id):
        """Finds an edge's place among the ids; NOTHING if there is none."""
        cdef int64_t wanted = edge_id
        cdef vector[int64_t].iterator at
        at = lower_bound(self.tables.edge_ids.begin(), self.tables.edge_ids.end(), wanted)
        if at == self.tables.edge_ids.end() or dereference(at) != wanted:
            return NOTHING
        return <uint32_t>(at - self.tables.edge_ids.begin())
