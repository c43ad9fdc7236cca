"""Makes OpenRTB 2.6 bid requests from logged visits: the reverse of `exchange.serving.openrtb`.

A request has what real ones have beside what expressions ask for: blocked lists, a consent string
with hundreds of vendors, a native request (JSON in a text), agents and their hints. What OpenRTB
has no place for is left out, `content.risk` for one; a malformed value is sent as it was logged.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from exchange.serving.openrtb import ENUMERATIONS

Visit = Mapping[str, Any]
Objects = dict[str, Any]

NUMBERS: dict[str, dict[object, object]] = {
    name: {text: number for number, text in texts.items()} for name, texts in ENUMERATIONS.items()
}
VIDEO_STARTS = {"pre_roll": 0, "mid_roll": -1, "post_roll": -2}
SYSTEMS = {
    "ios": "iOS",
    "android": "Android",
    "macos": "macOS",
    "windows": "Windows",
    "linux": "Linux",
}
PLATFORMS = {
    "ios": "iPhone; CPU iPhone OS 17_6 like Mac OS X",
    "android": "Linux; Android 14; K",
    "macos": "Macintosh; Intel Mac OS X 10_15_7",
    "windows": "Windows NT 10.0; Win64; x64",
}
WEBKIT = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) "
CHROME = WEBKIT + "Chrome/130.0.0.0 "
AGENTS = {
    "chrome": CHROME + "Safari/537.36",
    "edge": CHROME + "Safari/537.36 Edg/130.0.0.0",
    "samsung_internet": WEBKIT + "SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36",
    "safari": WEBKIT + "Version/17.6 Safari/605.1.15",
    "firefox": "Mozilla/5.0 ({}; rv:132.0) Gecko/20100101 Firefox/132.0",
}
# Browsers that send client hints; the others are known by their agents alone.
BRANDS = {
    "chrome": "Google Chrome",
    "edge": "Microsoft Edge",
    "samsung_internet": "Samsung Internet",
}
NATIVE = (
    '{"ver":"1.2","context":1,"plcmttype":1,"assets":[{"id":1,"required":1,"title":{"len":90}},'
    '{"id":2,"required":1,"img":{"type":3,"wmin":300,"hmin":157}},{"id":3,"data":{"type":2}}]}'
)
BLOCKED_CATEGORIES = ["IAB7-39", "IAB8-18", "IAB8-5", "IAB9-9", "IAB25", "IAB26"]
BLOCKED_ADVERTISERS = ["casino.example", "rival-news.example", "payday.example"]
# How many imps requests have: a sixth of them have several.
IMPS = (1,) * 25 + (2,) * 3 + (3,) + (4,)


def draw_bid_requests(visits: Sequence[Visit], seed: int = 1) -> Iterator[Objects]:
    """Makes one request of each visit; further imps are other visits' on the same channel."""
    chosen = random.Random(seed)
    by_channel: dict[object, list[Visit]] = {}
    for visit in visits:
        by_channel.setdefault(visit.get("imp.channel"), []).append(visit)
    for visit in visits:
        others = chosen.choices(by_channel[visit.get("imp.channel")], k=chosen.choice(IMPS) - 1)
        yield make_bid_request(visit, *others)


def make_bid_request(visit: Visit, *others: Visit) -> Objects:
    """Makes a request of a visit, with one more imp for each of the others."""
    place = "app" if visit.get("imp.channel") == "app" else "site"
    return known(
        id=visit.get("visit_id"),
        imp=[make_imp(each, str(number)) for number, each in enumerate((visit, *others), 1)],
        **{place: make_app(visit) if place == "app" else make_site(visit)},
        device=make_device(visit),
        user=make_user(visit),
        at=1,
        tmax=120,
        cur=["USD"],
        bcat=BLOCKED_CATEGORIES,
        badv=BLOCKED_ADVERTISERS,
        source=make_source(visit),
        regs=known(
            gdpr=flag(visit.get("regs.gdpr")),
            coppa=flag(visit.get("regs.coppa")),
            us_privacy=visit.get("regs.us_privacy"),
            gpp_sid=visit.get("regs.gpp_sections"),
        ),
    )


def known(**fields: Any) -> Objects:
    """Makes an object of the fields that are known."""
    return {name: value for name, value in fields.items() if value is not None}


def flag(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def number_of(visit: Visit, name: str) -> object:
    """Gives OpenRTB's number for a value; a value that has none is sent as it is."""
    value = visit.get(name)
    return NUMBERS[name].get(value, value)


def make_imp(visit: Visit, imp_id: str) -> Objects:
    kinds = {"banner": make_banner, "video": make_video, "native": make_native}
    media_types = [kind for kind in visit.get("imp.media_types") or () if kind in kinds]
    deals = visit.get("imp.deals")
    return known(
        id=imp_id,
        **{kind: kinds[kind](visit) for kind in media_types},
        tagid=visit.get("imp.placement_id"),
        instl=flag(visit.get("imp.interstitial")),
        rwdd=flag(visit.get("imp.rewarded")),
        bidfloor=visit.get("imp.floor"),
        bidfloorcur="USD",
        secure=1,
        exp=300,
        pmp=deals and {"private_auction": 0, "deals": [{"id": each, "at": 1} for each in deals]},
        ext={"gpid": f"/21700/{visit.get('imp.placement_id')}"},
    )


def make_banner(visit: Visit) -> Objects:
    sizes = [size.split("x") for size in visit.get("imp.sizes") or ()]
    formats = [{"w": int(width), "h": int(height)} for width, height in sizes]
    return known(
        format=formats or None,
        **(formats[0] if formats else {}),
        pos=number_of(visit, "imp.position"),
        btype=[4],
        battr=[1, 2, 5, 8, 9, 14, 17],
        api=[3, 5, 6, 7],
        topframe=1,
    )


def make_video(visit: Visit) -> Objects:
    start = visit.get("imp.video_start")
    numbers = NUMBERS["imp.playback"]
    return known(
        mimes=["video/mp4", "video/webm", "application/javascript"],
        protocols=[2, 3, 5, 6, 7, 8],
        w=640,
        h=360,
        linearity=1,
        api=[2, 7],
        plcmt=number_of(visit, "imp.video_placement"),
        startdelay=VIDEO_STARTS.get(start) if isinstance(start, str) else None,
        minduration=visit.get("imp.min_duration"),
        maxduration=visit.get("imp.max_duration"),
        skip=flag(visit.get("imp.skippable")),
        playbackmethod=[numbers.get(each, each) for each in visit.get("imp.playback") or ()]
        or None,
        pos=number_of(visit, "imp.position"),
    )


def make_native(_visit: Visit) -> Objects:
    return {"request": NATIVE, "ver": "1.2", "api": [3, 5]}


def make_site(visit: Visit) -> Objects:
    keywords = visit.get("site.keywords")
    return known(
        domain=visit.get("site.domain"),
        page=visit.get("site.page"),
        ref=visit.get("site.ref"),
        keywords=keywords and ", ".join(keywords),
        cat=visit.get("site.cat"),
        sectioncat=visit.get("site.section_cat"),
        pagecat=visit.get("site.page_cat"),
        mobile=1,
        privacypolicy=1,
        publisher=make_publisher(visit),
        content=make_content(visit),
    )


def make_app(visit: Visit) -> Objects:
    return known(
        bundle=visit.get("app.bundle"),
        ver=visit.get("app.version"),
        cat=visit.get("app.cat"),
        paid=0,
        publisher=make_publisher(visit),
        content=make_content(visit),
    )


def make_publisher(visit: Visit) -> Objects:
    return known(id=visit.get("publisher.id"), domain=visit.get("publisher.domain"))


def make_content(visit: Visit) -> Objects | None:
    network, channel = visit.get("content.network_name"), visit.get("content.channel_name")
    content = known(
        cat=visit.get("content.cat"),
        genres=visit.get("content.genres"),
        language=visit.get("content.language"),
        contentrating=visit.get("content.rating"),
        qagmediarating=number_of(visit, "content.audience"),
        context=number_of(visit, "content.context"),
        livestream=flag(visit.get("content.livestream")),
        len=visit.get("content.length"),
        network=network and {"name": network},
        channel=channel and {"name": channel},
        data=make_data(visit.get("content.segments")),
    )
    return content or None


def make_data(segments: Sequence[str] | None) -> list[Objects] | None:
    """Groups segments ('provider:id', 'provider:taxonomy:id') as their providers send them."""
    by_provider: dict[tuple[str, str], list[Objects]] = {}
    for segment in segments or ():
        provider, _, rest = segment.partition(":")
        taxonomy, _, segment_id = rest.rpartition(":")
        by_provider.setdefault((provider, taxonomy), []).append({"id": segment_id})
    found = [
        known(name=provider, segment=listed, ext={"segtax": taxonomy} if taxonomy else None)
        for (provider, taxonomy), listed in by_provider.items()
    ]
    return found or None


def make_device(visit: Visit) -> Objects:
    address = visit.get("device.ip")
    family = "ipv6" if isinstance(address, str) and ":" in address else "ip"
    system = visit.get("device.os")
    return known(
        ua=make_agent(visit),
        sua=make_hints(visit),
        geo=make_geo(visit),
        lmt=flag(visit.get("device.limit_tracking")),
        **{family: address},
        devicetype=number_of(visit, "device.type"),
        make=visit.get("device.make"),
        model=visit.get("device.model"),
        os=system and SYSTEMS.get(system, system),
        osv=visit.get("device.os_version"),
        js=1,
        language=visit.get("device.language"),
        carrier=visit.get("device.carrier"),
        connectiontype=number_of(visit, "device.connection_type"),
    )


def make_agent(visit: Visit) -> str | None:
    """Writes the user agent; that of an app names no browser."""
    browser, system = visit.get("device.browser"), visit.get("device.os")
    platform = PLATFORMS.get(str(system), "X11; Linux x86_64")
    if browser is not None:
        return AGENTS.get(browser, WEBKIT + str(browser)).format(platform)
    if visit.get("imp.channel") == "app":
        return f"{visit.get('app.bundle')}/{visit.get('app.version') or '1.0'} ({platform})"
    return None


def make_hints(visit: Visit) -> Objects | None:
    browser, system = visit.get("device.browser"), visit.get("device.os")
    brand = BRANDS.get(str(browser))
    if brand is None or system is None:
        return None
    version = ["130", "0", "6723", "58"]
    return {
        "browsers": [
            {"brand": "Chromium", "version": version},
            {"brand": "Not?A_Brand", "version": ["99", "0", "0", "0"]},
            {"brand": brand, "version": version},
        ],
        "platform": known(brand=SYSTEMS.get(system, system), version=["14", "0", "0"]),
        "mobile": int(visit.get("device.type") in ("phone", "mobile")),
        "source": 2,
    }


def make_geo(visit: Visit) -> Objects:
    location = visit.get("geo.location") or {}
    return known(
        lat=location.get("lat"),
        lon=location.get("lon"),
        type=1 if location else 2,
        accuracy=50 if location else None,
        ipservice=None if location else 3,
        country=visit.get("geo.country"),
        region=visit.get("geo.region"),
        metro=visit.get("geo.metro"),
        city=visit.get("geo.city"),
        zip=visit.get("geo.zip"),
        utcoffset=visit.get("geo.utc_offset"),
    )


def make_user(visit: Visit) -> Objects:
    user_id, age, gender = (visit.get(f"user.{name}") for name in ("id", "age", "gender"))
    purposes, vendors = visit.get("user.tcf_purposes"), visit.get("user.tcf_vendors")
    return known(
        id=user_id,
        buyeruid=user_id and f"b-{user_id}",
        yob=None if age is None else datetime.now(UTC).year - age,
        gender=NUMBERS["user.gender"].get(gender, gender),
        data=make_data(visit.get("user.segments")),
        consent=None if purposes is None else write_consent(purposes, vendors or ()),
        eids=user_id
        and [{"source": "ids.example", "uids": [{"id": f"{user_id}-{user_id}", "atype": 1}]}],
    )


def make_source(visit: Visit) -> Objects:
    sellers = visit.get("source.schain_sellers")
    if sellers is None:
        return {"fd": 0}
    ends = [seller.partition("/") for seller in sellers]
    chain = known(
        ver="1.0",
        complete=flag(visit.get("source.schain_complete")),
        nodes=[{"asi": asi, "sid": sid, "hp": 1} for asi, _, sid in ends],
    )
    return {"fd": 0, "tid": f"t-{visit.get('visit_id')}", "schain": chain}


def write_consent(purposes: Sequence[int], vendors: Sequence[int]) -> str:
    """Writes a core segment of TCF 2: consent as given, the same vendors by legitimate interest."""
    deciseconds = 17_300_000_000
    head = [(2, 6), (deciseconds, 36), (deciseconds, 36), (31, 12), (1, 12), (1, 6)]
    head += [(4 << 6 | 13, 12), (120, 12), (4, 6), (1, 1), (0, 1), (0, 12)]
    interests = [each for each in purposes if each in (2, 7, 9, 10)]
    bits = "".join(f"{value:0{width}b}" for value, width in head)
    bits += write_flags(purposes, 24) + write_flags(interests, 24)
    bits += "0" + f"{4 << 6 | 4:012b}" + 2 * write_vendors(vendors) + 12 * "0"
    bits += -len(bits) % 8 * "0"
    content = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def write_vendors(vendors: Sequence[int]) -> str:
    highest = max(vendors, default=0)
    return f"{highest:016b}0" + write_flags(vendors, highest)


def write_flags(numbers: Sequence[int], count: int) -> str:
    return "".join("1" if number in numbers else "0" for number in range(1, count + 1))
