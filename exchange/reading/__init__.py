"""What pages and the REST API both read: paths, explanations, what rules let pass, pages of lists.

Below both, so that neither imports the other. Nothing here knows a template or an address.
"""
