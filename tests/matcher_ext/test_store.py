"""What entries share: the AND in parentheses beside references, which is a booking's campaign, is
one node for all of its bookings. What nobody shares any more gives its memory back."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, Snapshot
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits
from tests.matcher_ext.test_atree import ONE_OF_EACH

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


def test_what_stays_is_found_again_when_the_memory_of_the_rest_was_given_back() -> None:
    chosen = random.Random(5)
    kept = dict(enumerate(ONE_OF_EACH))
    kept |= {100 + number: f"not ({text}) or mobile" for number, text in enumerate(ONE_OF_EACH)}
    index = ATree(CATALOG)
    index.define("list", "false")
    for number, text in kept.items():
        draw = [chosen.randrange(10**6) for _ in range(300)]
        index.define("list", f"numbers one of {tuple(draw)} or country in {tuple(map(str, draw))}")
        index.insert(number, text)
        index.insert(-1 - number, f"@list and age > {number}")
    for number in kept:
        index.delete(-1 - number)
    index.define("list", "false")
    nodes = index.stats()["nodes"]
    index.insert_many(range(1000, 1000 + len(kept)), kept.values())
    assert index.stats()["nodes"] == nodes, "they are the same nodes"
    seen: list[dict[str, Any]] = [
        {},
        {"mobile": True},
        {"publisher": "US", "age": 20, "numbers": [1, 2, 3]},
    ]
    seen += [{"segments": ["cars"], "country": "US", "address": "10.1.1.1", "score": 0.1}]
    for visit in seen:
        expected = judge(kept, {}, visit)
        again = [1000 + place for place, number in enumerate(kept) if number in expected]
        assert index.match(visit) == expected + again


def test_defining_a_long_list_again_and_again_takes_the_memory_of_one() -> None:
    index = ATree(CATALOG)
    sizes = []
    for turn in range(60):
        values = ", ".join(f"'{turn} {number:0400}'" for number in range(2000))
        index.define("list", f"country in ({values})")
        sizes.append(measure_memory())
    assert sizes[-1] - sizes[9] < 20e6, "50 lists of 0.8 MB each came and went"


def measure_memory() -> int:
    """Gives the bytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
