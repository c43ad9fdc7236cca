"""Random expressions, definitions and visits over every type of the language.

The judge of every test here is the plain evaluator: `@name` is judged by putting the definition's
text in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from targeting import Catalog, parse

TYPES = {
    "publisher": "string",
    "country": "string",
    "age": "integer",
    "score": "float",
    "mobile": "boolean",
    "time": "timestamp",
    "segments": "string set",
    "numbers": "integer set",
    "address": "ip",
    "place": "geo",
    "seen": "timestamp local",
    "geo.utc_offset": "integer",
}
CATALOG = Catalog.of(**TYPES)

WORDS = ("US", "DE", "a.com", "x.a.com", "cars", "é", "")
NUMBERS = (-(2**63), -1, 0, 1, 3, 7, 18, 2**63 - 1)
SMALL = (-1.5, -1.0, 0.0, 0.5, 1.0, 3.0)
TIMES = ("2026-11-15T00:00:00Z", "2026-11-16T08:30:00Z", "1969-12-31T23:59:59.999Z")
ADDRESSES = ("10.0.0.1", "10.1.2.3", "::1", "2001:db8::5", "::ffff:10.0.0.1")
POINTS = ((0.0, 0.0), (48.85, 2.35), (48.9, 2.4), (-89.0, 179.0))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def listed(values: list[Any]) -> str:
    return "(" + ", ".join(quoted(v) if isinstance(v, str) else str(v) for v in values) + ")"


def lists_of(values: tuple[Any, ...]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=4).map(listed)


def comparisons(attribute: str, values: tuple[Any, ...]) -> st.SearchStrategy[str]:
    literal = st.sampled_from(values).map(lambda v: quoted(v) if isinstance(v, str) else str(v))
    operator = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
    ordered = st.tuples(st.sampled_from(values), st.sampled_from(values)).map(sorted)
    return st.one_of(
        st.builds(lambda o, v: f"{attribute} {o} {v}", operator, literal),
        st.builds(lambda n, v: f"{attribute} {n}in {v}", negations(), lists_of(values)),
        st.builds(
            lambda n, pair: f"{attribute} {n}between {listed(pair)[1:-1].replace(', ', ' and ')}",
            negations(),
            ordered,
        ),
    )


def negations() -> st.SearchStrategy[str]:
    return st.sampled_from(("", "not "))


def string_conditions(attribute: str) -> st.SearchStrategy[str]:
    some = tuple(word for word in WORDS if word)
    return st.one_of(
        st.builds(
            lambda o, v: f"{attribute} {o} {quoted(v)}",
            st.sampled_from(("=", "!=")),
            st.sampled_from(WORDS),
        ),
        st.builds(lambda n, v: f"{attribute} {n}in {v}", negations(), lists_of(WORDS)),
        st.builds(
            lambda n, o, v: f"{attribute} {n}{o} {quoted(v)}",
            negations(),
            st.sampled_from(("starts with", "ends with", "contains", "like")),
            st.sampled_from(some),
        ),
        st.builds(
            lambda n, v: f"{attribute} {n}under {v}",
            negations(),
            lists_of(("a.com", "com", "b.org")),
        ),
    )


def set_conditions(attribute: str, values: tuple[Any, ...]) -> st.SearchStrategy[str]:
    operator = st.sampled_from(("one of", "all of", "none of", "only of"))
    return st.one_of(
        st.builds(
            lambda n, o, v: f"{attribute} {n}{o} {v}", negations(), operator, lists_of(values)
        ),
        st.sampled_from((f"{attribute} is empty", f"{attribute} is not empty")),
        st.builds(
            lambda o, n: f"count({attribute}) {o} {n}",
            st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
            st.integers(0, 3),
        ),
    )


PLACES = st.sampled_from(
    (
        "place within 5 km of (48.85, 2.35)",
        "place not within 500 km of (0, 0)",
        "place inside polygon ((48, 2), (49, 2), (49, 3), (48, 3))",
        "place not inside polygon ((-1, -1), (1, -1), (1, 1), (-1, 1))",
    )
)
NETWORKS = st.sampled_from(
    (
        "address in network ('10.0.0.0/8')",
        "address not in network ('10.0.0.0/24', '2001:db8::/32')",
        "address = '::1'",
    )
)
SCHEDULES = st.builds(
    lambda a, n, s: f"{a} {n}during '{s}'",
    st.sampled_from(("time", "seen")),
    negations(),
    st.sampled_from(("Mon-Fri 08:00-18:00", "Sat 22:00-02:00", "Sat-Mon 00:00-24:00")),
)
PRESENCE = st.builds(
    lambda a, v: f"{a} is {v}",
    st.sampled_from(tuple(TYPES)),
    st.sampled_from(("present", "missing", "not present", "not missing")),
)
CONDITIONS = st.one_of(
    string_conditions("publisher"),
    string_conditions("country"),
    comparisons("age", NUMBERS),
    comparisons("score", SMALL),
    comparisons("time", TIMES),
    st.sampled_from(("mobile", "not mobile", "mobile = false", "mobile != true")),
    set_conditions("segments", ("cars", "US", "é")),
    set_conditions("numbers", NUMBERS),
    NETWORKS,
    PLACES,
    SCHEDULES,
    PRESENCE,
)


def texts(names: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """Expressions that may refer to these definitions."""
    references = [st.sampled_from([f"@{name}" for name in names])] if names else []
    leaves = st.one_of(CONDITIONS, *references)

    def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.builds(
            lambda operator, children: f" {operator} ".join(f"({child})" for child in children),
            st.sampled_from(("and", "or", "and", "or", "xor", "xnor")),
            st.lists(parts, min_size=2, max_size=4),
        )
        return st.one_of(joined, parts.map(lambda part: f"not ({part})"))

    return st.one_of(
        st.recursive(leaves, combine, max_leaves=8), st.sampled_from(("true", "false"))
    )


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "publisher": st.sampled_from((*WORDS, "unseen")),
    "country": st.sampled_from((*WORDS, "unseen", "A.COM.")),
    "age": st.sampled_from((*NUMBERS, 5, 18.0)),
    "score": st.sampled_from((*SMALL, 1, -0.0, 1e300, float("nan"))),
    "mobile": st.booleans(),
    "time": st.sampled_from((*TIMES, 0, 1763194200000)),
    "segments": st.lists(st.sampled_from(("cars", "US", "é", "unseen")), max_size=4),
    "numbers": st.lists(st.sampled_from((*NUMBERS, 99)), max_size=4),
    "address": st.sampled_from(ADDRESSES),
    "place": st.sampled_from(POINTS).map(lambda p: {"lat": p[0], "lon": p[1]}),
    "seen": st.sampled_from(TIMES),
    "geo.utc_offset": st.sampled_from((-720, 0, 90)),
}
MALFORMED: tuple[Any, ...] = ("text", True, 18.5, 2**64, [1, "x"], {"lat": 99}, None)


def visits(malformed: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    values = {
        name: st.one_of(value, value, value, st.sampled_from(MALFORMED)) if malformed else value
        for name, value in VALUES.items()
    }
    return st.fixed_dictionaries({}, optional=values)


def inline(text: str, definitions: Mapping[str, str]) -> str:
    """Gives the text with every definition in the place of its name."""
    while "@" in text:
        text = re.sub(r"@(\w+)", lambda found: f"({definitions[found[1]]})", text)
    return text


def judge(
    entries: Mapping[int, str], definitions: Mapping[str, str], visit: Mapping[str, Any]
) -> list[int]:
    """Gives the ids that must match, by the plain evaluator."""
    return sorted(
        entry_id
        for entry_id, text in entries.items()
        if parse(inline(text, definitions), CATALOG).evaluate(visit) is True
    )
