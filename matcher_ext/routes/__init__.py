"""Owns the graph of the exchange and the walk over it."""

from matcher_ext.routes.routes import RouteGraph

__all__ = ["RouteGraph"]
