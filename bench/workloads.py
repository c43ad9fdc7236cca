"""Makes named workloads of Boolean expressions and visits, after the A-Tree paper's section 6.

`python -m bench.workloads s100k` writes `expressions.txt` and `visits.jsonl` into the cache folder;
benchmark programs call `open_workload("s100k")`, which makes it on first use. The same name always
gives the same bytes. Attributes are the integers a0, a1, ..; an expression's id is its line number.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

CACHE = Path(os.environ.get("TREELINE_BENCH_CACHE", "var/bench"))
DRAWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Parameters:
    """What shapes a workload; the defaults are the paper's bold values (its table 3)."""

    profile: str = "synthetic"
    expressions: int = 1_000_000
    depth: int = 3
    children: int = 4
    attributes: int = 1000
    values: int = 100
    zipf_exponent: float = 0.6
    attribute_zipf: float = 0.0
    uses_per_subexpression: float = 6.0
    visits: int = 2000
    attributes_per_visit: int = 20
    seed: int = 1


SYNTHETIC = Parameters()
ADS = Parameters(profile="ads", expressions=1_392_196, attributes=122, values=1000)
WORKLOADS = {
    "s10k": replace(SYNTHETIC, expressions=10_000),
    "s100k": replace(SYNTHETIC, expressions=100_000),
    "s1m": SYNTHETIC,
    "ads10k": replace(ADS, expressions=10_000),
    "ads100k": replace(ADS, expressions=100_000),
    "ads1m": ADS,
}


@dataclass(frozen=True, slots=True)
class Workload:
    """A made workload on disk."""

    folder: Path
    parameters: Parameters

    @property
    def attribute_names(self) -> list[str]:
        return [f"a{number}" for number in range(self.parameters.attributes)]

    def expressions(self) -> list[str]:
        return (self.folder / "expressions.txt").read_text().splitlines()

    def visits(self) -> list[dict[str, int]]:
        return _read_visits(self.folder / "visits.jsonl")

    def training_visits(self) -> list[dict[str, int]]:
        """Reads other visits of the same distribution, for learning truth rates."""
        return _read_visits(self.folder / "training_visits.jsonl")

    def batch_visits(self, count: int) -> list[dict[str, int]]:
        """Draws so many other visits, the same ones at each call."""
        rng = np.random.default_rng([self.parameters.seed, 3])
        return list(make_visits(self.parameters, rng, count))


def _read_visits(path: Path) -> list[dict[str, int]]:
    with path.open() as lines:
        return [json.loads(line) for line in lines]


class Draws:
    """A stream of draws from a Zipf distribution (uniform for exponent 0), drawn in blocks."""

    def __init__(self, rng: np.random.Generator, size: int, exponent: float) -> None:
        weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
        self._cumulative = np.cumsum(weights)
        self._rng = rng
        self._stream = self._draw()

    def _draw(self) -> Iterator[int]:
        while True:
            points = self._rng.random(DRAWS_AT_ONCE) * self._cumulative[-1]
            yield from np.searchsorted(self._cumulative, points).tolist()

    def __next__(self) -> int:
        return next(self._stream)


class Pool:
    """Subexpressions that are drawn again and again: each is made when it is first drawn."""

    def __init__(self, rng: np.random.Generator, size: int, exponent: float) -> None:
        self._items: list[str | None] = [None] * size
        self._draws = Draws(rng, size, exponent)

    def draw(self, make: Callable[[], str]) -> str:
        number = next(self._draws)
        item = self._items[number]
        if item is None:
            item = self._items[number] = make()
        return item


class Chances:
    """A stream of uniform numbers in [0, 1), drawn in blocks."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._stream = self._draw()

    def _draw(self) -> Iterator[float]:
        while True:
            yield from self._rng.random(DRAWS_AT_ONCE).tolist()

    def chance(self) -> float:
        return next(self._stream)

    def below(self, limit: int) -> int:
        return int(next(self._stream) * limit)

    def sample(self, limit: int, size: int) -> list[int]:
        """Draws distinct numbers below the limit, ascending."""
        chosen: set[int] = set()
        while len(chosen) < min(size, limit):
            chosen.add(self.below(limit))
        return sorted(chosen)


class PredicateMaker:
    """Writes predicates on the workload's attributes."""

    RANGE_OPERATORS = ("<", "<=", ">", ">=")

    def __init__(self, parameters: Parameters, rng: np.random.Generator) -> None:
        self._parameters = parameters
        self._chances = Chances(rng)
        self._attributes = (
            Draws(rng, parameters.attributes, parameters.attribute_zipf)
            if parameters.attribute_zipf
            else None
        )

    def make(self) -> str:
        attribute = f"a{self._draw_attribute()}"
        operator = self._draw_operator()
        if operator in ("in", "not in"):
            values = self._chances.sample(self._parameters.values, 2 + self._chances.below(5))
            return f"{attribute} {operator} ({', '.join(map(str, values))})"
        lower = self._chances.below(self._parameters.values)
        if operator == "between":
            width = self._chances.below(max(1, self._parameters.values // 4))
            upper = min(self._parameters.values - 1, lower + width)
            # The bounds stand in their order, because the language refuses an empty range.
            return f"{attribute} between {lower} and {upper}"
        return f"{attribute} {operator} {lower}"

    def _draw_attribute(self) -> int:
        if self._attributes is None:
            return self._chances.below(self._parameters.attributes)
        return next(self._attributes)

    def _draw_operator(self) -> str:
        point = self._chances.chance()
        if self._parameters.profile == "ads":
            return self._draw_ads_operator(point)
        if point < 0.4:
            return "="
        rest = ("!=", *self.RANGE_OPERATORS, "in", "not in", "between")
        return rest[int((point - 0.4) / 0.6 * len(rest))]

    def _draw_ads_operator(self, point: float) -> str:
        """Draws an operator as targeting uses them: mostly equality and membership."""
        steps = ((0.45, "="), (0.75, "in"), (0.83, "not in"), (0.88, "!="), (0.94, "between"))
        for limit, operator in steps:
            if point < limit:
                return operator
        return self.RANGE_OPERATORS[self._chances.below(4)]


class SyntheticMaker:
    """ABE-Gen of the paper's section 6.1: trees of one depth over shared subexpressions."""

    def __init__(self, parameters: Parameters, rng: np.random.Generator) -> None:
        self._parameters = parameters
        self._chances = Chances(rng)
        self._predicates = PredicateMaker(parameters, rng)
        self._pools = {
            level: Pool(rng, self._pool_size(level), parameters.zipf_exponent)
            for level in range(1, parameters.depth)
        }

    def _pool_size(self, level: int) -> int:
        p = self._parameters
        if level == 1:
            return max(64, int(p.expressions * 0.9))
        places = p.expressions * (p.children if level == 2 else 1)
        return max(64, int(places / p.uses_per_subexpression))

    def make(self) -> str:
        return self._make_tree(self._parameters.depth)

    def _draw_below(self, height: int) -> str:
        if height == 2:
            return self._pools[1].draw(self._predicates.make)
        below = self._pools[height - 1].draw(lambda: self._make_tree(height - 1))
        return f"({below})"

    def _make_tree(self, height: int) -> str:
        if height == 1:
            return self._predicates.make()
        point = self._chances.chance()
        if point < 0.8:
            word = " and " if point < 0.4 else " or "
            return word.join(self._draw_below(height) for _ in range(self._parameters.children))
        if point < 0.9:
            return f"not ({self._draw_below(height)})"
        word = "xor" if point < 0.95 else "xnor"
        return f"({self._draw_below(height)}) {word} ({self._draw_below(height)})"


class AdsMaker:
    """Targeting trees of 1 to 56 predicates and up to 9 levels, as in the paper's Ads data."""

    MOST_PREDICATES = 56
    MOST_LEVELS = 9
    MOST_SHARED_PREDICATES = 12

    def __init__(self, parameters: Parameters, rng: np.random.Generator) -> None:
        self._parameters = parameters
        self._rng = rng
        self._chances = Chances(rng)
        self._predicates = PredicateMaker(parameters, rng)
        self._predicate_pool = Pool(
            rng, max(64, int(parameters.expressions * 0.9)), parameters.zipf_exponent
        )
        self._pools: dict[tuple[int, str], Pool] = {}

    def make(self) -> str:
        budget = min(self.MOST_PREDICATES, 1 + int(self._rng.exponential(10.0)))
        return self._make(budget, "and", 1)

    def _make(self, budget: int, word: str, level: int) -> str:
        if budget == 1 or level == self.MOST_LEVELS:
            return self._predicate_pool.draw(self._predicates.make)
        if level > 1 and budget <= self.MOST_SHARED_PREDICATES:
            return self._pool(budget, word).draw(lambda: self._split(budget, word, level))
        return self._split(budget, word, level)

    def _pool(self, budget: int, word: str) -> Pool:
        pool = self._pools.get((budget, word))
        if pool is None:
            p = self._parameters
            size = max(64, int(p.expressions / p.uses_per_subexpression / budget))
            pool = self._pools[budget, word] = Pool(self._rng, size, p.zipf_exponent)
        return pool

    def _split(self, budget: int, word: str, level: int) -> str:
        if budget == 2 and self._chances.chance() < 0.01:
            return f"({self._make(1, word, level)}) xor ({self._make(1, word, level)})"
        other = "or" if word == "and" else "and"
        parts = [self._make_part(size, other, level + 1) for size in self._cut(budget)]
        return f" {word} ".join(parts)

    def _cut(self, budget: int) -> list[int]:
        pieces = min(budget, (2, 2, 3, 3, 4, 5)[self._chances.below(6)])
        cuts = [cut + 1 for cut in self._chances.sample(budget - 1, pieces - 1)]
        return [upper - lower for lower, upper in zip([0, *cuts], [*cuts, budget], strict=True)]

    def _make_part(self, size: int, word: str, level: int) -> str:
        part = self._make(size, word, level)
        is_negated = self._chances.chance() < 0.04
        if size > 1 or is_negated:
            part = f"({part})"
        return f"not {part}" if is_negated else part


def make_visits(
    parameters: Parameters, rng: np.random.Generator, count: int
) -> Iterator[dict[str, int]]:
    mean = parameters.attributes_per_visit
    for _ in range(count):
        size = min(parameters.attributes, max(1, int(rng.normal(mean, mean / 5))))
        attributes: npt.NDArray[np.int64] = np.sort(
            rng.choice(parameters.attributes, size, replace=False)
        )
        values = rng.integers(0, parameters.values, size)
        yield {f"a{a}": int(v) for a, v in zip(attributes.tolist(), values.tolist(), strict=True)}


def write_workload(parameters: Parameters, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(parameters.seed)
    makers: dict[str, type[SyntheticMaker | AdsMaker]] = {
        "synthetic": SyntheticMaker,
        "ads": AdsMaker,
    }
    maker = makers[parameters.profile](parameters, rng)
    with (folder / "expressions.txt").open("w") as lines:
        lines.writelines(f"{maker.make()}\n" for _ in range(parameters.expressions))
    for name, seed in (("visits", 1), ("training_visits", 2)):
        visits = make_visits(
            parameters, np.random.default_rng([parameters.seed, seed]), parameters.visits
        )
        with (folder / f"{name}.jsonl").open("w") as lines:
            lines.writelines(f"{json.dumps(visit)}\n" for visit in visits)
    # Written last: its presence says that the folder is whole.
    (folder / "parameters.json").write_text(json.dumps(asdict(parameters)))


def open_parameters(parameters: Parameters, folder: Path) -> Workload:
    """Opens the workload in that folder; makes it anew if it is missing or has other parameters."""
    mark = folder / "parameters.json"
    if not mark.exists() or json.loads(mark.read_text()) != asdict(parameters):
        write_workload(parameters, folder)
    return Workload(folder, parameters)


def open_workload(name: str) -> Workload:
    return open_parameters(WORKLOADS[name], CACHE / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(WORKLOADS))
    for name in parser.parse_args().names:
        print(open_workload(name).folder)


if __name__ == "__main__":
    main()
