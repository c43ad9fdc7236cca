"""Random expressions over the catalogue, with notes, names and everything that has a widget."""

from __future__ import annotations

import random
from collections.abc import Callable

TEXTS = [
    "Berlin",
    "it's",
    "é",
    "a b",
    "x,y",
    '"q"',
    "back\\slash",
    "日本 🎈",
    "#no",
    "@no",
    "1.5",
    "",
]
SCHEDULES = [
    "Mon-Fri 17:00-23:00",
    "Sat 22:00-02:00",
    "Sat-Mon",
    "08:30-09:15",
    "Mon 00:00-24:00, Wed-Thu 10:00-12:00",
]
STRINGS = ["geo.city", "geo.country", "device.os", "site.page", "app.bundle"]
CLOSED = {"device.type": ["phone", "tablet", "pc", "ctv"], "user.gender": ["female", "male"]}
SETS = ["user.segments", "site.page_cat", "user.tcf_purposes"]
BOOLEANS = ["user.consent", "regs.gdpr"]
INTEGERS = ["0", "-5", "18", "90", "9007199254740993", "-9223372036854775808"]
FLOATS = ["0.1", "7.25", "-3", "1e-07", "12.000001", "3e21", "1e16"]
NOTES = ["", "", "", "\n# why, said 'so'\n", "\n#- user.age >= 18\n"]

Chance = random.Random


def quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def infix(chance: Chance) -> str:
    return chance.choice(["", "", "not "])


def name_or_constant(chance: Chance) -> str:
    return chance.choice(["@drivers", "@families", "true", "false"])


def presence(chance: Chance) -> str:
    name = chance.choice([*STRINGS, *SETS, "user.age", "geo.location", "local_time"])
    return f"{name} is {infix(chance)}{chance.choice(['missing', 'present'])}"


def boolean(chance: Chance) -> str:
    name = chance.choice(BOOLEANS)
    return chance.choice([name, f"{name} = true", f"{name} != false"])


def number(chance: Chance) -> str:
    name, values = chance.choice([("user.age", INTEGERS), ("imp.floor", FLOATS)])
    kind = chance.randrange(3)
    if kind == 0:
        low, high = sorted(chance.sample(values, 2), key=float)
        return f"{name} {infix(chance)}between {low} and {high}"
    if kind == 1:
        return f"{name} {infix(chance)}in ({', '.join(chance.sample(values, 3))})"
    return f"{name} {chance.choice(['=', '!=', '<', '<=', '>', '>='])} {chance.choice(values)}"


def closed(chance: Chance) -> str:
    name, values = chance.choice(list(CLOSED.items()))
    listed = ", ".join(map(quote, chance.sample(values, 2)))
    return chance.choice([f"{name} = '{values[0]}'", f"{name} {infix(chance)}in ({listed})"])


def managed_list(chance: Chance) -> str:
    return chance.choice(["geo.country in $dach", "geo.city not in $top-cities"])


def members(chance: Chance) -> str:
    name = chance.choice(SETS)
    if chance.random() < 0.3:
        shapes = [f"count({name}) >= 2", f"count({name}) != 1", f"{name} is {infix(chance)}empty"]
        return chance.choice(shapes)
    values = [
        str(chance.randint(1, 10)) if "tcf" in name else quote(chance.choice(TEXTS))
        for _ in range(chance.randint(1, 12))
    ]
    word = chance.choice(["one of", "all of", "none of", "only of"])
    return f"{name} {infix(chance)}{word} ({', '.join(values)})"


def clock(chance: Chance) -> str:
    if chance.random() < 0.3:
        return chance.choice(
            [
                "time >= '2026-11-16T00:00:00Z'",
                "time between '2026-01-01T00:00:00Z' and '2026-11-16T00:00:00Z'",
            ]
        )
    name = chance.choice(["time", "local_time"])
    return f"{name} {infix(chance)}during '{chance.choice(SCHEDULES)}'"


def place(chance: Chance) -> str:
    if chance.random() < 0.5:
        third = f"{chance.uniform(3, 4):.3f}"
        return f"geo.location {infix(chance)}inside polygon ((48, 2), (49.5, 2), (49, {third}))"
    middle = f"({chance.uniform(-80, 80):.4f}, {chance.randint(-170, 170)})"
    radius = chance.choice(["25", "0.5", "1e3"])
    return f"geo.location {infix(chance)}within {radius} km of {middle}"


def network(chance: Chance) -> str:
    return f"device.ip {infix(chance)}in network ('192.0.2.0/24', '2001:db8::/32')"


def text(chance: Chance) -> str:
    name = chance.choice(STRINGS)
    if chance.random() < 0.6:
        values = [quote(chance.choice(TEXTS)) for _ in range(chance.randint(1, 14))]
        return f"{name} {infix(chance)}in ({', '.join(values)})"
    if chance.random() < 0.4:
        return f"{name} {chance.choice(['=', '!='])} {quote(chance.choice(TEXTS))}"
    word = chance.choice(["starts with", "ends with", "contains", "like"])
    return f"{name} {infix(chance)}{word} {quote(chance.choice(TEXTS[:-1]))}"


KINDS: list[Callable[[Chance], str]] = [
    *(name_or_constant, presence, boolean, number, closed, managed_list, members, clock, place),
    *(network, text, text),
]


def or_missing(condition: str) -> str:
    if condition.startswith(("@", "true", "false")):
        return condition
    is_local = condition.startswith("local_time") and "during" in condition
    name = condition.removeprefix("count(").split()[0].rstrip(")")
    return f"({condition} or {'geo.utc_offset' if is_local else name} is missing)"


def write_expression(chance: Chance, depth: int = 3) -> str:
    note = chance.choice(NOTES)
    if depth == 0 or chance.random() < 0.25:
        condition = chance.choice(KINDS)(chance)
        return note + (or_missing(condition) if chance.random() < 0.25 else condition)
    word = chance.choices(["and", "or", "not", "xor", "xnor"], [40, 40, 16, 4, 3])[0]
    if word == "not":
        return f"{note}not ({write_expression(chance, depth - 1)}\n)"
    parts = [f"({write_expression(chance, depth - 1)}\n)" for _ in range(chance.randint(2, 4))]
    return note + f"\n{word} ".join(parts)
