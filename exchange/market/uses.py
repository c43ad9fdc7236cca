"""Reads what expressions use, one by one as they are saved, or many at a time.

The words are described in `models.uses`. Texts that arrive in bulk have been through the parser,
or will be quarantined by the build: for them the words are scanned, not parsed, twenty times
faster. Scanning may find too much (a number of another condition), never too little.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from exchange.market.catalog import load_catalog
from exchange.market.models import Attribute, Audience, Campaign, Edge, UsedValue
from exchange.market.models.uses import WithExpression, has_unread_uses
from exchange.market.names import Definitions, Lists, Names, load_names
from targeting import Catalog, Expression, ExpressionError, parse
from targeting.tree import Predicate, walk

TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<comment>\#[^\n]*)|(?P<stray>['"])"""
    r"""|(?P<mark>[@$][\w.-]*\w)|(?P<name>[A-Za-z_][\w.]*)""",
    re.ASCII | re.DOTALL,
)
QUOTES = re.compile(r'\\.|"', re.DOTALL)
BATCH = 2_000
MAX_KNOWN = 50_000
# The path from each kind of row to the organisation of its expression.
OWNERS: dict[type[Any], str] = {
    Audience: "organisation_id",
    Edge: "seller__organisation_id",
    Campaign: "advertiser__organisation_id",
}


@dataclass(slots=True)
class Uses:
    words: set[str] = field(default_factory=set)
    values: set[tuple[str, str]] = field(default_factory=set)


def digest_of(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def note_uses(row: WithExpression, expression: Expression) -> None:
    """Notes the uses before the row is saved; the values go to their own table at once."""
    found = read_uses(expression)
    row.uses = sorted(found.words)
    row.uses_digest = digest_of(row.expression)  # type: ignore[attr-defined]
    save_values(found.values)


def read_uses(expression: Expression) -> Uses:
    found = Uses({f"attribute:{name}" for name in expression.attributes})
    audience_ids, list_ids = ids_of(expression.definitions), ids_of(expression.lists)
    found.words |= {f"audience:{audience_ids[name]}" for name in expression.references}
    for node in walk(expression.root):
        if not isinstance(node, Predicate):
            continue
        if node.list_name is not None:
            used = f"list:{list_ids[node.list_name]}"
            found.words |= {used, f"{used}:{node.attribute}:{node.operator}"}
        found.values |= {(node.attribute, v) for v in node.operands if isinstance(v, str)}
    return found


def ids_of(names: object) -> Mapping[str, int]:
    return names.ids if isinstance(names, Definitions | Lists) else {}


class Scanner:
    """Scans texts for what they use. `words` leads from what is written (`geo.country`, `@adults`)
    to its word.

    Texts are taken apart at ` and `, and what a part uses is kept: a million campaigns are made of
    a few thousand parts.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words
        self._known: dict[str, Uses | None] = {}

    def scan(self, text: str) -> Uses:
        """Scans a text that is right."""
        found = Uses()
        for part in text.split(" and "):
            uses = self._scan_known(part)
            if uses is None:
                return self._scan_all(text) or Uses()
            found.words |= uses.words
            found.values |= uses.values
        return found

    def _scan_known(self, part: str) -> Uses | None:
        if part not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[part] = self._scan_all(part, is_part=True)
        return self._known[part]

    def _scan_all(self, text: str, *, is_part: bool = False) -> Uses | None:
        """Scans a text: each value counts for the attribute named last before it. None for a part
        that cannot be understood alone: cut out of a text or comment, or its attribute stands
        before it."""
        found = Uses()
        attribute = ""
        for match in TOKEN.finditer(text):
            kind, token = match.lastgroup, match[0]
            if is_part and (kind in ("comment", "stray") or (kind == "text" and not attribute)):
                return None
            if kind == "text" and attribute:
                found.values.add((attribute, read_literal(token)))
            elif token in self._words:
                attribute = token if kind == "name" else attribute
                found.words.add(self._words[token])
        return found


def read_literal(token: str) -> str:
    """Reads a text as JSON does, but for the quotes: within single ones a double one stands by
    itself."""
    inside = token[1:-1]
    if "\\" not in inside:
        return inside
    quoted = QUOTES.sub(lambda match: {"\\'": "'", '"': '\\"'}.get(match[0], match[0]), inside)
    text: str = json.loads(f'"{quoted}"')
    return text


def save_values(values: Iterable[tuple[str, str]]) -> None:
    pairs = sorted(values)
    if not pairs:
        return
    ids = dict(Attribute.objects.values_list("name", "id"))
    rows = [UsedValue(attribute_id=ids[name], value=value) for name, value in pairs if name in ids]
    UsedValue.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)


def refresh_uses() -> int:
    """Reads again every expression that was changed by other hands, or loaded in bulk. There is
    nearly always nothing to do: one look at three empty indexes."""
    # Counts: asked for one row, Postgres would expect to find it soon, and read the whole table.
    unread = [model for model in OWNERS if unread_rows(model).order_by().count()]
    if not unread:
        return 0
    reader = Reader(load_catalog())
    return sum(reader.refresh(model) for model in unread)


def unread_rows(model: type[Any]) -> QuerySet[Any]:
    rows: QuerySet[Any] = model._default_manager.filter(has_unread_uses())
    return rows


class Reader:
    """Scans texts; one with a list is parsed, because how it is used matters too."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._attributes = {each.name: f"attribute:{each.name}" for each in catalog}
        self._names: dict[int, tuple[Names, Scanner]] = {}
        self._scanners: dict[tuple[tuple[str, str], ...], Scanner] = {}

    def prepare(self, organisation_ids: Iterable[int]) -> None:
        """Asks for their names now, so that `read` asks the database for nothing."""
        for organisation_id in organisation_ids:
            self._names_of(organisation_id)

    def refresh(self, model: type[Any]) -> int:
        count, after = 0, 0
        while done := self._refresh_next(model, after):
            count += len(done)
            after = done[-1]
        return count

    @transaction.atomic
    def _refresh_next(self, model: type[Any], after: int) -> list[int]:
        """Locks before it reads: a save meanwhile must not get the uses of the text before it."""
        unread = unread_rows(model).filter(pk__gt=after).order_by("pk")
        locked = unread.select_for_update(of=("self",), no_key=True)
        rows = list(locked.values_list("pk", OWNERS[model], "expression")[:BATCH])
        self._write(model, rows)
        return [pk for pk, _, _ in rows]

    def _write(self, model: type[Any], rows: list[tuple[int, int, str]]) -> None:
        values: set[tuple[str, str]] = set()
        changed = []
        for pk, organisation_id, text in rows:
            found = self.read(text, organisation_id)
            values |= found.values
            row = model(pk=pk)
            row.uses, row.uses_digest = sorted(found.words), digest_of(text)
            changed.append(row)
        save_values(values)
        model._default_manager.bulk_update(changed, ["uses", "uses_digest"], batch_size=BATCH)

    def read(self, text: str, organisation_id: int) -> Uses:
        names, scanner = self._names_of(organisation_id)
        if "$" in text:
            try:
                read = parse(text, self.catalog)
            except ExpressionError:
                return Uses()  # the build quarantines it; it uses nothing
            if read.references <= set(names.definitions) and read.list_names <= set(names.lists):
                root = read.root
                return read_uses(
                    Expression(root, self.catalog, definitions=names.definitions, lists=names.lists)
                )
        return scanner.scan(text)

    def _names_of(self, organisation_id: int) -> tuple[Names, Scanner]:
        """Finds an organisation's names and scanner; those without own names share a scanner."""
        if organisation_id not in self._names:
            names = load_names(organisation_id, self.catalog)
            words = dict(self._attributes)
            words |= {f"@{name}": f"audience:{pk}" for name, pk in names.definitions.ids.items()}
            words |= {f"${name}": f"list:{pk}" for name, pk in names.lists.ids.items()}
            scanner = self._scanners.setdefault(tuple(sorted(words.items())), Scanner(words))
            self._names[organisation_id] = names, scanner
        return self._names[organisation_id]
