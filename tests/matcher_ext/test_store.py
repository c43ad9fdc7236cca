"""What entries share: the AND in parentheses beside references, which is a booking's campaign, is
one node for all of its bookings."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, Snapshot
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits

CAMPAIGN = "country in ('US', 'DE') and age >= 18 and mobile and score > 0.5"
VISIT = {"publisher": "US", "country": "US", "age": 20, "mobile": True, "score": 1.0}
# As many conditions as make a campaign's program too long to be copied into every record.
LONG = " and ".join(f"(age != {number} or score > {number})" for number in range(100, 116))
BOOKINGS = 100  # more than the fewest that make pairs worth while


def make_index() -> ATree:
    index = ATree(CATALOG)
    index.define("edge", "age < 40")
    return index


def booking(publisher: str, campaign: str = CAMPAIGN) -> str:
    return f"publisher = '{publisher}' and @edge and ({campaign})"


def test_bookings_of_one_campaign_share_its_node() -> None:
    index = make_index()
    index.insert(1, booking("US"))
    before = index.stats()
    index.insert(2, booking("DE"))
    after = index.stats()
    assert after["nodes"] - before["nodes"] == 2  # its publisher, and itself
    assert after["edges"] - before["edges"] == 3  # publisher, edge, campaign
    assert index.match(VISIT) == [1]
    assert index.match(VISIT | {"publisher": "DE"}) == [2]


def test_the_shared_node_is_drawn_once_for_each_booking() -> None:
    index = make_index()
    for number, publisher in enumerate(("US", "DE")):
        index.insert(number, booking(publisher, f"{CAMPAIGN} and {LONG}"))
    for number in range(2):
        drawn = index.to_graphviz(number)
        assert drawn.count('label="and"') == 2  # the booking's and the campaign's
        assert drawn.count("country in") == 1


def test_deleting_one_booking_leaves_the_campaign_to_the_others() -> None:
    index = make_index()
    empty = index.stats()
    for number, publisher in enumerate(("US", "DE", "a.com")):
        index.insert(number, booking(publisher))
    index.delete(0)
    assert index.match(VISIT) == []
    assert index.match(VISIT | {"publisher": "a.com"}) == [2]
    index.delete(2)
    assert index.match(VISIT | {"publisher": "DE"}) == [1]
    index.delete(1)
    assert index.stats() == empty


def test_a_booking_without_parentheses_is_the_same_expression() -> None:
    for texts_ in ((booking("US"), f"publisher = 'US' and @edge and {CAMPAIGN}"),) * 2:
        index = make_index()
        for number, text in enumerate(texts_):
            index.insert(number, text)
        assert index.freeze().stats()["expressions"] == 1
        assert index.match(VISIT) == [0, 1]


def test_a_condition_of_the_booking_may_be_in_the_campaign_too() -> None:
    index = make_index()
    text = f"publisher = 'US' and mobile and @edge and ({CAMPAIGN})"
    index.insert(1, text)
    nodes = index.stats()["nodes"]
    index.insert(2, text)
    assert index.stats()["nodes"] == nodes
    assert index.match(VISIT) == [1, 2]
    assert index.match(VISIT | {"mobile": False}) == []


def make_bookings(rare: str) -> ATree:
    index = make_index()
    for number in range(BOOKINGS):
        campaign = f"{rare} and age >= {number // 4} and mobile and score > 0.5 and country != 'é'"
        index.insert(number, booking(f"p{number % 4}", campaign))
    return index


@pytest.mark.parametrize(("also", "shared"), [("true", 0), (LONG, BOOKINGS // 4)])
def test_a_rare_value_within_the_campaign_leads_to_its_bookings(also: str, shared: int) -> None:
    index = make_bookings(f"segments one of ('cars') and {also}")
    index.learn_truth_rates([{"publisher": f"p{i % 4}", "country": "US"} for i in range(40)])
    stats = index.freeze().stats()
    assert stats["pairs"] == BOOKINGS
    assert stats["slots"] - stats["definitions"] == shared
    visit = VISIT | {"publisher": "p1", "segments": ["cars"]}
    assert index.match(visit) == list(range(1, 84, 4))
    assert index.match(visit | {"segments": []}) == []


def test_bookings_that_the_publisher_finds_have_a_copy_of_the_campaign() -> None:
    index = make_bookings("score < 3")
    stats = index.freeze().stats()
    assert stats["pairs"] == 0
    assert stats["slots"] == stats["definitions"]
    assert index.match(VISIT | {"publisher": "p1"}) == list(range(1, 84, 4))


@pytest.mark.parametrize("seed", range(3))
@settings(max_examples=30, deadline=None)
@given(
    campaigns=st.lists(st.lists(texts(("edge",)), min_size=2, max_size=4), min_size=1, max_size=5),
    seen=st.lists(visits(), min_size=1, max_size=4),
    edge=texts(),
)
def test_every_face_of_the_matcher_agrees_on_shared_campaigns(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    campaigns: list[list[str]],
    seen: list[dict[str, object]],
    edge: str,
) -> None:
    chosen = random.Random(seed)
    index = ATree(CATALOG)
    index.define("edge", edge)
    entries: dict[int, str] = {}
    for number in range(BOOKINGS):
        campaign = " and ".join(f"({part})" for part in chosen.choice(campaigns))
        publisher = chosen.choice(("US", "DE", "a.com"))
        entries[number] = f"publisher = '{publisher}' and @edge and ({campaign})"
        index.insert(number, entries[number])
    for number in chosen.sample(sorted(entries), BOOKINGS // 4):
        index.delete(number)
        del entries[number]
    check(index.freeze(), entries, edge, seen, tmp_path_factory.mktemp("shared") / "index.atree")


def check(
    snapshot: Snapshot,
    entries: dict[int, str],
    edge: str,
    seen: list[dict[str, object]],
    path: Path,
) -> None:
    snapshot.save(path)
    opened = Snapshot.open(path)
    for visit in seen:
        expected = judge(entries, {"edge": edge}, visit)
        assert snapshot.match(visit) == expected
        assert opened.match(visit) == expected
        reasons = opened.why_not(visit, list(entries))
        assert sorted(number for number, why in reasons.items() if not why) == expected
