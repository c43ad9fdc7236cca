"""Holds what the people's process (`exchange.pages`) has around its pages: health, metrics,
middleware, and bounds on bodies and waits."""
