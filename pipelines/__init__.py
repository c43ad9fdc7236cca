"""Owns the Spark jobs that replay the visit log through the index that serves live requests."""
