"""Why-not as a page: the time line drawn, the funnel and the blockers as rows, what was tried."""
