"""Holds what is asked of a table: expressions as one graph, bound to its values, no references.

A question is made of one index or of texts, for one table, and never changed: any number of threads
may ask it at once. It holds numbers only, no pointers; whoever asks keeps the index alive, because
of its routes.

    nodes     children before parents
    entries   publisher and path and the rest, taken apart

      publisher.id = 'a' and @edge.1 and @edge.2 and geo.country = 'FRA' and ..
      '------ gate ----'     '------ path -----'     '------- parts ---------'

  A gate says in which blocks an entry can be true at all. A path is one node for all entries that
  have it, and joins one edge to the path before: beginnings are asked once.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.plan.plan cimport Plan
from matcher_ext.routes.route_section cimport Reach
from matcher_ext.tables.binding cimport Binding
from matcher_ext.values.normal_form cimport NormalForm

cdef enum AskedKind:
    ASKED_LEAF          # first: bound
    ASKED_AND           # children[first : first + count]
    ASKED_OR
    ASKED_TRUE
    ASKED_FALSE
    ASKED_LINK          # first: node; count: the definition's number; negated: the other way round
    ASKED_REACH         # first: reach; negated
    ASKED_CODE          # first: definition that code answers, row by row

cdef struct Asked:
    uint32_t first
    uint32_t count
    float truth         # about what part of the rows it is true of
    uint8_t kind        # AskedKind
    uint8_t negated
    uint8_t is_kept     # asked again in a block: its answer is kept until the block is done
    uint8_t is_edge     # link to the expression of an edge

cdef struct Entry:
    uint32_t gate       # code of the table's `by` column; NOTHING: any block
    uint32_t path       # node, or NOTHING
    uint32_t first      # children: the rest
    uint32_t count
    uint32_t edges      # children: links to edges, ascending ..
    uint32_t edge_count
    uint32_t source     # the plan's expression, or the text's number
    uint8_t plan        # which of the plans
    uint8_t is_never    # its publisher has no row

cdef cppclass Question:
    vector[Asked] nodes
    vector[uint32_t] children
    Binding binding
    vector[Entry] entries
    vector[uint32_t] slots          # by slot of the plan that has the routes: node, or NOTHING
    vector[Reach] reaches           # that somebody asks for
    vector[uint32_t] gated          # entries by gate: gated[gate_starts[code] : .. + 1]
    vector[uint32_t] gate_starts
    vector[uint32_t] ungated
    vector[uint32_t] required       # columns; NOTHING: one that no row has
    # Finds paths while entries are added: path << 32 | edge -> the path longer by this edge.
    unordered_map[uint64_t, uint32_t] paths

# Appends a plan's graph. `targets`: by definition, the node that it means instead, NOTHING for its
# own root. Returns the number of its first node. Nodes of definitions with ASKED_REACH or
# ASKED_CODE are made by the caller before.
cdef uint32_t add_plan(
    Question* question, const Table* table, const uint32_t* columns, const Plan* plan,
    const uint32_t* targets, const uint8_t* is_edge,
) except 0xFFFFFFFF nogil
# Appends a form's graph; `targets` are nodes by name of the form.
cdef uint32_t add_form(
    Question* question, const Table* table, const uint32_t* columns, const NormalForm* form,
    const uint32_t* targets, const uint8_t* is_edge,
) except 0xFFFFFFFF nogil
cdef uint32_t add_asked(
    Question* question, uint8_t kind, uint32_t first, uint32_t count
) except 0xFFFFFFFF nogil
# Estimates nodes from `first` on, and orders their children: what settles most comes first.
cdef void order_children(Question* question, uint32_t first) noexcept nogil
# Appends an entry for a root.
cdef int add_entry(
    Question* question, const Table* table, uint32_t root, uint8_t plan, uint32_t source
) except -1 nogil
# Lists entries by gate, once all are there: neighbours share the beginnings of their paths.
cdef int index_gates(Question* question, const Table* table) except -1 nogil
# Marks the nodes whose answers are worth keeping: entries of one gate ask for them
# again. Memory that is written once and read once costs more than asking does.
cdef int mark_kept(Question* question) except -1 nogil
