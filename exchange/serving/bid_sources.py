"""Tells the compiled reader of bid requests where each attribute stands, and in which form.

`openrtb` says the same in Python, for whoever needs a visit as a dict, and for requests that the
compiled reader gives back.
"""

from __future__ import annotations

from collections.abc import Iterable

from exchange.serving.openrtb import DEPRECATED, ENUMERATIONS, Source
from exchange.serving.visits import STAMPED
from matcher_ext import Snapshot
from matcher_ext.requests import BidReader
from targeting.openrtb.countries import ALPHA_3, name_country

CHAIN = "source.schain.nodes"
# For each attribute, how its values become one, and their paths where the reader needs any.
FORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "site.page": ("address", ("site.page",)),
    "site.ref": ("address", ("site.ref",)),
    "content.language": ("language", ("site.content.language", "app.content.language")),
    "content.segments": ("segments", ("site.content.data", "app.content.data")),
    "imp.channel": ("channel", ()),
    "imp.media_types": ("media types", ()),
    "imp.sizes": ("sizes", ()),
    "imp.floor": ("floor", ()),
    "imp.interstitial": ("flag", ("imp.instl",)),
    "imp.rewarded": ("flag", ("imp.rwdd",)),
    "imp.video_start": ("video start", ("imp.video.startdelay",)),
    "device.os": ("lowered", ("device.os", "device.sua.platform.brand")),
    "device.browser": ("browser", ("device.sua.browsers.brand", "device.ua")),
    "device.language": ("language", ("device.language", "device.langb")),
    "geo.country": ("country", ("device.geo.country", "user.geo.country")),
    "geo.location": ("location", ()),
    "user.segments": ("segments", ("user.data",)),
    "user.age": ("age", ("user.yob",)),
    "user.consent": ("consent", ("user.consent",)),
    "user.tcf_purposes": ("purposes", ("user.consent",)),
    "user.tcf_vendors": ("vendors", ("user.consent",)),
    "source.schain_sellers": ("sellers", (CHAIN,)),
    "source.schain_length": ("chain length", (CHAIN,)),
}


def make_bid_reader(index: Snapshot, sources: Iterable[Source]) -> BidReader:
    described = []
    for source in sources:
        names = ENUMERATIONS.get(source.name, {})
        form, paths = "named numbers" if names else "plain", source.paths
        if source.name in FORMS:
            form, written = FORMS[source.name]
            paths = tuple(tuple(path.split(".")) for path in written)
        described.append((source.name, form, paths, names))
    return BidReader(index.catalog, described, ALPHA_3, name_country, DEPRECATED, STAMPED)
