"""The live impact of one expression: over all visits, over the open paths of some bookings."""
from matcher_ext.tables.bound_index cimport BoundIndex

# Asks an expression's text, with the texts of bookings (publisher and path) or none.
cdef object ask_impact(BoundIndex bound, str text, list bookings)
