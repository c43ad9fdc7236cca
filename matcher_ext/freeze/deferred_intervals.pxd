"""Estimates how often a visit asks for each predicate, and defers those that are seldom asked.

Marking which of an attribute's intervals hold a value takes as long as there are intervals, however
few of them a program then asks for: of a million bookings, those of one publisher. Where few are
asked, each is tested by itself instead, like what has no index (LAZY leaves, plan.pxd).

So is a long list that only definitions ask for, at most once per visit: a search in its sorted
values is as quick as anything, and a key and a row for each value took a freeze 1.4 s for a million
texts, every time that anything else changed.
"""
from matcher_ext.freeze.draft cimport Draft
from matcher_ext.routes.route_section cimport RouteSpec

cdef enum:
    LONG_LIST = 4096        # values, from which on a list is not written as keys

# Fills draft.is_deferred, by predicate, after choose_access; with a graph or NULL.
cdef void defer_tests(Draft* draft, const RouteSpec* spec) noexcept nogil
