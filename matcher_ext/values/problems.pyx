"""Makes the codes of problems an enum of Python's as well (problems.pxd)."""
