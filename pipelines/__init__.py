"""Spark jobs that replay the visit log through the compiled index that serves live requests."""
