"""Finds the entries, slots and reaches of a frozen index that changed since (overlay.pxd)."""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.machine.bitmaps cimport set_bit
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.match.scratch cimport Meaning
from matcher_ext.plan.graph cimport find_plan_definition, reach_of
from matcher_ext.plan.plan_buffer cimport PlanBuffer

from matcher_ext.values.refusals import UnknownDefinitionError, UnknownIdError


cdef class Overlay:
    def __init__(
        self, PlanBuffer below not None, dead, PlanBuffer definitions not None, names, borrowed=()
    ):
        """Lays changes over a snapshot: `dead` are ids of the one below, `names` the definitions
        that `definitions` replaces, `borrowed` the reaches that the one below answers for both."""
        definitions._thaw()
        self.below = below
        self.definitions = definitions
        self._bury(below, dead)
        for name in borrowed:
            self._borrow(below, name.encode())
        for name in names:
            self._replace(below, name.encode())

    cdef int check_below(self, PlanBuffer index) except -1:
        if index.plan.header != self.below.plan.header:
            raise ValueError("what lies over one index says nothing of another")
        return 0

    cdef int _bury(self, PlanBuffer below, object dead) except -1:
        cdef const int64_t[::1] entries = below.entries_of(dead)
        cdef Py_ssize_t i
        self.dead.assign(len(below) // 64 + 1, 0)
        self.dead_count = len(dead)
        for i in range(entries.shape[0]):
            if entries[i] < 0:
                raise UnknownIdError("a dead id is not in the index")
            set_bit(self.dead.data(), <uint32_t>entries[i])
        return 0

    cdef int _borrow(self, PlanBuffer below, bytes name) except -1:
        cdef uint32_t definition = find_meaning(self.definitions, name)
        cdef uint32_t slot = self.definitions.plan.definition_slots[2 * <size_t>definition]
        if slot != NOTHING:     # some entry asks for it
            self.wanted.push_back(reach_of(&below.plan, find_plan_definition(&below.plan, name)))
            self.lent.push_back(slot)
        return 0

    cdef int _replace(self, PlanBuffer below, bytes name) except -1:
        cdef uint32_t old = find_plan_definition(&below.plan, name)
        cdef uint32_t definition, slot
        cdef int negated
        if old == NOTHING:
            return 0            # nothing below refers to it
        definition = find_meaning(self.definitions, name)
        for negated in range(2):
            slot = below.plan.definition_slots[2 * <size_t>old + negated]
            if slot != NOTHING:
                self._replace_slot(
                    slot, self.definitions.plan.definitions[definition].root, negated
                )
        return 0

    cdef void _replace_slot(self, uint32_t slot, uint32_t root, bint negated) noexcept:
        if self.meaning_of.size() <= slot:
            self.meaning_of.resize(slot + 1, 0)
        self.replaced.push_back(slot)
        self.meanings.push_back(Meaning(root, negated))
        self.meaning_of[slot] = <uint32_t>self.meanings.size()


cdef uint32_t find_meaning(PlanBuffer definitions, bytes name) except? 0:
    cdef uint32_t definition = find_plan_definition(&definitions.plan, name)
    if definition == NOTHING:
        raise UnknownDefinitionError(f"@{name.decode()} has no new meaning")
    return definition
