"""Random catalogued expressions and visits, over all types and operators.

Values come from small pools with awkward members, so that conditions are often true and often
just not.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from targeting import Catalog
from targeting.printer import print_tree
from targeting.tree import (
    And,
    Constant,
    Node,
    Not,
    Note,
    Notes,
    Operand,
    Or,
    Predicate,
    Reference,
    Xnor,
    Xor,
)

CATALOG = Catalog.of(
    **{
        "flag": "boolean",
        "age": "integer",
        "price": "float",
        "time": "timestamp",
        "local": "timestamp local",
        "geo.utc_offset": "integer",
        "geo.country": "string",
        "site.host": "string",
        "segments": "string set",
        "ids": "integer set",
        "ip": "ip",
        "place": "geo",
    }
)

# Bounded so that the whole language is tested in seconds.
quick = settings(max_examples=150, deadline=None)
slow = settings(max_examples=50, deadline=None)

MIN, MAX = -(2**63), 2**63 - 1
INTEGERS = (0, 1, 2, 3, 17, 18, 65, -1, MIN, MIN + 1, MAX, MAX - 1)
FLOATS = (0.0, 0.5, 1.0, 1.5, 18.0, -2.25, 1e300, 5e-324, 1e16, 0.1)
TEXTS = (
    "US",
    "DE",
    "us",
    "",
    "a",
    "ab",
    "ba",
    "aXb",
    "ü",
    "日本",
    "😀",
    "it's",
    'q"\\',
    "a\nb",
    "*?",
)
HOSTS = ("a.com", "x.a.com", "xa.com", "A.COM.", "com", "b.org", "ü.de", ".", "x..com")
TIMES = (
    "2026-11-15T00:00:00Z",
    "2026-11-16T08:00:00Z",
    "2026-11-16T09:30:00.5+01:30",
    "2026-11-21T23:59:59.999Z",
    "1969-12-31T23:59:59Z",
    "2024-02-29T12:00:00-11:00",
    "2016-12-31T23:59:60Z",
)
EPOCHS = (0, -1, 1794700800000, 1794816000000, 1795305600000, MAX, MIN)
SCHEDULES = (
    "Mon-Fri 08:00-18:00, Sat 22:00-02:00",
    "Sat-Mon 10:00-24:00",
    "Sun 23:00-01:00",
    "00:00-00:01",
    "Wed",
    "mon-sun",
)
ADDRESSES = ("10.0.0.1", "10.1.2.3", "::ffff:10.0.0.1", "2001:db8::1", "::", "192.0.2.255")
NETWORKS = (
    "10.0.0.0/8",
    "10.1.0.0/16",
    "2001:db8::/32",
    "0.0.0.0/0",
    "10.0.0.1",
    "::/0",
    "::1/128",
)
POINTS = ((48.85, 2.35), (48.86, 2.36), (0.0, 0.0), (90.0, 180.0), (-45.0, -179.5), (0.5, 0.5))
POLYGONS = (
    (0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    (48.0, 2.0, 49.0, 2.0, 49.0, 3.0, 48.0, 3.0),
    (-90.0, -90.0, -90.0, 90.0, 90.0, 90.0, 90.0, -90.0),
)


def lists_of(pool: tuple[Operand, ...]) -> st.SearchStrategy[tuple[Operand, ...]]:
    return st.lists(st.sampled_from(pool), min_size=1, max_size=4).map(tuple)


def one_of(pool: tuple[Operand, ...]) -> st.SearchStrategy[tuple[Operand, ...]]:
    return st.sampled_from(pool).map(lambda value: (value,))


def ranges_of(pool: tuple[Any, ...], key: Any = None) -> st.SearchStrategy[tuple[Operand, ...]]:
    pairs = st.tuples(st.sampled_from(pool), st.sampled_from(pool))
    return pairs.map(lambda pair: tuple(sorted(pair, key=key)))


COMPARE = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
EQUALITY = st.sampled_from(("=", "!="))
NONEMPTY = tuple(text for text in TEXTS if text)
REAL_HOSTS = ("a.com", "x.a.com", "A.COM.", "com", "b.org", "ü.de")
SORTED_TIMES = tuple(sorted(t for t in TIMES if t.endswith("Z")))


def predicates(
    attribute: str,
    operators: st.SearchStrategy[str] | str,
    operands: st.SearchStrategy[tuple[Operand, ...]],
    *,
    counted: bool = False,
) -> st.SearchStrategy[Predicate]:
    """Draws predicates, with infix `not` only before word operators."""
    names = st.just(operators) if isinstance(operators, str) else operators
    return st.builds(
        lambda name, values, negated: Predicate(
            attribute, name, values, negated and name[0].isalpha() and name != "is true", counted
        ),
        names,
        operands,
        st.booleans(),
    )


NONE = st.just(())
ATTRIBUTES = tuple(attribute.name for attribute in CATALOG)
EVERY_PREDICATE: st.SearchStrategy[Predicate] = st.one_of(
    predicates("flag", "is true", NONE),
    predicates("flag", EQUALITY, one_of((True, False))),
    *(predicates(a, COMPARE, one_of(INTEGERS)) for a in ("age", "geo.utc_offset")),
    predicates("age", "between", ranges_of(INTEGERS)),
    predicates("age", "in", lists_of(INTEGERS)),
    predicates("price", COMPARE, one_of(FLOATS)),
    predicates("price", "between", ranges_of(FLOATS)),
    predicates("price", "in", lists_of(FLOATS)),
    *(predicates(a, COMPARE, one_of(TIMES)) for a in ("time", "local")),
    *(predicates(a, "in", lists_of(TIMES)) for a in ("time", "local")),
    predicates("time", "between", ranges_of(SORTED_TIMES)),
    *(predicates(a, "during", one_of(SCHEDULES)) for a in ("time", "local")),
    predicates("geo.country", EQUALITY, one_of(TEXTS)),
    predicates("geo.country", "in", lists_of(TEXTS)),
    *(
        predicates("geo.country", op, one_of(NONEMPTY))
        for op in ("starts with", "ends with", "contains")
    ),
    predicates(
        "geo.country",
        "like",
        one_of(("a*b", "*", "?", "a?b", "*a*", "a*", "*b", "US", "??", "*?*", "**", "?*b", "日?")),
    ),
    predicates("site.host", "under", lists_of(REAL_HOSTS)),
    *(
        predicates("segments", op, lists_of(TEXTS))
        for op in ("one of", "all of", "none of", "only of")
    ),
    *(
        predicates("ids", op, lists_of(INTEGERS))
        for op in ("one of", "all of", "none of", "only of")
    ),
    *(predicates(a, "is empty", NONE) for a in ("segments", "ids")),
    *(predicates(a, COMPARE, one_of((0, 1, 2, 3, MAX)), counted=True) for a in ("segments", "ids")),
    predicates("ip", EQUALITY, one_of(ADDRESSES)),
    predicates("ip", "in network", lists_of(NETWORKS)),
    predicates(
        "place",
        "within",
        st.tuples(st.sampled_from(POINTS), st.sampled_from((0.5, 5.0, 10000.0))).map(
            lambda pair: (*pair[0], pair[1])
        ),
    ),
    predicates("place", "inside polygon", st.sampled_from(POLYGONS)),
    *(predicates(a, op, NONE) for a in ATTRIBUTES for op in ("is present", "is missing")),
)


@st.composite
def any_predicate(draw: st.DrawFn) -> Predicate:
    """Draws under a name of its own: written out, the strategy is a hundred kilobytes of text."""
    return draw(EVERY_PREDICATE)


NOTES: st.SearchStrategy[Notes] = st.one_of(
    st.just(()),
    st.just(()),
    st.just(()),
    st.lists(
        st.builds(Note, st.sampled_from(("why", "", "- x", "# y", "age = 1")), st.booleans()),
        max_size=2,
    ).map(tuple),
)


def noted(nodes: st.SearchStrategy[Node], notes: st.SearchStrategy[Notes]) -> Any:
    def attach(node: Node, above: Notes) -> Node:
        fields = {name: getattr(node, name) for name in node.__dataclass_fields__}
        return type(node)(**{**fields, "notes": above})

    return st.builds(attach, nodes, notes)


def groups(
    children: st.SearchStrategy[Node], notes: st.SearchStrategy[Notes]
) -> st.SearchStrategy[Node]:
    several = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        *(st.builds(kind, several, notes) for kind in (And, Or, Xor, Xnor)),
        st.builds(Not, children, notes),
    )


def trees(
    *, with_notes: bool = False, with_references: bool = False, max_leaves: int = 12
) -> st.SearchStrategy[Node]:
    notes = NOTES if with_notes else st.just(())
    leaves: list[st.SearchStrategy[Node]] = [any_predicate()] * 6 + [
        st.builds(Constant, st.booleans())
    ]
    if with_references:
        leaves.append(st.builds(Reference, st.sampled_from(("edge.17", "a", "b-c"))))
    leaf: st.SearchStrategy[Node] = st.one_of(*leaves)
    if with_notes:
        leaf = noted(leaf, notes)
    return st.recursive(leaf, lambda below: groups(below, notes), max_leaves=max_leaves)


def texts(**options: Any) -> st.SearchStrategy[str]:
    """Draws texts of random trees, as the printer writes them."""
    return trees(**options).map(print_tree)


WRONG: tuple[Any, ...] = (
    None,
    True,
    "text",
    "17",
    18.5,
    2**70,
    -(2**70),
    float("inf"),
    [],
    [None],
    {},
    "\ud800",
)
KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "flag": st.booleans(),
    "age": st.sampled_from((*INTEGERS, 18.0, 3.0)),
    "price": st.sampled_from((*FLOATS, 0, 18, 2**64, -0.0)),
    "time": st.sampled_from((*TIMES, *EPOCHS)),
    "local": st.sampled_from((*TIMES, *EPOCHS)),
    "geo.utc_offset": st.sampled_from((0, 60, -720, 1440, 90, MAX, MIN)),
    "geo.country": st.sampled_from((*TEXTS, "never seen")),
    "site.host": st.sampled_from(HOSTS),
    "segments": st.lists(st.sampled_from((*TEXTS, "never seen")), max_size=4),
    "ids": st.lists(st.sampled_from((*INTEGERS, 17.0, 99)), max_size=4),
    "ip": st.sampled_from((*ADDRESSES, "::FFFF:a00:1")),
    "place": st.one_of(
        st.sampled_from(POINTS).map(list),
        st.sampled_from(POINTS).map(lambda point: {"lat": point[0], "lon": point[1]}),
    ),
}
SPOILT = st.one_of(
    st.sampled_from(WRONG),
    st.just(float("nan")),
    st.sampled_from(
        (["a", 1], [1, "a"], [1.5], [True], [91, 0], "256.0.0.1", "2026-13-01", "::1%lo")
    ),
)


def values_of(attribute: str) -> st.SearchStrategy[Any]:
    """Draws values that are mostly known, sometimes wrong."""
    return st.integers(0, 7).flatmap(lambda n: SPOILT if n == 0 else KNOWN[attribute])


def visits() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: values_of(name) for name in (*ATTRIBUTES,)})
