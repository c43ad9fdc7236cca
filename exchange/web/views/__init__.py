"""Holds the pages, one module per thing they are about."""
