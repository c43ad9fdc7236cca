"""Owns the shared nodes of the dynamic index: one per distinct predicate and subexpression."""
