"""Makes the pages and programmes that demo visits look at, as Arrow columns by row.

A publisher's pages are one contiguous range of rows, the most visited first.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from exchange.demo.chance import stream
from exchange.demo.publishers import PUBLISHERS, Publisher, Section, Surface
from exchange.demo.vocabulary import SENSITIVE_TOPICS

PAGES_PER_WEIGHT = 6
SLUGS = (
    "guide",
    "report",
    "review",
    "story",
    "live",
    "best-of",
    "explained",
    "update",
    "letters",
    "ranking",
)
RISKS = ("medium", "medium", "medium", "high", "high", "floor")


@dataclass(frozen=True, slots=True)
class Inventory:
    """Columns by page; `first_of_publisher[p]` to `first_of_publisher[p + 1]` are publisher p's."""

    first_of_publisher: npt.NDArray[np.int64]
    columns: dict[str, pa.Array]


@dataclass(slots=True)
class _Page:
    """What one page says about itself; None is unknown."""

    url: str
    section_categories: list[str]
    page_categories: list[str]
    keywords: list[str]
    genres: list[str] | None
    risk: str | None
    topics: list[str] | None
    rating: str | None
    audience: str | None
    context: str
    is_live: bool | None
    length: int | None
    segments: list[str] | None


def build_inventory(seed: int) -> Inventory:
    rng = stream(seed, "inventory")
    pages: list[_Page] = []
    firsts = [0]
    for publisher in PUBLISHERS:
        own = [
            _make_page(publisher, section, number, rng)
            for section in publisher.sections
            for number in range(section.weight * PAGES_PER_WEIGHT)
        ]
        rng.shuffle(own)
        pages += own
        firsts.append(len(pages))
    return Inventory(np.array(firsts), _columns(pages))


def _make_page(publisher: Publisher, section: Section, number: int, rng: random.Random) -> _Page:
    has_video = Surface.TV in publisher.surfaces
    risk, topics = _judge(section, rng)
    return _Page(
        url=f"https://www.{publisher.domain}/{section.slug}/{rng.choice(SLUGS)}-{number + 1}",
        section_categories=[section.categories[0]],
        page_categories=list(section.categories),
        keywords=rng.sample(section.keywords, rng.randint(1, len(section.keywords))),
        genres=rng.sample(publisher.genres, 1) if publisher.genres else None,
        risk=risk,
        topics=topics,
        rating=_rate(publisher, risk, rng) if has_video else None,
        audience=_audience(publisher, risk, rng),
        context="video" if has_video else "game" if publisher.genres else "text",
        is_live="live" in section.slug if has_video else None,
        length=rng.randrange(600, 7200, 60) if has_video else None,
        segments=_seller_segments(publisher, section, rng),
    )


def _judge(section: Section, rng: random.Random) -> tuple[str | None, list[str] | None]:
    """Draws what the verifier says, who has looked at five pages of six."""
    if rng.random() < 1 / 6:
        return None, None
    if rng.random() >= section.risk:
        return "low", []
    return rng.choice(RISKS), sorted(rng.sample(SENSITIVE_TOPICS, rng.randint(1, 3)))


def _rate(publisher: Publisher, risk: str | None, rng: random.Random) -> str:
    if publisher.is_for_children:
        return "TV-Y"
    return "TV-MA" if risk in {"high", "floor"} else rng.choice(("TV-G", "TV-PG", "TV-14"))


def _audience(publisher: Publisher, risk: str | None, rng: random.Random) -> str | None:
    if publisher.is_for_children:
        return "all"
    if rng.random() < 0.4:
        return None
    return "mature" if risk in {"high", "floor"} else rng.choice(("all", "all", "over_12"))


def _seller_segments(
    publisher: Publisher, section: Section, rng: random.Random
) -> list[str] | None:
    if rng.random() < 0.5:
        return None
    return [f"{publisher.seller_id}:content:{section.slug}"]


def _columns(pages: list[_Page]) -> dict[str, pa.Array]:
    texts = pa.list_(pa.string())
    return {
        "site.page": pa.array([page.url for page in pages]),
        "site.section_cat": pa.array([page.section_categories for page in pages], texts),
        "site.page_cat": pa.array([page.page_categories for page in pages], texts),
        "site.keywords": pa.array([page.keywords for page in pages], texts),
        "content.cat": pa.array([page.page_categories for page in pages], texts),
        "content.genres": pa.array([page.genres for page in pages], texts),
        "content.risk": pa.array([page.risk for page in pages], pa.string()),
        "content.sensitive_topics": pa.array([page.topics for page in pages], texts),
        "content.rating": pa.array([page.rating for page in pages], pa.string()),
        "content.audience": pa.array([page.audience for page in pages], pa.string()),
        "content.context": pa.array([page.context for page in pages], pa.string()),
        "content.livestream": pa.array([page.is_live for page in pages], pa.bool_()),
        "content.length": pa.array([page.length for page in pages], pa.int64()),
        "content.segments": pa.array([page.segments for page in pages], texts),
    }
