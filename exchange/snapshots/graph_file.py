"""Writes the exchange graph into a snapshot's folder, for jobs that hold traffic against it.

    graph.json    {"parties": [{"seller_id", "domain"}], "edges": [[seller id, buyer id]]}

Nothing in this file changes an answer, so it is no part of the snapshot's name.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from exchange.snapshots.market import Market

GRAPH_FILE = "graph.json"


def write_graph(folder: Path, market: Market) -> None:
    """Writes parties and edges; a party without a domain cannot be named by a supply chain."""
    names = {party_id: party.seller_id for party_id, party in market.parties.items()}
    parties = [
        {"seller_id": party.seller_id, "domain": party.domain}
        for party in market.parties.values()
        if party.domain
    ]
    edges = [(names[link.seller_id], names[link.buyer_id]) for link in market.links]
    content = msgspec.json.encode({"parties": parties, "edges": edges})
    (folder / GRAPH_FILE).write_bytes(content)
