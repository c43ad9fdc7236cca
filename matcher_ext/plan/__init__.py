"""Owns the frozen format: read, checked, mapped, and made a graph again."""

from matcher_ext.plan.checked_marks import Identity, Mark

__all__ = ["Identity", "Mark"]
