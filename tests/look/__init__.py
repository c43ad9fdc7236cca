"""Looks at every page and state of a running exchange: `make look`."""
