import json
from pathlib import Path

from exchange.market.models import Party
from exchange.snapshots.graph_file import GRAPH_FILE, write_graph
from exchange.snapshots.market import read_surroundings
from tests.snapshots.story import Story


def test_the_graph_names_parties_as_supply_chains_do(story: Story, tmp_path: Path) -> None:
    Party.objects.exclude(pk=story.herald.pk).update(domain="")
    Party.objects.filter(pk=story.herald.pk).update(domain="herald.example")
    write_graph(tmp_path, read_surroundings(""))
    graph = json.loads((tmp_path / GRAPH_FILE).read_text())
    assert graph["parties"] == [{"seller_id": "daily-herald", "domain": "herald.example"}]
    edge = story.herald_to_northgate
    assert ["daily-herald", edge.buyer.seller_id] in graph["edges"]
