"""Draws pictures of the exchange graph: what `reading` found and `layout` placed, as shapes of an
SVG that templates write out. Everything that a picture shows, a table on its page says as well."""
