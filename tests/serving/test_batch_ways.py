"""Batches are answered alike in both ways: a request that is given back leaves nothing behind, and
where a batch stops or breaks, both say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.serving.eligibility import too_much_to_say
from exchange.serving.http.messages import Request
from exchange.serving.problems import ProblemError
from exchange.serving.requests import count_visits
from matcher_ext.serving import Counts, Desk
from tests.serving.both_ways import AGE, BothWays, bounded, encode, ways
from tests.serving.calling import write
from tests.serving.drawn_requests import bid_requests, flat_visits, options, scalars
from tests.serving.published import HERALD_KEY

__all__ = ["ways"]


@bounded
@given(
    st.lists(
        st.fixed_dictionaries({"visit": flat_visits}) | bid_requests() | options | scalars,
        min_size=1,
        max_size=4,
    )
)
def test_batches_of_every_shape(ways: BothWays, requests: list[Any]) -> None:
    requests = [
        {"bid_request": each} if isinstance(each, dict) and "imp" in each else each
        for each in requests
    ]
    ways.is_compiled_batch(requests)


def test_a_request_that_is_given_back_leaves_nothing_in_its_batch(ways: BothWays) -> None:
    """Sends a last imp whose id only Python can write: those before it are answered, and then are
    not."""
    halves = {"bid_request": {"imp": [{"instl": "x"}, {}, {"id": True}]}}
    counts = Counts([1.0])
    desk = Desk(ways.endpoint._buckets.by_key, counts)
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    body = encode({"requests": [halves, {"visit": {}}]})
    batch = desk.open_batch(ways.live.answers, caller, body, 1, most=9, most_bytes=10_000)
    assert batch is not None
    assert batch.go_on(60) == encode(halves)
    assert batch.visits == 0
    batch.add(b"{}", 3)
    assert batch.go_on(60) is None
    assert batch.visits == 4
    desk.close_batch(batch, caller)
    requests, _, _, (visits, _), malformed, _ = counts.take()
    assert (requests, sum(visits), malformed) == (1, 1, {})
    assert [request for request, *_ in desk.take_kept()] == [b'{"visit": {}}']


def test_a_batch_stops_behind_the_request_that_was_too_much(ways: BothWays) -> None:
    """Stops however fast it is: the same batch is not refused today and answered tomorrow."""
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    body = encode({"requests": [{"bid_request": {"imp": [{}] * 25}}] * 45})
    expected = too_much_to_say().body()
    request = Request(ways.endpoint.batch)
    request.authorization, request.body = f"Api-Key {HERALD_KEY}", body
    for answer in (
        ways.endpoint.batch.answer(request),
        ways.general.batch._answer_any(caller, body),
    ):
        with pytest.raises(ProblemError) as refused:
            write(answer)
        assert refused.value.body() == expected
    batch = ways.endpoint.batch._desk.open_batch(
        ways.live.answers, caller, body, most=1000, most_bytes=10_000
    )
    assert batch is not None
    assert batch.go_on(60, 1000) is None
    assert (batch.visits, batch.left) == (1025, 4)


def test_imps_beyond_what_a_request_may_have_are_not_asked_for(ways: BothWays) -> None:
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    requests = [{"bid_request": {"imp": [{}] * 5_000}}, {"visit": {}}]
    batch = ways.endpoint.batch._desk.open_batch(
        ways.live.answers, caller, encode({"requests": requests}), most=9, most_bytes=100_000
    )
    assert batch is not None
    assert batch.asked_visits == sum(count_visits(encode(each)) for each in requests) == 101


def test_a_batch_in_steps_says_what_it_says_at_once(ways: BothWays, tmp_path: Path) -> None:
    requests = [{"visit": {"user.age": n}, "limit": 3} for n in range(50)]
    requests[7] = {"visit": {"user.age": 1}, "limit": 0}
    assert not ways.is_compiled_batch(requests)
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    desk, body = ways.endpoint.batch._desk, encode({"requests": requests})
    texts_said = []
    for seconds in (0.0, 60.0):
        batch = desk.open_batch(
            ways.live.answers, caller, body, most=1000, most_bytes=10_000, seconds=seconds
        )
        assert batch is not None
        assert batch.is_read is (seconds > 0)
        while not batch.is_read:
            assert batch.read_on(seconds)
        assert batch.asked_visits == 50
        while batch.left:
            if batch.go_on(seconds) is not None:
                batch.add(b'{"problem":{}}', 0)
        texts_said.append(AGE.sub(b"", desk.close_batch(batch, caller)))
    assert texts_said[0] == texts_said[1]
    assert len(json.loads(texts_said[0].replace(b",,", b","))["answers"]) == 50


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"]",
        b"]}}",
        b",]}",
        b',{"visit":{}}}',
        b',{"visit":{"x":"\xff"}}]}',
        b',{"visit":{}}],"requests":[]}',
        b",1]}",
        b',{"visit":{}}' * 9 + b"]}",
        b',{"visit":{"x":[' + b"1," * 500 + b"1]}}]}",
    ],
)
def test_a_batch_that_is_broken_behind_what_was_read_is_given_back(
    ways: BothWays, end: bytes
) -> None:
    caller = ways.service.admit(f"Api-Key {HERALD_KEY}")
    batch = ways.endpoint.batch._desk.open_batch(
        ways.live.answers,
        caller,
        b'{"requests":[{"visit":{}}, {"visit":{"user.age":1}}' + end,
        most=9,
        most_bytes=500,
        seconds=0.0,
    )
    assert batch is not None
    is_whole = True
    while is_whole and not batch.is_read:
        is_whole = batch.read_on(0.0)
    assert not is_whole
