"""Lists the studies of the five papers as tables of cells: one engine on one workload each.

A study is a figure or a table: what grows, the engines, and the order that the paper found. Sizes
suit a small machine; `scale` multiplies them for a larger one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Spec = dict[str, Any]  # a maker's name under "make", and its numbers
ABE_ENGINES = ("atree", "paper-atree", "bdd", "translation", "bop", "interval", "dewey", "scan")
TREE_ENGINES = ("interval", "dewey", "translation", "scan-conjunctions", "scan")
ORDERED = ("suborder", "sequential", "naive")
MATCH, MEMORY, BUILD = "match us", "MB", "build s"
# The order of matching times that the A-Tree paper's text gives.
ABE_ORDER = (("atree", "translation"), ("atree", "bdd"), ("atree", "bop"), ("atree", "interval"))


@dataclass(frozen=True, slots=True)
class Contestant:
    """An engine with its switches, and what a table calls it."""

    name: str
    engine: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Study:
    """A figure or a table. `order` has pairs of names: the paper says that the first of each has
    less of the metric."""

    key: str
    paper: str
    title: str
    metric: str
    grows: str
    points: dict[str, Spec]
    contestants: tuple[Contestant, ...]
    order: tuple[tuple[str, str], ...] = ()
    why: str = ""


def named(*engines: str) -> tuple[Contestant, ...]:
    return tuple(Contestant(engine, engine) for engine in engines)


def sweep(make: str, parameter: str, values: tuple[Any, ...], **fixed: Any) -> dict[str, Spec]:
    return {f"{value:,}": {"make": make, **fixed, parameter: value} for value in values}


def list_studies(scale: float = 1.0) -> list[Study]:
    return [
        *list_atree(scale),
        *list_trees(scale),
        *list_dexin(scale),
        *list_facts(scale),
        *list_gryphon(scale),
    ]


def list_atree(scale: float) -> list[Study]:
    few = {"expressions": round(2000 * scale)}
    sizes = tuple(round(size * scale) for size in (1000, 3000, 10_000, 30_000))
    sweeps = {
        "a": ("expressions", sweep("abe", "expressions", sizes)),
        "b": ("depth of a tree", sweep("abe", "depth", (2, 3, 4, 5), children=2, **few)),
        "c": ("children of a node", sweep("abe", "children", (2, 4, 8), **few)),
        "d": (
            "Zipf exponent of expressions",
            sweep("abe", "zipf_exponent", (0.2, 0.6, 1.0), **few),
        ),
        "e": ("dimensions", sweep("abe", "attributes", (100, 1000, 3000), **few)),
        "f": ("cardinality of a dimension", sweep("abe", "values", (10, 100, 1000), **few)),
        "g": (
            "Zipf exponent of dimensions",
            sweep("abe", "attribute_zipf", (0.2, 0.6, 1.0), **few),
        ),
        "h": ("size of an event", sweep("abe", "attributes_per_visit", (5, 20, 30), **few)),
    }
    table = {"ads": {"make": "abe", "profile": "ads", "expressions": round(10_000 * scale)}}
    engines = named(*ABE_ENGINES)
    smaller = (("atree", "bop"), ("atree", "interval"), ("atree", "translation"))
    studies = [
        Study(
            f"atree-table4-{metric.split()[0].lower()}",
            "a-tree",
            f"table 4: Ads, {metric}",
            metric,
            "set",
            table,
            engines,
            ABE_ORDER if metric == MATCH else smaller,
        )
        for metric in (MATCH, BUILD, MEMORY)
    ]
    for figure, metric, letters, order in (
        ("11", MEMORY, "abcd", smaller),
        ("12", MATCH, "abcdefgh", ABE_ORDER),
        ("13", BUILD, "abcd", smaller),
    ):
        for letter in letters:
            grows, points = sweeps[letter]
            studies.append(
                Study(
                    f"atree-{figure}{letter}",
                    "a-tree",
                    f"figure {figure}({letter}): {metric} by {grows}",
                    metric,
                    grows,
                    points,
                    engines,
                    order,
                )
            )
    return studies


def list_trees(scale: float) -> list[Study]:
    few = {"expressions": round(2000 * scale)}
    depths = sweep("trees", "depth", (1, 2, 3, 4), **few)
    sizes = sweep("trees", "expressions", tuple(round(s * scale) for s in (1000, 3000, 10_000)))
    shares = sweep("trees", "selectivity", (0.1, 0.3, 0.5, 1.0), depth=3, **few)
    engines, both = named(*TREE_ENGINES), named("interval", "dewey")
    faster = (("interval", "dewey"),)
    title = "complex-boolean-expressions"
    return [
        Study(
            "trees-8",
            title,
            "figures 8 to 10: time by depth",
            MATCH,
            "depth",
            depths,
            engines,
            (
                *faster,
                ("interval", "translation"),
                ("interval", "scan-conjunctions"),
                ("scan-conjunctions", "scan"),
            ),
        ),
        Study(
            "trees-table2",
            title,
            "table 2: memory by depth",
            MEMORY,
            "depth",
            depths,
            engines,
            (("interval", "translation"), ("interval", "scan-conjunctions")),
        ),
        Study(
            "trees-11",
            title,
            "figure 11: evaluation alone, by depth",
            "evaluate us",
            "depth",
            depths,
            both,
            faster,
        ),
        Study(
            "trees-12",
            title,
            "figure 12: time by expressions",
            MATCH,
            "expressions",
            sizes,
            both,
            faster,
        ),
        Study(
            "trees-table4",
            title,
            "table 4: memory by expressions",
            MEMORY,
            "expressions",
            sizes,
            both,
            faster,
        ),
        Study(
            "trees-13",
            title,
            "figure 13: evaluation alone, by expressions",
            "evaluate us",
            "expressions",
            sizes,
            both,
            faster,
        ),
        Study(
            "trees-14",
            title,
            "figure 14: evaluation alone, by selectivity",
            "evaluate us",
            "selectivity",
            shares,
            both,
            faster,
        ),
    ]


def list_dexin(scale: float) -> list[Study]:
    few = {"subscriptions": round(5000 * scale)}
    sizes = tuple(round(size * scale) for size in (2500, 5000, 10_000, 20_000))
    rates = sweep("intervals", "matching", (0.01, 0.05, 0.2), **few)
    skewed = {"zipf": 1.0, **few}
    both = (*named("dexin", "scan"),)
    methods = (
        Contestant("dexin", "dexin"),
        Contestant("exclusive alone", "dexin", {"method": "exclusive"}),
        Contestant("inclusive alone", "dexin", {"method": "inclusive"}),
    )
    orders = (
        Contestant("near-optimal", "dexin"),
        Contestant("optimal", "dexin", {"order": "optimal"}),
    )
    wins = (("dexin", "scan"),)
    best = (("dexin", "exclusive alone"), ("dexin", "inclusive alone"))
    by_attributes = sweep("intervals", "attributes", (2, 6, 10, 14), visits=20, **few)
    rows: list[tuple[str, str, str, dict[str, Spec], tuple[Contestant, ...], Any]] = [
        (
            "2",
            "figures 2 and 3: time by subscriptions",
            "subscriptions",
            sweep("intervals", "subscriptions", sizes),
            both,
            wins,
        ),
        (
            "4",
            "figures 4 and 5: time by attributes",
            "attributes",
            sweep("intervals", "attributes", (2, 6, 10, 22), **few),
            both,
            wins,
        ),
        (
            "6",
            "figure 6: time by width",
            "width",
            sweep("intervals", "width", (0.1, 0.5, 0.9), **few),
            both,
            wins,
        ),
        (
            "7",
            "figure 7: Zipf, time by subscriptions",
            "subscriptions",
            sweep("intervals", "subscriptions", sizes[:3], zipf=1.0),
            both,
            wins,
        ),
        (
            "8",
            "figure 8: Zipf, time by attributes",
            "attributes",
            sweep("intervals", "attributes", (2, 10, 22), **skewed),
            both,
            wins,
        ),
        (
            "9",
            "figure 9: Zipf, time by width",
            "width",
            sweep("intervals", "width", (0.1, 0.5, 0.9), **skewed),
            both,
            wins,
        ),
        (
            "10",
            "figure 10: time by cardinality",
            "cardinality",
            sweep("intervals", "cardinality", (100, 10_000, 1_000_000), **few),
            both,
            wins,
        ),
        (
            "11",
            "figure 11: time by share of points",
            "share of points",
            sweep("intervals", "points", (0.1, 0.5, 0.9), **few),
            both,
            wins,
        ),
        ("12", "figures 12 and 17: time by matching rate", "matching rate", rates, methods, best),
        (
            "16",
            "figure 16: time with the order's own",
            "attributes",
            by_attributes,
            orders,
            (("near-optimal", "optimal"),),
        ),
    ]
    studies = [
        Study(f"dexin-{key}", "dexin", title, MATCH, grows, points, contestants, order)
        for key, title, grows, points, contestants, order in rows
    ]
    growing = sweep("intervals", "subscriptions", sizes)
    return [
        *studies,
        Study(
            "dexin-13",
            "dexin",
            "figure 13: subscribing",
            BUILD,
            "subscriptions",
            growing,
            named("dexin"),
        ),
        Study(
            "dexin-14",
            "dexin",
            "figure 14: memory",
            MEMORY,
            "subscriptions",
            growing,
            named("dexin"),
        ),
        Study(
            "dexin-15",
            "dexin",
            "figure 15: planned cost by attributes",
            "planned cost",
            "attributes",
            by_attributes,
            orders,
            (("optimal", "near-optimal"),),
        ),
    ]


def list_facts(scale: float) -> list[Study]:
    few, some = round(5000 * scale), round(1250 * scale)
    sizes = tuple(round(size * scale) for size in (500, 2000, 5000, 20_000))
    order = (("suborder", "sequential"), ("sequential", "naive"))
    rows = [
        (
            "4",
            "figure 4: evaluations by subscriptions, uniform",
            "subscriptions",
            sweep("facts", "subscriptions", sizes, predicates=2 * few),
        ),
        (
            "5",
            "figure 5: evaluations by subscriptions, Zipf",
            "subscriptions",
            sweep("facts", "subscriptions", sizes, predicates=2 * few, popularity=1.0),
        ),
        (
            "6",
            "figure 6: evaluations by predicates",
            "predicates",
            sweep(
                "facts",
                "predicates",
                (some // 2, 2 * some, 6 * some),
                subscriptions=few,
                popularity=1.0,
            ),
        ),
        (
            "7",
            "figure 7: evaluations by longest subscription",
            "longest",
            sweep(
                "facts", "longest", (5, 8, 11), subscriptions=few, predicates=some, popularity=1.0
            ),
        ),
        (
            "8",
            "figure 8: evaluations by popularity (0: uniform)",
            "Zipf exponent",
            sweep("facts", "popularity", (0.0, 0.8, 1.0, 1.2), subscriptions=few, predicates=some),
        ),
    ]
    return [
        Study(
            f"facts-{key}",
            "overlapping-subscriptions",
            title,
            "evaluations",
            grows,
            points,
            named(*ORDERED),
            order,
        )
        for key, title, grows, points in rows
    ]


def list_gryphon(scale: float) -> list[Study]:
    sizes = tuple(round(size * scale) for size in (1000, 3000, 10_000, 30_000))
    growing = sweep("equalities", "subscriptions", sizes)
    trees = (
        Contestant("plain", "gryphon", {"collapse": False}),
        Contestant("collapsed", "gryphon"),
        Contestant("factored", "gryphon", {"factored": ("a0",)}),
    )
    small = sweep("equalities", "subscriptions", tuple(round(s * scale) for s in (300, 1000)))
    return [
        Study(
            "gryphon-growth",
            "matching-events",
            "nodes visited by subscriptions",
            "nodes visited",
            "subscriptions",
            growing,
            trees,
            (("collapsed", "plain"), ("factored", "collapsed")),
        ),
        Study(
            "gryphon-time",
            "matching-events",
            "time by subscriptions",
            MATCH,
            "subscriptions",
            growing,
            (*trees, Contestant("scan", "scan")),
            (("collapsed", "scan"),),
        ),
        Study(
            "gryphon-successors",
            "matching-events",
            "tests by subscriptions, with successors",
            "tests",
            "subscriptions",
            small,
            (*trees[:2], Contestant("successors", "gryphon", {"successors": True})),
            (("successors", "plain"),),
        ),
    ]
