"""Draws why-not as a page: the time line, the funnel and the blockers as rows, what was tried."""
