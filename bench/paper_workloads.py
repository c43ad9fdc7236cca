"""Makes the papers' workloads, by their own parameters: what `bench.papers` matches.

Each is made in memory from a few numbers and a seed. Where a paper's text does not say a number, or
the stored text has lost it, the default here is ours and its comment says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.workloads import ADS, SYNTHETIC, AdsMaker, Draws, SyntheticMaker, make_visits

Visits = list[dict[str, Any]]
SEED = 1
FACT_TRAINING = 20  # events to learn selectivities from


@dataclass(frozen=True, slots=True)
class Made:
    """Expressions with the types of their attributes, and visits: to match, and to learn from."""

    types: dict[str, str]
    texts: list[str]
    visits: Visits
    training: Visits


def make_abe(*, profile: str = "synthetic", visits: int = 200, **changes: Any) -> Made:
    """Makes expressions of ABE-Gen (a-tree, table 3) or the Ads-like set (section 6.2)."""
    base = ADS if profile == "ads" else SYNTHETIC
    parameters = replace(base, **changes)
    rng = np.random.default_rng(SEED)
    make = (AdsMaker if profile == "ads" else SyntheticMaker)(parameters, rng).make
    texts = [make() for _ in range(parameters.expressions)]
    return Made(
        {f"a{number}": "integer" for number in range(parameters.attributes)},
        texts,
        list(make_visits(parameters, np.random.default_rng([SEED, 1]), visits)),
        list(make_visits(parameters, np.random.default_rng([SEED, 2]), visits)),
    )


class TreeMaker:
    """The tree generator of complex-boolean-expressions, section 5.1: AND and OR alternate from the
    root, an AND.

    The statistics of real contracts are not published: sizes of conjunctions, popularity of
    attributes and values are ours.
    """

    CHILDREN = (1, 2, 3, 4)
    CHILDREN_CHANCES = (0.05, 0.7, 0.2, 0.05)
    SIZES = (1, 2, 3)
    SIZE_CHANCES = (0.5, 0.35, 0.15)

    def __init__(self, rng: np.random.Generator, attributes: int, values: int) -> None:
        self._rng = rng
        self._attributes = Draws(rng, attributes, 0.8)
        self._values = Draws(rng, values, 0.8)

    def make(self, depth: int) -> str:
        return self._make_node("and", depth)

    def _make_node(self, word: str, depth: int) -> str:
        if depth == 0:
            return self._make_conjunction()
        count = int(self._rng.choice(self.CHILDREN, p=self.CHILDREN_CHANCES))
        other = "or" if word == "and" else "and"
        return f" {word} ".join(f"({self._make_node(other, depth - 1)})" for _ in range(count))

    def _make_conjunction(self) -> str:
        size = int(self._rng.choice(self.SIZES, p=self.SIZE_CHANCES))
        attributes: set[int] = set()
        while len(attributes) < size:
            attributes.add(next(self._attributes))
        return " and ".join(self._make_predicate(attribute) for attribute in sorted(attributes))

    def _make_predicate(self, attribute: int) -> str:
        values = sorted({next(self._values) for _ in range(3)})
        word = "in" if self._rng.random() < 0.8 else "not in"
        return f"a{attribute} {word} ({', '.join(map(str, values))})"


def make_trees(
    *,
    depth: int = 2,
    expressions: int = 1000,
    attributes: int = 20,
    values: int = 12,
    selectivity: float = 1.0,
    visits: int = 200,
) -> Made:
    """Makes trees by `TreeMaker`; `selectivity` is the share that can match (section 5.5)."""
    rng = np.random.default_rng(SEED)
    maker = TreeMaker(rng, attributes, values)
    texts = []
    for number in range(expressions):
        text = maker.make(depth)
        hopeless = number >= round(selectivity * expressions)
        texts.append(f"({text}) and never = 1" if hopeless else text)
    types = {f"a{number}": "integer" for number in range(attributes)} | {"never": "integer"}
    value = Draws(rng, values, 0.8)
    seen = [
        {f"a{a}": next(value) for a in range(attributes) if rng.random() < 0.8}
        for _ in range(2 * visits)
    ]
    return Made(types, texts, seen[:visits], seen[visits:])


def make_intervals(
    *,
    subscriptions: int = 1000,
    attributes: int = 10,
    width: float | None = None,
    zipf: float = 0.0,
    cardinality: int = 10_000,
    points: float = 0.1,
    matching: float | None = None,
    visits: int = 200,
) -> Made:
    """Makes DEXIN's subscriptions (table 1): values in [0, 1]; a `width` of None is 0.2 to 0.8.

    With a `matching` rate, subscriptions are made around a few events, which are then the visits.
    """
    rng = np.random.default_rng(SEED)
    draw = Draws(rng, cardinality, zipf) if zipf else None

    def value() -> float:
        return (next(draw) if draw else int(rng.integers(cardinality))) / cardinality

    centres = round(1 / matching) if matching else 0
    events = [{f"a{a}": value() for a in range(attributes)} for _ in range(max(visits, centres))]
    texts = []
    for number in range(subscriptions):
        around = events[number % centres] if centres else None
        texts.append(_make_subscription(rng, attributes, width, points, value, around))
    seen = [events[i % (centres or visits)] for i in range(visits)]
    return Made({f"a{a}": "float" for a in range(attributes)}, texts, seen, events[:20])


def _make_subscription(
    rng: np.random.Generator,
    attributes: int,
    width: float | None,
    points: float,
    value: Callable[[], float],
    around: dict[str, float] | None,
) -> str:
    """Writes one constraint for each attribute; around an event, one of them is an equality."""
    alone = int(rng.integers(attributes)) if around else -1
    parts = []
    for a in range(attributes):
        centre = around[f"a{a}"] if around else None
        if a == alone or rng.random() < points:
            parts.append(f"a{a} = {value() if centre is None else centre}")
            continue
        wide = rng.uniform(0.2, 0.8) if width is None else width
        low = value() * (1 - wide) if centre is None else max(0.0, centre - rng.random() * wide)
        parts.append(f"a{a} between {low:.7f} and {low + wide:.7f}")
    return " and ".join(parts)


def make_facts(
    *,
    subscriptions: int = 1000,
    predicates: int = 500,
    popularity: float = 0.0,
    longest: int = 5,
    visits: int = 20,
) -> Made:
    """Makes DEBS 2007's subscriptions (table 1) of 3 to `longest` predicates, with a Zipf
    `popularity` (0: uniform weights); 0.2 % match. A predicate is a fact that an event has or
    not."""
    rng = np.random.default_rng(SEED)
    weights = np.arange(1, predicates + 1) ** -popularity if popularity else rng.random(predicates)
    lengths = np.arange(3, longest + 1)
    mean = _solve(lambda m: float(np.mean(m**lengths)) - 0.002)
    chances = rng.uniform(0.5 * mean, 1.5 * mean, predicates)
    cumulative = np.cumsum(weights)
    texts = []
    for length in rng.choice(lengths, subscriptions).tolist():
        facts: set[int] = set()
        while len(facts) < length:
            facts.add(int(np.searchsorted(cumulative, rng.random() * cumulative[-1])))
        texts.append(" and ".join(f"facts one of ({fact})" for fact in sorted(facts)))
    events = [
        {"facts": np.flatnonzero(rng.random(predicates) < chances).tolist()}
        for _ in range(visits + FACT_TRAINING)
    ]
    return Made({"facts": "integer set"}, texts, events[:visits], events[visits:])


def _solve(wanted: Callable[[float], float]) -> float:
    """Finds the zero of a growing function in [0, 1], by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if wanted(middle) < 0 else (low, middle)
    return low


def make_equalities(
    *,
    subscriptions: int = 1000,
    attributes: int = 10,
    values: int = 5,
    first: float = 0.98,
    degradation: float = 0.85,
    visits: int = 200,
) -> Made:
    """Makes Gryphon's subscriptions (section 7): the first attribute is the most popular, each next
    one less by a factor; values are Zipf, events uniform. The stored text of the paper has lost all
    numbers: these are ours."""
    rng = np.random.default_rng(SEED)
    value = Draws(rng, values, 1.0)
    texts: list[str] = []
    while len(texts) < subscriptions:
        parts = [
            f"a{a} = {next(value)}"
            for a in range(attributes)
            if rng.random() < first * degradation**a
        ]
        if parts:
            texts.append(" and ".join(parts))
    seen = [{f"a{a}": int(rng.integers(values)) for a in range(attributes)} for _ in range(visits)]
    return Made({f"a{a}": "integer" for a in range(attributes)}, texts, seen, seen[:20])


MAKERS: dict[str, Callable[..., Made]] = {
    "abe": make_abe,
    "trees": make_trees,
    "intervals": make_intervals,
    "facts": make_facts,
    "equalities": make_equalities,
}
