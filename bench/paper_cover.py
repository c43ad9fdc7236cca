"""Counts how few predicates decide all subscriptions of an event, for somebody who knows the
answers.

What matches needs all of its predicates; of what does not, one false one will do. The fewest are a
set cover, which is hard, so they are taken greedily: the predicate that decides most comes first.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from bench.paper_workloads import make_facts

EVENTS = 2
FACT = re.compile(r"\((\d+)\)")


def count_least_of(spec: dict[str, Any]) -> float:
    numbers = {key: value for key, value in spec.items() if key not in ("make", "visits")}
    return _count_least_of(tuple(sorted(numbers.items())))


@cache
def _count_least_of(numbers: tuple[tuple[str, Any], ...]) -> float:
    made = make_facts(**dict(numbers), visits=EVENTS)
    subscriptions = [[int(fact) for fact in FACT.findall(text)] for text in made.texts]
    least = [count_least(subscriptions, set(visit["facts"])) for visit in made.visits]
    return sum(least) / len(least)


def count_least(subscriptions: Sequence[Sequence[int]], true: set[int]) -> int:
    matched = [facts for facts in subscriptions if true.issuperset(facts)]
    others = [
        false for facts in subscriptions if (false := [fact for fact in facts if fact not in true])
    ]
    return len({fact for facts in matched for fact in facts}) + cover(others)


def cover(sets: Sequence[Sequence[int]]) -> int:
    """Counts the facts that the greedy choice takes until every set has one."""
    members: dict[int, list[int]] = {}
    for number, facts in enumerate(sets):
        for fact in facts:
            members.setdefault(fact, []).append(number)
    gain = {fact: len(numbers) for fact, numbers in members.items()}
    queue = [(-count, fact) for fact, count in gain.items()]
    heapq.heapify(queue)
    is_open = bytearray(b"\x01") * len(sets)
    left, taken = len(sets), 0
    while left:
        count, fact = heapq.heappop(queue)
        if -count != gain[fact]:  # Others were taken since.
            heapq.heappush(queue, (-gain[fact], fact))
            continue
        taken += 1
        for number in members[fact]:
            if is_open[number]:
                is_open[number] = 0
                left -= 1
                for other in sets[number]:
                    gain[other] -= 1
    return taken
