"""Binds an index to a table: its expressions become a question, whose entries stand for ids.

Made once for each state of an index that is asked; a snapshot never changes, a live index gives
another state after each change. A state is what `table_parts()` of an index says:

    below       the snapshot; its routes are the graph that is walked
    beside      a small one with what changed since, or None
    dead        ids of `below` that are none any more
    replaced    definitions that mean what `beside` says
    borrowed    reaches of `beside` that the graph of `below` answers
    answered    definitions that code answers, and `answer`, which asks it of a visit
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Table
from matcher_ext.plan.plan_buffer cimport PlanBuffer
from matcher_ext.routes.route_section cimport RoutePlan
from matcher_ext.tables.asking cimport Asker
from matcher_ext.tables.coded_rows cimport CodedRows
from matcher_ext.tables.questions cimport Question
from matcher_ext.values.catalog cimport CompiledCatalog

cdef struct EdgeEnds:           # nodes of the graph; NOTHING: the definition is no edge of it
    uint32_t seller
    uint32_t buyer

cdef class Thread:
    """One thread's memory at a time, with a question of its own that texts can be added to."""
    cdef Question question
    cdef Asker asker
    cdef CodedRows coded            # of the present call

cdef class BoundIndex:
    """Immutable once it is made, but for the pool of idle threads' memory."""
    # Leaves the table itself out: it keeps what was bound, and lives as long as its own call.
    cdef const Table* table
    cdef list coded_total               # the table's: how many rows code was asked of
    cdef tuple names                    # attributes of the table
    cdef readonly CompiledCatalog catalog
    cdef PlanBuffer below
    cdef PlanBuffer beside
    cdef readonly object answer         # of the index: asks code of a visit
    cdef readonly list code_names       # definitions that code answers, by number
    cdef Question question
    cdef const RoutePlan* routes        # or NULL
    cdef vector[uint32_t] columns       # by attribute of the index
    cdef uint32_t bases[2]              # the first nodes of the plans, by Entry.plan
    cdef readonly dict definitions      # name -> node
    cdef readonly object ids            # ascending
    cdef readonly object entry_of_id    # entry of the question; -1: true of nothing
    cdef list pool
    # Holds what is made when somebody first asks for it.
    cdef object lock
    cdef bint has_ends
    cdef vector[EdgeEnds] ends[2]       # by plan and definition
    cdef dict words                     # by node

    cdef Thread take(self)
    cdef int give_back(self, Thread thread) except -1
    cdef uint32_t add_code(self, str name)
    cdef PlanBuffer plan_of(self, uint8_t number)
    cdef str word(self, uint8_t plan, uint32_t node)
    cdef int read_ends(self) except -1
    cdef uint32_t add_reach(self, Question* question, bytes name) except? 0xFFFFFFFF
    cdef int _read_definitions(
        self, PlanBuffer plan, dict meanings, answered, vector[uint32_t]* targets,
        vector[uint8_t]* is_edge,
    ) except -1
    cdef int _add_entries(self, PlanBuffer plan, uint32_t base, uint8_t number) except -1

# Binds an index, by what its `table_parts()` say; or no index at all, for texts alone. `own` is the
# table's catalogue.
cdef BoundIndex bind_index(list coded_total, const Table* table, CompiledCatalog own, parts)
cdef BoundIndex bind_nothing(list coded_total, const Table* table, CompiledCatalog catalog)
