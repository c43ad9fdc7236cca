"""How often a visit asks for each predicate, and which are therefore not looked for at all.

Marking which of an attribute's intervals hold a value takes as long as there are intervals, however
few of them a program then asks for: of a million bookings, those of one publisher. Where few are
asked, each is tested by itself instead, like what has no index (LAZY leaves, plan.pxd).
"""
from matcher_ext.draft cimport Draft
from matcher_ext.route_section cimport RouteSpec

# After choose_access: fills draft.is_deferred, by predicate. With a graph or NULL.
cdef void defer_intervals(Draft* draft, const RouteSpec* spec) noexcept nogil
