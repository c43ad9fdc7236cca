"""Token buckets: what is allowed, and when to come back."""

from __future__ import annotations

import time

import pytest

from exchange.serving.problems import ProblemError
from exchange.serving.rates import Buckets


def test_refuses_beyond_the_burst_and_says_when_to_come_back() -> None:
    buckets = Buckets(0.01, burst=3)
    for _ in range(3):
        buckets.take("herald")
    with pytest.raises(ProblemError) as refused:
        buckets.take("herald")
    assert (refused.value.status, refused.value.code) == (429, "rate_limited")
    assert 40 < int(refused.value.headers["Retry-After"]) <= 100
    buckets.take("tribune")


def test_fills_again_with_time() -> None:
    buckets = Buckets(50, burst=1)
    buckets.take("herald")
    time.sleep(0.05)
    buckets.take("herald")


def test_a_large_batch_is_taken_on_credit() -> None:
    buckets = Buckets(0.1, burst=10)
    buckets.take("herald", 30)
    with pytest.raises(ProblemError):
        buckets.take("herald")
