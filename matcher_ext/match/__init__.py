"""Owns the way from a plan and a visit to the entries that match."""

from matcher_ext.match.paths import Paths, path_key

__all__ = ["Paths", "path_key"]
