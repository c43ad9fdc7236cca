"""Reads what pages and the REST API both show: paths, explanations, what rules let pass, lists.

Below both, so that neither imports the other. Nothing here knows a template or an address.
"""
