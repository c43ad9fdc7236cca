"""Counts the live impact of one expression: over all visits, or over bookings' open paths."""
from matcher_ext.tables.bound_index cimport BoundIndex

# Asks an expression's text, with the texts of bookings (publisher and path) or none.
cdef object ask_impact(BoundIndex bound, str text, list bookings)
