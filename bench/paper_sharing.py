"""Counts how often subexpressions of a set occur, by their level: the A-Tree paper's figure 7."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

from bench.paper_workloads import Made
from matcher_ext.language.reading import Normal
from targeting import Catalog

MOST_SHARED_SHARE = 0.01


def count_sharing(made: Made) -> dict[int, Counter[str]]:
    """Counts, by level, how often each distinct subexpression occurs; predicates are level 1."""
    catalog = Catalog.of(**made.types).compiled
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for text in made.texts:
        _count(Normal(catalog, text).to_json(), found)
    return dict(sorted(found.items()))


def _count(node: Any, found: dict[int, Counter[str]]) -> int:
    """Counts a node of a normal form and all below; returns its level."""
    children = node.get("and") or node.get("or") or [] if isinstance(node, dict) else []
    level = 1 + max((_count(child, found) for child in children), default=0)
    found[level][json.dumps(node)] += 1
    return level


def describe_sharing(made: Made) -> str:
    found = count_sharing(made)
    lines = ["### figure 7: sharing of subexpressions, Ads\n"]
    lines.append("| level | distinct | uses of each | most uses |")
    lines.append("|---|---|---|---|")
    means = {}
    for level, counts in found.items():
        means[level] = counts.total() / len(counts)
        most = max(counts.values())
        lines.append(f"| {level} | {len(counts):,} | {means[level]:.2f} | {most:,} |")
    top = sorted(found[1].values(), reverse=True)
    few = max(1, round(MOST_SHARED_SHARE * len(top)))
    share = sum(top[:few]) / sum(top)
    holds = "holds" if means[1] == max(means.values()) else "does not hold"
    lines += [
        "",
        f"That predicates are shared most, and higher levels less, {holds}: {means[1]:.1f} uses of"
        f" a predicate, {means[max(means)]:.1f} of what is on the highest level; the commonest 1 %"
        f" of predicates have {share:.0%} of all uses.",
        "",
    ]
    return "\n".join(lines)
