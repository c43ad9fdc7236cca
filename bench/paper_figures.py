"""Lists the studies of the five papers, figure by figure, at this machine's sizes times a scale."""

from __future__ import annotations

from typing import Any

from bench.paper_studies import (
    BUILD,
    MATCH,
    MEMORY,
    Contestant,
    Order,
    Study,
    Sweep,
    named,
    sweep,
)

ABE_ENGINES = ("atree", "paper-atree", "bdd", "translation", "bop", "interval", "dewey", "scan")
TREE_ENGINES = ("interval", "dewey", "translation", "scan-conjunctions", "scan")
# A million expressions: what is not listed takes them.
ABE_MOST = {"bdd": 100_000, "translation": 100_000, "dewey": 100_000}
# What the A-Tree's own text compares: its order of matching times, and of sizes.
FASTER: Order = (
    ("atree", "translation"),
    ("atree", "bdd"),
    ("atree", "bop"),
    ("atree", "interval"),
)
SMALLER: Order = (("atree", "bop"), ("atree", "interval"), ("atree", "translation"))
# What we suppose is behind an order that does not hold; the counted work beside it is measured.
FEW_TRUE = (
    "Supposed: with few true predicates (small events, many dimensions) the K-index reads few and"
    " short lists, and what is left is the cost of a visit."
)
FREEZING = (
    "The product's time is that of a freeze: leaves numbered, access children chosen, one buffer"
    " written as a file has it; the others make lists of what was inserted."
)
MANY_TRUE = (
    "Supposed: a visit has 16 of 20 attributes, so the conjunction index reads many postings, while"
    " a flat program ends at its first false test, on bits that the shared predicate stage has set."
)
MARKING = (
    "Supposed: the cost model counts a mark and a comparison as one, and here a comparison, which"
    " looks for the attribute among the subscription's own, costs more."
)
IN_CACHE = "Supposed: marks are written all over an array, and flat programs read front to back."
HARD = (
    "Supposed: suborder sorts a chain by selectivity alone, and all chances are within a factor of"
    " three here, so popularity, which it takes in only between chains, counts for more."
)


def scaled(scale: float, *sizes: int) -> tuple[int, ...]:
    return tuple(round(size * scale) for size in sizes)


def list_studies(scale: float = 1.0) -> list[Study]:
    makers = (list_atree, list_trees, list_dexin, list_facts, list_gryphon)
    return [study for make in makers for study in make(scale)]


def list_atree(scale: float) -> list[Study]:
    few: dict[str, Any] = {"expressions": round(10_000 * scale)}
    sizes = scaled(scale, 1000, 10_000, 100_000, 1_000_000)
    sweeps = {
        "a": sweep("expressions", "abe", "expressions", sizes),
        "b": sweep("depth of a tree", "abe", "depth", (2, 3, 5), children=2, **few),
        "c": sweep("children of a node", "abe", "children", (2, 4, 8), **few),
        "d": sweep("Zipf exponent of expressions", "abe", "zipf_exponent", (0.2, 1.0), **few),
        "e": sweep("dimensions", "abe", "attributes", (100, 1000, 3000), **few),
        "f": sweep("cardinality of a dimension", "abe", "values", (10, 1000), **few),
        "g": sweep("Zipf exponent of dimensions", "abe", "attribute_zipf", (0.2, 1.0), **few),
        "h": sweep("size of an event", "abe", "attributes_per_visit", (5, 20, 30), **few),
    }
    engines = named(*ABE_ENGINES, most=ABE_MOST)
    sizes_of_ads = scaled(scale, 10_000, 100_000)
    ads = sweep("expressions of Ads", "abe", "expressions", sizes_of_ads, profile="ads")
    figures = (
        ("11", MEMORY, "abcd", SMALLER, ""),
        ("12", MATCH, "abcdefgh", FASTER, FEW_TRUE),
        ("13", BUILD, "abcd", SMALLER, FREEZING),
    )
    table = (("match", MATCH, FASTER, ""), ("build", BUILD, SMALLER, FREEZING))
    return [
        *(
            Study(
                f"atree-table4-{key}",
                "a-tree",
                f"table 4: Ads, {metric}",
                metric,
                ads,
                engines,
                order,
                why,
            )
            for key, metric, order, why in (*table, ("mb", MEMORY, SMALLER, ""))
        ),
        *(
            Study(
                f"atree-{figure}{letter}",
                "a-tree",
                f"figure {figure}({letter}): {metric} by {sweeps[letter].grows}",
                metric,
                sweeps[letter],
                engines,
                order,
                why,
            )
            for figure, metric, letters, order, why in figures
            for letter in letters
        ),
    ]


def list_trees(scale: float) -> list[Study]:
    few = {"expressions": round(5000 * scale)}
    depths = sweep("depth", "trees", "depth", (1, 2, 3, 4), **few)
    sizes = sweep("expressions", "trees", "expressions", scaled(scale, 1000, 10_000, 100_000))
    shares = sweep("selectivity", "trees", "selectivity", (0.1, 0.5, 1.0), depth=3, **few)
    both: Order = (("interval", "dewey"),)
    times: Order = (
        *both,
        ("interval", "translation"),
        ("interval", "scan-conjunctions"),
        ("scan-conjunctions", "scan"),
    )
    sizes_of: Order = (("interval", "translation"), ("interval", "scan-conjunctions"))
    alone = "evaluate us"
    rows: tuple[tuple[str, str, str, Sweep, Order, str], ...] = (
        ("8", "figures 8 to 10: time by depth", MATCH, depths, times, MANY_TRUE),
        ("table2", "table 2: memory by depth", MEMORY, depths, sizes_of, ""),
        ("11", "figure 11: evaluation alone, by depth", alone, depths, both, ""),
        ("12", "figure 12: time by expressions", MATCH, sizes, both, ""),
        ("table4", "table 4: memory by expressions", MEMORY, sizes, both, ""),
        ("13", "figure 13: evaluation alone, by expressions", alone, sizes, both, ""),
        ("14", "figure 14: evaluation alone, by selectivity", alone, shares, both, ""),
    )
    return [
        Study(
            f"trees-{key}",
            "complex-boolean-expressions",
            title,
            metric,
            points,
            named(*(TREE_ENGINES if len(order) > 1 else ("interval", "dewey"))),
            order,
            why,
        )
        for key, title, metric, points, order, why in rows
    ]


DEXIN_METHODS = (
    Contestant("dexin", "dexin"),
    Contestant("exclusive alone", "dexin", {"method": "exclusive"}),
    Contestant("inclusive alone", "dexin", {"method": "inclusive"}),
)
DEXIN_ORDERS = (
    Contestant("near-optimal", "dexin"),
    Contestant("optimal", "dexin", {"order": "optimal"}),
)


def list_dexin(scale: float) -> list[Study]:
    few: dict[str, Any] = {"subscriptions": round(10_000 * scale)}
    skewed = {"zipf": 1.0, **few}
    sizes = scaled(scale, 5000, 20_000, 100_000)
    growing = sweep("subscriptions", "intervals", "subscriptions", sizes)
    by_attributes = sweep("attributes", "intervals", "attributes", (2, 6, 14), visits=20, **few)

    def vary(name: str, values: tuple[Any, ...], **fixed: Any) -> Sweep:
        return sweep(name, "intervals", name, values, **fixed)

    both, wins = named("dexin", "scan"), (("dexin", "scan"),)
    best = (("dexin", "exclusive alone"), ("dexin", "inclusive alone"))
    time = (MATCH, both, wins, IN_CACHE)
    skewed_sizes = vary("subscriptions", sizes, zipf=1.0)
    cardinalities = vary("cardinality", (100, 1_000_000), **few)
    rows: tuple[tuple[str, str, Sweep, tuple[Any, ...]], ...] = (
        ("2", "figures 2 and 3: time by subscriptions", growing, time),
        ("4", "figures 4 and 5: time by attributes", vary("attributes", (2, 10, 22), **few), time),
        ("6", "figure 6: time by width", vary("width", (0.1, 0.5, 0.9), **few), time),
        ("7", "figure 7: Zipf, time by subscriptions", skewed_sizes, time),
        ("8", "figure 8: Zipf, time by attributes", vary("attributes", (2, 22), **skewed), time),
        ("9", "figure 9: Zipf, time by width", vary("width", (0.1, 0.9), **skewed), time),
        ("10", "figure 10: time by cardinality", cardinalities, time),
        ("11", "figure 11: time by share of points", vary("points", (0.1, 0.9), **few), time),
        ("12", "figures 12 and 17: time by matching rate",
         vary("matching", (0.01, 0.05, 0.2), **few), (MATCH, DEXIN_METHODS, best, MARKING)),
        ("16", "figure 16: time with the order's own", by_attributes,
         (MATCH, DEXIN_ORDERS, (("near-optimal", "optimal"),), "")),
        ("13", "figure 13: subscribing", growing, (BUILD, named("dexin"), (), "")),
        ("14", "figure 14: memory", growing, (MEMORY, named("dexin"), (), "")),
        ("15", "figure 15: planned cost by attributes", by_attributes,
         ("planned cost", DEXIN_ORDERS, (("optimal", "near-optimal"),), "")),
    )  # fmt: skip
    return [
        Study(f"dexin-{key}", "dexin", title, metric, points, contestants, order, why)
        for key, title, points, (metric, contestants, order, why) in rows
    ]


def list_facts(scale: float) -> list[Study]:
    """Lists the studies with the paper's own numbers: 2,000 to 80,000 subscriptions of 2,000 to
    40,000 predicates."""
    sizes = scaled(scale, 2000, 20_000, 80_000)
    many, few, most = round(20_000 * scale), round(5000 * scale), round(40_000 * scale)
    some = {"subscriptions": many, "predicates": few}

    def vary(name: str, values: tuple[Any, ...], **fixed: Any) -> Sweep:
        return sweep(name, "facts", name, values, **fixed)

    zipf = {"popularity": 1.0}
    counts = scaled(scale, 2000, 10_000, 30_000)
    rows = (
        ("4", "subscriptions, uniform", vary("subscriptions", sizes, predicates=most), ""),
        ("5", "subscriptions, Zipf", vary("subscriptions", sizes, predicates=most, **zipf), HARD),
        ("6", "predicates", vary("predicates", counts, subscriptions=many, **zipf), HARD),
        ("7", "longest subscription", vary("longest", (5, 8, 11), **some, **zipf), HARD),
        ("8", "popularity (0: uniform)", vary("popularity", (0.0, 0.8, 1.0, 1.2), **some), HARD),
    )
    order = (("suborder", "sequential"), ("sequential", "naive"))
    return [
        Study(
            f"facts-{key}",
            "overlapping-subscriptions",
            f"figure {key}: evaluations by {title}",
            "evaluations",
            points,
            named("suborder", "sequential", "naive"),
            order,
            why,
        )
        for key, title, points, why in rows
    ]


def list_gryphon(scale: float) -> list[Study]:
    growing = sweep(
        "subscriptions", "equalities", "subscriptions", scaled(scale, 1000, 10_000, 100_000)
    )
    small = sweep("subscriptions", "equalities", "subscriptions", scaled(scale, 300, 1000))
    plain = Contestant("plain", "gryphon", {"collapse": False})
    collapsed = Contestant("collapsed", "gryphon")
    factored = Contestant("factored", "gryphon", {"factored": ("a0",)})
    followed = Contestant("successors", "gryphon", {"successors": True})
    trees = (plain, collapsed, factored)
    saves = (("collapsed", "plain"), ("factored", "collapsed"))
    rows: tuple[tuple[str, str, str, Sweep, tuple[Contestant, ...], Order], ...] = (
        ("growth", "nodes visited by subscriptions", "nodes visited", growing, trees, saves),
        ("time", "time by subscriptions", MATCH, growing, (*trees, *named("scan")),
         (("collapsed", "scan"),)),
        ("successors", "tests by subscriptions, with successors", "tests", small,
         (plain, collapsed, followed), (("successors", "plain"),)),
    )  # fmt: skip
    return [
        Study(f"gryphon-{key}", "matching-events", title, metric, points, contestants, order)
        for key, title, metric, points, contestants, order in rows
    ]
