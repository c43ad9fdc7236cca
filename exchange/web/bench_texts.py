"""Values of visits as people type them on the test bench, and as it writes them back.

phone, tablet      two values to try: commas make several visits
sports + travel    a set of two
"Frankfurt, Oder"  quotes keep a comma
?                  the visit does not say it, as does an empty field
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from targeting.catalog import Attribute, AttributeType
from targeting.visits import READERS, MalformedError

MISSING = "?"
EMPTY_SET = "(empty)"
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
QUOTED_OR_NOT = r'\s*("(?:[^"\\]|\\.)*"|(?!").*?)\s*(?:{0}|$)'
OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d\d)?")
AMBIGUOUS = re.compile(r'[,;"]| \+ |^\s|\s$|[\x00-\x1f]')
MOMENT = "%Y-%m-%d %H:%M"
ZONES = (
    *("UTC", "Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Athens", "Europe/Istanbul"),
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles"),
    *("America/Sao_Paulo", "Africa/Lagos", "Asia/Dubai", "Asia/Kolkata", "Asia/Singapore"),
    *("Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland"),
)
WANTED = {
    AttributeType.BOOLEAN: "yes or no",
    AttributeType.INTEGER: "a whole number",
    AttributeType.FLOAT: "a number",
    AttributeType.INTEGER_SET: "whole numbers, several joined by “ + ”",
    AttributeType.IP: "an address such as 203.0.113.7",
    AttributeType.GEO: "latitude and longitude, such as 52.52 13.405",
    AttributeType.TIMESTAMP: "a moment such as 2026-11-17T08:30:00Z",
}


class BadTextError(ValueError):
    """Says in words what is wrong with what was typed."""


def read_alternatives(text: str, attribute: Attribute) -> list[tuple[str, Any]]:
    """Reads the values to try, each with its words; None for a visit that does not say it. Places
    have commas of their own, so semicolons part them."""
    parted = ";" if attribute.type is AttributeType.GEO else ","
    found = dict(read_one(part, attribute) for part in split(text, parted))
    return list(found.items()) or [(MISSING, None)]


def split(text: str, parted: str) -> Iterator[str]:
    pattern = re.compile(QUOTED_OR_NOT.replace("{0}", re.escape(parted)))
    place = 0
    while place < len(text):
        found = pattern.match(text, place)
        if found is None:
            raise BadTextError(f"The quotes in “{text[place : place + 40]}” do not end.")
        place = found.end()
        if found[1]:
            yield found[1]


def read_one(text: str, attribute: Attribute) -> tuple[str, Any]:
    if text == MISSING:
        return MISSING, None
    try:
        value = read_value(text, attribute.type)
        READERS[attribute.type](value)
    except (ValueError, MalformedError):
        wanted = WANTED.get(attribute.type, "a value of its type")
        raise BadTextError(f"“{text}” is not {wanted}.") from None
    return write_value(value, attribute), value


def read_value(text: str, kind: AttributeType) -> Any:
    if kind is AttributeType.BOOLEAN:
        return TRUTHS.get(text.lower())
    if kind in (AttributeType.STRING_SET, AttributeType.INTEGER_SET):
        parts = [] if text == EMPTY_SET else list(split(text, " + "))
        return [int(part) if kind is AttributeType.INTEGER_SET else unquote(part) for part in parts]
    if kind is AttributeType.GEO:
        return [float(part) for part in re.split(r"[\s,]+", text.strip("() "))]
    if kind is AttributeType.INTEGER:
        return int(text)
    return float(text) if kind is AttributeType.FLOAT else unquote(text)


def unquote(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def write_value(value: Any, attribute: Attribute) -> str:
    """Writes a value as it would be typed; nothing for one that is missing."""
    if value is None:
        return ""
    if attribute.type is AttributeType.BOOLEAN:
        return "yes" if value else "no"
    if attribute.type is AttributeType.GEO:
        point = [value.get("lat"), value.get("lon")] if isinstance(value, dict) else value
        return " ".join(str(number) for number in point)
    if isinstance(value, list | tuple | set | frozenset):
        return " + ".join(quote(str(each)) for each in value) or EMPTY_SET
    return quote(str(value))


def quote(text: str) -> str:
    """Quotes what would be read as something else."""
    if text in ("", MISSING, EMPTY_SET) or AMBIGUOUS.search(text):
        return json.dumps(text, ensure_ascii=False)
    return text


# Time and zone.


def read_zone(text: str) -> timezone | ZoneInfo | None:
    """Reads a place's name or an offset; None if nothing is said."""
    text = text.strip()
    if not text or text == MISSING:
        return None
    if text.upper() == "UTC":
        return UTC
    found = OFFSET.fullmatch(text)
    try:
        if found:
            minutes = int(found[2]) * 60 + int(found[3] or 0)
            return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
        return ZoneInfo(text)
    except (ValueError, LookupError, OSError):
        raise BadTextError(
            f"“{text}” is no time zone. Write one such as Europe/Berlin, or +01:00."
        ) from None


def read_moments(text: str, zone: timezone | ZoneInfo | None) -> list[tuple[str, datetime]]:
    """Reads moments on the visitor's clock."""
    found: dict[str, datetime] = {}
    for part in split(text, ","):
        try:
            read = datetime.fromisoformat(part.replace("Z", "+00:00"))
            moment = read if read.tzinfo else read.replace(tzinfo=zone or UTC)
            moment = moment.astimezone(UTC)
        except (ValueError, OverflowError):
            said = f"“{part}” is no moment. Write one such as 2026-11-17 18:30."
            raise BadTextError(said) from None
        found[write_moment(moment, zone)] = moment
    return list(found.items())


def whole_minute(moment: datetime, starts_at: datetime) -> datetime:
    """Gives the minute of a moment, as fields show it. In the minute in which a flight starts, and
    after its start, that is the next one: the minute itself began before the flight."""
    minute = moment.replace(second=0, microsecond=0)
    return minute + timedelta(minutes=1) if minute < starts_at <= moment else minute


def write_moment(moment: datetime, zone: timezone | ZoneInfo | None) -> str:
    return moment.astimezone(zone or UTC).strftime(MOMENT)


def offset_at(moment: datetime, zone: timezone | ZoneInfo) -> int:
    """Returns the minutes that the zone is ahead of UTC at that moment."""
    offset = moment.astimezone(zone).utcoffset()
    return int(offset.total_seconds() // 60) if offset is not None else 0


def write_offset(minutes: int) -> str:
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"
