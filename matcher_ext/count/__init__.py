"""Owns the way from a plan and a batch of visits to counts."""
