"""Measures text to normal form, ten predicates each, beside two Python parsers of the same texts.

All parsers read the same texts in the same run: comparisons joined by and, or, not, which all of
them understand. Only ours also checks types and normalises; lark's LALR parser builds its tree,
rule-engine its rule. Ours is measured in bulk (one core, no GIL) and one text at a time.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import lark
import rule_engine

from matcher_ext.language import normalise_many
from targeting import Catalog, parse

PREDICATES = 10
BULK = 100_000
ATTRIBUTES = {f"number{n}": "integer" for n in range(40)} | {
    f"text{n}": "string" for n in range(40)
}
GRAMMAR = r"""
    ?start: disjunction
    ?disjunction: conjunction ("or" conjunction)*
    ?conjunction: unit ("and" unit)*
    ?unit: "not" unit -> negation | "(" disjunction ")" | condition
    condition: NAME OPERATOR value
    ?value: NUMBER | STRING
    OPERATOR: "==" | "!=" | "<=" | ">=" | "<" | ">"
    NAME: /[a-z]+[0-9]+/
    STRING: /'[^']*'/
    %import common.INT -> NUMBER
    %import common.WS
    %ignore WS
"""


def make_predicate(source: random.Random) -> str:
    number = source.randrange(40)
    if source.random() < 0.5:
        operator = source.choice(("==", "!=", "<", "<=", ">", ">="))
        return f"number{number} {operator} {source.randrange(1000)}"
    return f"text{number} {source.choice(('==', '!='))} 'value{source.randrange(500)}'"


def make_text(source: random.Random) -> str:
    """Makes `p and p and (p or p or p) and not (p and p) and ..`, ten predicates in all."""
    one = [make_predicate(source) for _ in range(PREDICATES)]
    return (
        f"{one[0]} and {one[1]} and ({one[2]} or {one[3]} or {one[4]}) and "
        f"not ({one[5]} and {one[6]}) and {one[7]} and ({one[8]} or {one[9]})"
    )


def rate(work: Callable[[Sequence[str]], object], texts: Sequence[str], runs: int = 5) -> float:
    """Measures texts per second of processor time: the median run, after one to warm up."""
    seconds = []
    for _ in range(runs + 1):
        started = time.process_time()
        work(texts)
        seconds.append(time.process_time() - started)
    return len(texts) / statistics.median(seconds[1:])


def measure() -> dict[str, float]:
    source = random.Random(1)
    texts = [make_text(source) for _ in range(BULK)]
    catalog = Catalog.of(**ATTRIBUTES)
    reader = lark.Lark(GRAMMAR, parser="lalr")

    def check_bulk(some: Sequence[str]) -> None:
        assert normalise_many(catalog.compiled, list(some))[2] == 0

    return {
        "bulk, text to normal form": rate(check_bulk, texts),
        "one `parse()` at a time": rate(
            lambda some: [parse(t, catalog) for t in some], texts[:5000]
        ),
        "lark, LALR, tree only": rate(lambda some: [reader.parse(t) for t in some], texts[:300]),
        "rule-engine, rule only": rate(
            lambda some: [rule_engine.Rule(t) for t in some], texts[:300]
        ),
    }


def main() -> int:
    rates = measure()
    slowest = min(rates.values())
    print(
        f"Made-up expressions of {PREDICATES} predicates, all different; no visits. The median of"
    )
    print("five runs, after one to warm up.\n")
    print("| parser | expressions a second | us each | times the slowest |")
    print("|---|---|---|---|")
    for name, value in rates.items():
        print(f"| {name} | {value:,.0f} | {1e6 / value:,.1f} | {value / slowest:,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
