"""Measures when reorganisation and self-adjustment pay: `python -m bench reorganisation`.

It builds the index with neither, with reorganisation (the paper's algorithm 2) and with
self-adjustment as well (algorithm 3), on expressions that are parts of one another and on those of
the paper:

  paths      a publisher's paths of edges and their beginnings, with and without a campaign
  audiences  2,000 audiences, and 100,000 expressions of an audience and one to three conditions
  s100k      the paper's synthetic expressions, which share whole subexpressions

Names of workloads may follow `python -m bench.reorganisation`.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from bench.bookings import TYPES, draw_visit, write_campaign, write_edge
from bench.rounds import REPEATED, Contestant, time_in_rounds, timed
from bench.sets import Set, open_set
from matcher_ext import ATree, Snapshot
from targeting import Catalog

MEASURED_VISITS = 200
PUBLISHERS = 50
EXPRESSIONS = 100_000
OPTIONS: dict[str, dict[str, bool]] = {
    "neither": {},
    "reorganisation": {"reorganise": True},
    "and self-adjustment": {"reorganise": True, "self_adjust": True},
}
HEADINGS = ("workload", "option", "insert s", "freeze s", "nodes", "edges", "file MB", "match us")


def draw_paths(chosen: random.Random, edges: int) -> Iterator[str]:
    """Draws each publisher's tree of paths, three hops deep, shorter paths first."""
    for publisher in range(PUBLISHERS):
        layer = [f"publisher.id = 'p{publisher}'"]
        for _ in range(3):
            layer = [
                f"{path} and @edge.{number}"
                for path in layer
                for number in chosen.sample(range(edges), 5)
            ]
            yield from layer


def make_set(name: str, texts: list[str], definitions: dict[str, str], seed: int) -> Set:
    chosen = random.Random(seed)
    seen = [draw_visit(chosen, PUBLISHERS) for _ in range(2 * MEASURED_VISITS)]
    return Set(
        name,
        Catalog.of(**TYPES),
        definitions,
        texts,
        seen[:MEASURED_VISITS],
        seen[MEASURED_VISITS:],
    )


def make_paths() -> Set:
    chosen = random.Random(3)
    definitions = {f"edge.{number}": write_edge(chosen) for number in range(1000)}
    paths = list(draw_paths(chosen, len(definitions)))
    texts = [
        *paths,
        *(
            f"{chosen.choice(paths)} and {write_campaign(chosen)}"
            for _ in range(EXPRESSIONS - len(paths))
        ),
    ]
    chosen.shuffle(texts)
    return make_set("paths", texts, definitions, 4)


def make_audiences() -> Set:
    chosen = random.Random(5)
    audiences = [write_campaign(chosen) for _ in range(2000)]
    texts = [
        *audiences,
        *(
            " and ".join(
                (
                    chosen.choice(audiences),
                    *(write_edge(chosen) for _ in range(chosen.randint(1, 3))),
                )
            ).replace(" or ", " and ")
            for _ in range(EXPRESSIONS)
        ),
    ]
    chosen.shuffle(texts)
    return make_set("audiences", texts, {}, 6)


WORKLOADS: dict[str, Callable[[], Set]] = {
    "paths": make_paths,
    "audiences": make_audiences,
    "s100k": partial(open_set, "s100k"),
}


def grow(workload: Set, switches: dict[str, bool]) -> ATree:
    index = workload.open_index(**switches)
    index.insert_many(range(len(workload.texts)), workload.texts)
    return index


def measure(workload: Set) -> None:
    rows: dict[str, str] = {}
    contestants: dict[str, Contestant] = {}
    answers: set[tuple[int, ...]] = set()
    for option, switches in OPTIONS.items():
        grown, index = timed(partial(grow, workload, switches))
        index.learn_truth_rates(workload.training_visits)
        frozen, snapshot = timed(index.freeze)
        stats = snapshot.stats()
        answers.add(count_matches(workload, snapshot))
        rows[option] = (
            f"{grown:.2f} | {frozen:.2f} | {stats['nodes']:,} | {stats['edges']:,} | "
            f"{stats['bytes'] / 1e6:.1f}"
        )
        contestants[option] = (snapshot.match_ids, workload.visits[:MEASURED_VISITS])
    if len(answers) != 1:
        raise SystemExit(f"{workload.name}: the options give different answers")
    for option, found in time_in_rounds(contestants).items():
        cells = f"{rows[option]} | {statistics.median(found):,.1f}"
        print(f"| {workload.name} | {option} | {cells} |", flush=True)


def count_matches(workload: Set, snapshot: Snapshot) -> tuple[int, ...]:
    return tuple(len(snapshot.match_ids(visit)) for visit in workload.visits[:50])


def main(names: Iterable[str]) -> int:
    print(f"Made-up expressions, none on any path; {MEASURED_VISITS} different visits of 11")
    print(f"attributes (s100k: about 20). {REPEATED}\n")
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + "---|" * len(HEADINGS))
    for name in list(names) or WORKLOADS:
        measure(WORKLOADS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
