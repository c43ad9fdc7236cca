"""Owns the way from nodes to a plan."""
