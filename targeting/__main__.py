"""Checks, prints, explains and evaluates expressions from a command line, without Django.

    python -m targeting check    --catalog catalog.json "age >= 18"
    python -m targeting format   --catalog catalog.json --file expression.txt
    python -m targeting explain  --catalog catalog.json --visit '{"age": 17}' "age >= 18"
    python -m targeting evaluate --catalog catalog.json --visit visits.jsonl "age >= 18"

Ends with 0 when the expression is right (and, for explain and evaluate, matches every visit),
1 when it is not, 2 when a file or an argument cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from targeting import Catalog, CatalogError, Expression, ExpressionError, parse
from targeting.analysis import analyse
from targeting.explanation import Explanation, kind_of
from targeting.prose import describe
from targeting.tree import Predicate

MARKS = {True: "yes", False: "no ", None: "?  "}
WORDS = {True: "true", False: "false", None: "undefined"}


class UsageError(Exception):
    """A file or an argument cannot be used."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = read_options(arguments)
    try:
        return run(options)
    except ExpressionError as error:
        for problem in error.errors:
            print(problem, file=sys.stderr)
        return 1
    except (CatalogError, UsageError) as error:
        print(f"targeting: {error}", file=sys.stderr)
        return 2


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m targeting", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    helps = {
        "check": "say what is wrong or suspicious",
        "format": "print the canonical text",
        "explain": "say why it matches a visit or not",
        "evaluate": "answer true, false or undefined for each visit",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--catalog", required=True, type=Path, help="JSON file")
        command.add_argument("--definitions", type=Path, help="JSON file of names and expressions")
        command.add_argument("--lists", type=Path, help="JSON file of names and values")
        command.add_argument("--file", type=Path, help="read the expression from a file")
        command.add_argument("expression", nargs="?", help="the expression; standard input if none")
        if name == "format":
            command.add_argument("--plain", action="store_true", help="say it in plain words")
        if name in ("explain", "evaluate"):
            help_text = "a JSON object, or a file with one per line"
            command.add_argument("--visit", required=True, help=help_text)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    expression = read_expression(options)
    if options.command == "check":
        return check(expression)
    if options.command == "format":
        print(describe(expression) if options.plain else expression.text)
        return 0
    show = explain if options.command == "explain" else evaluate
    answers = [show(expression, visit) for visit in read_visits(options.visit)]
    return 0 if all(answers) else 1


def read_expression(options: argparse.Namespace) -> Expression:
    catalog = Catalog.from_json(read_json(options.catalog))
    lists = read_json(options.lists) if options.lists else None
    definitions: dict[str, Expression] | None = None
    if options.definitions:
        texts = read_json(options.definitions)
        definitions = {name: parse(text, catalog, lists=lists) for name, text in texts.items()}
    return parse(read_text(options), catalog, definitions=definitions, lists=lists)


def read_text(options: argparse.Namespace) -> str:
    if options.expression is not None:
        return str(options.expression)
    try:
        return options.file.read_text() if options.file else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{options.file or 'standard input'}: {error}") from error


def read_json(path: Path) -> Any:
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise UsageError(f"{path}: a JSON object is expected")
    return document


def read_visits(source: str) -> Iterator[dict[str, Any]]:
    lines = [source] if source.lstrip().startswith("{") else read_lines(Path(source))
    for line in lines:
        try:
            visit = json.loads(line)
        except ValueError as error:
            raise UsageError(f"visit: {error}") from error
        if not isinstance(visit, dict):
            raise UsageError("visit: a JSON object is expected")
        yield visit


def read_lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error


def check(expression: Expression) -> int:
    analysis = analyse(expression)
    for finding in analysis.findings:
        print(f"{finding.kind}: {finding.message}")
    print(describe(expression) + ("" if analysis.is_decided else " (not everything was decided)"))
    return 0


def evaluate(expression: Expression, visit: dict[str, Any]) -> bool:
    truth = expression.evaluate(visit)
    print(WORDS[truth])
    return truth is True


def explain(expression: Expression, visit: dict[str, Any]) -> bool:
    explanation = expression.explain(visit)
    for line in explained_lines(explanation):
        print(line)
    for fix in explanation.fixes:
        print(f"would match if `{fix.text}` were {fix.change}")
    return expression.evaluate(visit) is True


def explained_lines(explanation: Explanation, indent: str = "") -> Iterator[str]:
    kind = kind_of(explanation.node)
    what = explanation.text if kind in ("condition", "definition") else kind
    yield f"{MARKS[explanation.truth]} {indent}{what}{shown_value(explanation)}"
    for child in explanation.children:
        yield from explained_lines(child, indent + "  ")


def shown_value(explanation: Explanation) -> str:
    if not isinstance(explanation.node, Predicate):
        return ""
    if explanation.malformed or explanation.value is None:
        return "  (malformed)" if explanation.malformed else "  (missing)"
    value = explanation.value
    return f"  ({json.dumps(sorted(value) if isinstance(value, frozenset) else value)})"


if __name__ == "__main__":
    sys.exit(main())
