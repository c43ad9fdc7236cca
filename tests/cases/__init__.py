"""One truth, four judges: these cases run through the plain evaluator, the index, HTTP and Spark.

A file holds a `catalogue`, `expressions` by id, and `cases`, each with a `visit` and the ids
`expected` to match it. Expectations are written by hand from the language's definition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from targeting import Catalog


@dataclass(frozen=True)
class Case:
    name: str
    catalog: Catalog
    expressions: dict[int, str]
    visit: dict[str, Any]
    expected: list[int]

    def __str__(self) -> str:
        return self.name


def load_cases() -> list[Case]:
    return list(read_cases())


def read_cases() -> Iterator[Case]:
    for path in sorted(Path(__file__).parent.glob("*.json")):
        document = json.loads(path.read_text())
        catalog = Catalog.from_json(document["catalogue"])
        expressions = {int(number): text for number, text in document["expressions"].items()}
        for case in document["cases"]:
            name = f"{path.stem}: {case['name']}"
            yield Case(name, catalog, expressions, case["visit"], case["expected"])
