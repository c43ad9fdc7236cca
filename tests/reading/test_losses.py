"""Where visits of a booking stay, what alone keeps them out and what a change would gain: against
plain Python over the plain evaluator."""

from __future__ import annotations

from itertools import combinations

import pytest

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Edge
from exchange.reading.losses import Losses
from exchange.reading.why_not import WhyNot
from tests.reading.sampled import EDGES, TEXT, Judge, Visit, a_day, at, eligible, nights, visits
from tests.trading import Exchange, exchange, sell

__all__ = ["exchange", "nights", "visits"]

pytestmark = pytest.mark.django_db
CONDITIONS = TEXT.split(" and ")


def look(exchange: Exchange, person: User | None = None, text: str = TEXT) -> Losses:
    exchange.campaign.expression = text
    exchange.campaign.save()
    booking = Booking.objects.with_parties().get(pk=exchange.booking.pk)
    found = WhyNot(booking, person or exchange.operators[Role.ADMIN]).losses
    assert found is not None
    return found


def test_steps_are_those_of_the_plain_evaluator(exchange: Exchange, visits: list[Visit]) -> None:
    losses, judge = look(exchange), Judge()
    here, expected = at(visits, "herald"), []
    for text in [*EDGES, *CONDITIONS]:
        truths = [(judge(text, visit), visit) for visit in here]
        parts = [[v for t, v in truths if t is wanted] for wanted in (True, False, None)]
        expected.append((a_day(here), *map(a_day, parts)))
        here = parts[0]
    found = [(step.came, step.passed, step.false, step.unknown) for step in losses.steps]
    assert found == [pytest.approx(figures) for figures in expected]
    assert losses.eligible == pytest.approx(eligible(visits, "herald", *EDGES, TEXT))
    assert any(step.unknown for step in losses.steps)
    assert any(step.false for step in losses.steps)


def sole(visits: list[Visit], texts: list[str]) -> dict[str, tuple[float, float]]:
    """Gives, by the condition that alone is not true, visits a day, and those where it is
    unknown."""
    judge = Judge()
    found: dict[str, list[tuple[bool | None, Visit]]] = {text: [] for text in texts}
    for visit in at(visits, "herald"):
        failed = [(text, t) for text in texts if (t := judge(text, visit)) is not True]
        if len(failed) == 1:
            found[failed[0][0]].append((failed[0][1], visit))
    return {
        text: (a_day(v for _, v in kept), a_day(v for t, v in kept if t is None))
        for text, kept in found.items()
        if kept
    }


def test_blockers_are_what_alone_is_not_true(exchange: Exchange, visits: list[Visit]) -> None:
    losses = look(exchange)
    expected = sole(visits, [*EDGES, *CONDITIONS])
    found = {one.condition.text: (one.lost, one.missing) for one in losses.blockers}
    assert len(found) > 2
    assert found == {text: pytest.approx(figures) for text, figures in expected.items()}
    lost = [one.lost for one in losses.blockers]
    assert lost == sorted(lost, reverse=True)
    first = losses.blockers[0].condition
    left = [text for text in [*EDGES, *CONDITIONS] if text != first.text]
    then = {one.condition.text: (one.lost, one.missing) for one in losses.next_blockers}
    assert then == {text: pytest.approx(f) for text, f in sole(visits, left).items()}


def test_trying_without_gains_what_the_blocker_loses(
    exchange: Exchange, visits: list[Visit]
) -> None:
    losses = look(exchange)
    for blocker in losses.blockers:
        without = losses.count_without([blocker.condition.key])
        assert without == pytest.approx(losses.eligible + blocker.lost)
        included = losses.count_without([], [blocker.condition.key])
        assert included == pytest.approx(losses.eligible + blocker.missing)


def test_where_no_condition_alone_is_in_the_way_two_are_told(
    exchange: Exchange, visits: list[Visit]
) -> None:
    text = "device.type = 'phone' and geo.country = 'CAN'"
    losses, judge = look(exchange, text=text), Judge()
    conditions = [*EDGES, *text.split(" and ")]
    assert losses.blockers == []
    kept = dict.fromkeys(combinations(conditions, 2), 0.0)
    for visit in at(visits, "herald"):
        failed = tuple(each for each in conditions if judge(each, visit) is not True)
        if failed in kept:
            kept[failed] += visit["sample_weight"] / 3
    assert losses.pair is not None
    best = max(kept.values())
    assert losses.pair.lost == pytest.approx(best)
    assert kept[losses.pair.first.text, losses.pair.second.text] == pytest.approx(best)


def test_rules_that_may_not_be_read_are_one_condition_each(
    exchange: Exchange, visits: list[Visit]
) -> None:
    """Asks as Soda, who buys of Southgate and so reads the last edge only."""
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(
        expression="geo.country = 'USA' and user.age < 80"
    )
    manager = exchange.soda.people[Role.CAMPAIGN_MANAGER]
    losses = look(exchange, manager)
    hidden = [exchange.first_edge.pk, exchange.middle_edge.pk]
    texts = {one.key: one.text for one in losses.parts if one.edge and one.edge.pk in hidden}
    assert texts == {f"e{pk}": "" for pk in hidden}
    whole = "geo.country = 'USA' and user.age < 80"
    expected = sole(visits, [EDGES[0], whole, EDGES[2], *CONDITIONS])
    blocker = next(one for one in losses.blockers if one.condition.key == f"e{hidden[1]}")
    assert blocker.lost == pytest.approx(expected[whole][0])
    told = losses.list_attributes(blocker.condition)
    assert told == ["user.age", "geo.country", "user.segments"]  # what the campaign itself asks


def test_on_any_path_an_edge_blocks_if_a_path_would_be_open_with_it(
    exchange: Exchange, visits: list[Visit]
) -> None:
    sell(exchange.herald, exchange.southgate, "user.age > 60")
    Booking.objects.update(policy=Booking.Policy.ANY)
    losses, judge = look(exchange), Judge()
    long_way, short_way = (*EDGES[:2],), ("user.age > 60",)

    def is_open(visit: Visit, lifted: str) -> bool:
        def passes(text: str) -> bool:
            return text == lifted or judge(text, visit) is True

        ways = (all(map(passes, long_way)), all(map(passes, short_way)))
        return any(ways) and passes(EDGES[2])

    wanted = [v for v in at(visits, "herald") if judge(TEXT, v) is True and not is_open(v, "")]
    expected = {text: a_day(v for v in wanted if is_open(v, text)) for text in (*EDGES, *short_way)}
    found = {
        one.condition.text: one.lost for one in losses.blockers if one.condition.edge is not None
    }
    assert found == {text: pytest.approx(lost) for text, lost in expected.items() if lost}
    assert found
    assert losses.steps[0].passed == pytest.approx(
        a_day(v for v in at(visits, "herald") if is_open(v, ""))
    )


def test_of_few_people_nothing_is_told_where_a_condition_is_about_persons(
    exchange: Exchange, visits: list[Visit]
) -> None:
    losses = look(exchange, text="user.id = 'user-7' and geo.country = 'USA'")
    assert losses.is_hidden
    elsewhere = look(exchange, text="geo.country = 'DEU' and user.id = 'user-7'")
    assert elsewhere.blockers == []
    assert elsewhere.count_without(["c.0"]) is None
