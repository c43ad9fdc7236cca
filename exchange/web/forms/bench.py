"""Makes the form of the test bench: a field for each attribute that is asked for, or a visit as
text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django import forms

from exchange.market.given_visits import GivenVisit, read_given, write_time
from exchange.market.models import Campaign, Party
from exchange.market.traffic import sample_traffic
from exchange.reading.asked import Asked
from exchange.reading.combinations import MOST, Varied, count_combinations
from exchange.serving.problems import ProblemError
from exchange.serving.visits import PUBLISHER, STAMPED, STAMPED_TIMES
from exchange.web.bench_texts import (
    ZONES,
    BadTextError,
    offset_at,
    read_alternatives,
    read_moments,
    read_zone,
    whole_minute,
    write_moment,
    write_offset,
    write_value,
)
from exchange.web.forms.naming import NamedChoice
from exchange.web.forms.saving import offer_parties
from exchange.web.visit_texts import (
    MAX_VISIT_CHARACTERS,
    TextProblem,
    VisitProblemError,
    read_visit,
)
from targeting import Catalog
from targeting.catalog import UTC_OFFSET

PREFIX = "v-"
OFFERED = 20
LONGEST = 4_000
WHEN = "When"
EVERYWHERE = "All that it is booked with"


@dataclass(frozen=True, slots=True)
class ToTry:
    """What is to be tried: a visit, or one for each combination of what is varied. `imps` are the
    impressions of a bid request, of which `imp` (from 1) is the one."""

    base: dict[str, Any]
    at: datetime
    varied: tuple[Varied, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    imps: tuple[GivenVisit, ...] = ()
    imp: int = 1

    @property
    def first(self) -> dict[str, Any]:
        """Gives the visit, or the first of them where values vary."""
        pieces = {k: v for each in self.varied for k, v in each.pieces[0].items()}
        return {**self.base, **pieces}

    @property
    def text(self) -> str:
        """Writes the visit as JSON, with its time: what is kept as a test."""
        said = {name: value for name, value in self.first.items() if name not in STAMPED}
        visit = {name: value for name, value in said.items() if value is not None}
        return json.dumps({"time": write_time(self.at), **visit}, indent=2, ensure_ascii=False)


class BenchForm(forms.Form):
    """`tab` says which of the two halves counts: the fields, or the text."""

    publisher = NamedChoice(Party.objects.none(), required=False, label="Publisher")
    time = forms.CharField(required=False, label=WHEN, max_length=LONGEST)
    zone = forms.CharField(required=False, label="Time zone", max_length=60)
    text = forms.CharField(
        required=False, strip=False, max_length=MAX_VISIT_CHARACTERS, widget=forms.Textarea
    )
    rest = forms.CharField(
        required=False, max_length=MAX_VISIT_CHARACTERS, widget=forms.HiddenInput
    )
    imp = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        tab: str,
        asked: Sequence[Asked],
        campaign: Campaign,
        catalog: Catalog,
    ) -> None:
        super().__init__(data)
        self.tab = tab
        self.asked = asked
        self.catalog = catalog
        self.problems: tuple[TextProblem, ...] = ()
        self.to_try: ToTry | None = None
        self._starts_at = campaign.starts_at
        self._offer(campaign)

    def _offer(self, campaign: Campaign) -> None:
        booked = campaign.bookings.kept().values("publisher_id")
        offer_parties(self, "publisher", Party.objects.filter(pk__in=booked))
        self.fields["publisher"].empty_label = EVERYWHERE  # type: ignore[attr-defined]
        for asked in self.asked:
            name = f"{PREFIX}{asked.attribute.name}"
            self.fields[name] = forms.CharField(
                required=False, label=asked.attribute.name, max_length=LONGEST
            )

    def rows(self) -> list[dict[str, Any]]:
        """Lists the attributes' fields with who asks for them and what may be chosen."""
        sampled = sample_traffic(self.catalog)
        return [
            {
                "field": self[f"{PREFIX}{asked.attribute.name}"],
                "attribute": asked.attribute,
                "by": ", ".join(asked.by),
                "is_own": asked.is_own,
                "offered": offer_values(asked, list(sampled.nameable(asked.attribute))),
            }
            for asked in self.asked
        ]

    @property
    def has_both(self) -> bool:
        return len({asked.is_own for asked in self.asked}) == 2

    @property
    def zones(self) -> Sequence[str]:
        return ZONES

    def clean(self) -> dict[str, Any]:
        chosen = super().clean() or self.cleaned_data
        if not self.errors:
            self.to_try = self._read_fields() if self.tab == "form" else self._read_text()
        return chosen

    def _read_fields(self) -> ToTry | None:
        try:
            zone = read_zone(self.cleaned_data["zone"])
        except BadTextError as error:
            self.add_error("zone", str(error))
            return None
        moments = self._read_moments(zone)
        tried = [(WHEN, *self._clock(moments, zone))] if moments else []
        tried += [found for asked in self.asked if (found := self._read_field(asked))]
        varied = tuple(Varied(*each) for each in tried if len(each[2]) > 1)
        if (count := count_combinations(varied)) > MOST:
            said = f"That makes {count:,} visits. Try at most {MOST:,} at once."
            self.add_error(None, said)
        if self.errors:
            return None
        single = {k: v for _, _, pieces in tried if len(pieces) == 1 for k, v in pieces[0].items()}
        return ToTry({**self._read_rest(), **single}, moments[0][1], varied)

    def _read_moments(self, zone: Any) -> list[tuple[str, datetime]]:
        try:
            found = read_moments(self.cleaned_data["time"], zone)
        except BadTextError as error:
            self.add_error("time", str(error))
            return []
        now = whole_minute(datetime.now(UTC), self._starts_at)
        return found or [(write_moment(now, zone), now)]

    def _clock(
        self, moments: list[tuple[str, datetime]], zone: Any
    ) -> tuple[tuple[str, ...], tuple[dict[str, Any], ...]]:
        pieces = []
        for _, moment in moments:
            piece: dict[str, Any] = dict.fromkeys(STAMPED_TIMES, int(moment.timestamp() * 1000))
            if UTC_OFFSET in self.catalog:
                piece[UTC_OFFSET] = None if zone is None else offset_at(moment, zone)
            pieces.append(piece)
        return tuple(label for label, _ in moments), tuple(pieces)

    def _read_field(
        self, asked: Asked
    ) -> tuple[str, tuple[str, ...], tuple[dict[str, Any], ...]] | None:
        name = asked.attribute.name
        try:
            found = read_alternatives(self.cleaned_data[f"{PREFIX}{name}"], asked.attribute)
        except BadTextError as error:
            self.add_error(f"{PREFIX}{name}", str(error))
            return None
        return name, tuple(label for label, _ in found), tuple({name: value} for _, value in found)

    def _read_rest(self) -> dict[str, Any]:
        """Reads what the visit says besides; a text that is no JSON object says nothing."""
        try:
            rest = json.loads(self.cleaned_data["rest"] or "{}")
        except ValueError:
            return {}
        return rest if isinstance(rest, dict) else {}

    def _read_text(self) -> ToTry | None:
        try:
            document = read_visit(self.cleaned_data["text"].replace("\r\n", "\n"))
            imps = read_given(document, self.catalog)
        except VisitProblemError as error:
            self.problems = (error.problem,)
            self.add_error("text", error.problem.message)
            return None
        except ProblemError as problem:
            self.add_error("text", problem.detail)
            return None
        number = self.cleaned_data["imp"] or 1
        given = imps[number - 1] if 1 <= number <= len(imps) else imps[0]
        flat = {name: value for name, value in given.flat.items() if name != PUBLISHER}
        at = given.at or datetime.now(UTC)
        place = imps.index(given) + 1
        is_bid = given.imp_id is not None
        return ToTry(flat, at, notes=given.notes, imps=tuple(imps) if is_bid else (), imp=place)


def offer_values(asked: Asked, frequent: list[str | int]) -> list[str]:
    if asked.attribute.type == "boolean":
        return ["yes", "no"]
    known = dict.fromkeys((*(asked.attribute.domain or ()), *frequent))
    return [str(value) for value in known][:OFFERED]


def fill_fields(
    visit: Mapping[str, Any], at: datetime, asked: Sequence[Asked], catalog: Catalog
) -> dict[str, str]:
    """Writes a visit into the fields; what has no field is kept beside them."""
    offset = visit.get(UTC_OFFSET)
    zone = write_offset(offset) if type(offset) is int and abs(offset) < 24 * 60 else ""
    names = {each.attribute.name for each in asked}
    rest = {
        name: value
        for name, value in visit.items()
        if name not in names | STAMPED | {UTC_OFFSET} and name in catalog
    }
    return {
        "time": write_moment(at, read_zone(zone)),
        "zone": zone,
        "rest": json.dumps(rest) if rest else "",
        **{
            f"{PREFIX}{each.attribute.name}": write_value(
                visit.get(each.attribute.name), each.attribute
            )
            for each in asked
        },
    }
