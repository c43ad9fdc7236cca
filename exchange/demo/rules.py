"""Makes edge rules: which visits a seller passes on, as expressions of the targeting language.

Each rule is a function of chance that gives one expression; `true` is a rule as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from exchange.demo.chance import Weighted, weigh
from exchange.demo.syntax import either, or_missing, texts
from exchange.demo.vocabulary import BLOCKED_DOMAINS, SENSITIVE_TOPICS
from exchange.demo.world import COUNTRIES, GDPR_CODES, REGIONS

Rule = Callable[[random.Random], str]

DATA_CENTRES = ("34.64.0.0/10", "52.0.0.0/11", "104.16.0.0/13", "2001:db8:dc::/48")


def everything(_: random.Random) -> str:
    return "true"


def no_finance_pages(_: random.Random) -> str:
    return or_missing("site.page_cat", "site.page_cat none of ('IAB13', 'IAB13-7', 'IAB13-9')")


def no_politics_or_crime(_: random.Random) -> str:
    return or_missing("site.page_cat", "site.page_cat none of ('IAB11', 'IAB11-1', 'IAB11-4')")


def consent_in_gdpr_countries(_: random.Random) -> str:
    return f"geo.country not in {texts(GDPR_CODES)} or user.consent"


def consent_where_gdpr_applies(_: random.Random) -> str:
    return "not regs.gdpr or user.consent or regs.gdpr is missing"


def storage_purpose(_: random.Random) -> str:
    return "regs.gdpr = false or user.tcf_purposes all of (1, 2, 7)"


def vendor_consent(rng: random.Random) -> str:
    vendor = rng.choice((52, 76, 91, 128, 755))
    return f"regs.gdpr = false or user.tcf_vendors one of ({vendor})"


def no_children(_: random.Random) -> str:
    return (
        "(regs.coppa = false or regs.coppa is missing)"
        " and (app.cat none of ('IAB6', 'IAB5') or app.cat is missing)"
    )


def only_tv(_: random.Random) -> str:
    return "device.type in ('ctv', 'set_top_box')"


def no_tv(_: random.Random) -> str:
    return "device.type not in ('ctv', 'set_top_box', 'ooh')"


def only_apps(_: random.Random) -> str:
    return "imp.channel = 'app' and app.bundle is present"


def only_web(_: random.Random) -> str:
    return "imp.channel = 'web'"


def brand_safe(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return "content.risk in ('low', 'medium') or content.risk is missing"
    topics = sorted(rng.sample(SENSITIVE_TOPICS, 4))
    return (
        f"content.sensitive_topics none of {texts(topics)} or content.sensitive_topics is missing"
    )


def strictly_brand_safe(_: random.Random) -> str:
    no_topics = "content.sensitive_topics is empty or content.sensitive_topics is missing"
    return f"content.risk = 'low' and ({no_topics})"


def no_data_centres(_: random.Random) -> str:
    return f"device.ip not in network {texts(DATA_CENTRES)}"


def known_networks(rng: random.Random) -> str:
    octets = sorted({octet for country in rng.sample(COUNTRIES, 22) for octet in country.networks})
    networks = [f"{octet}.0.0.0/8" for octet in octets]
    mobile = "device.connection_type in ('4g', '5g', 'cellular')"
    return f"device.ip in network {texts(networks)} or {mobile}"


def waking_hours(_: random.Random) -> str:
    return "local_time during 'Mon-Sun 06:00-24:00' or geo.utc_offset is missing"


def no_night_on_weekdays(_: random.Random) -> str:
    return "local_time not during 'Mon-Fri 01:00-05:00' or geo.utc_offset is missing"


def blocked_domains(rng: random.Random) -> str:
    domains = sorted(rng.sample(BLOCKED_DOMAINS, rng.randint(5, 40)))
    return or_missing("site.domain", f"site.domain not under {texts(domains)}")


def blocked_referrers(rng: random.Random) -> str:
    words = sorted(rng.sample(("viral", "gossip", "torrent", "shock", "odds"), 2))
    globs = " or ".join(f"site.ref like '*{word}*'" for word in words)
    return f"not ({globs}) or site.ref is missing"


def cheap_enough(rng: random.Random) -> str:
    return f"imp.floor <= {rng.choice(('6', '8.5', '12'))} or imp.floor is missing"


def short_chain(rng: random.Random) -> str:
    limit = rng.randint(3, 5)
    known = f"source.schain_complete != false and source.schain_length < {limit}"
    return or_missing("source.schain_length", known)


def one_region(rng: random.Random) -> str:
    region = rng.choice(
        ("Europe", "Anglosphere", "EU5", "North America", "Nordics", "DACH", "APAC")
    )
    return either("geo.country", REGIONS[region])


def not_region(rng: random.Random) -> str:
    region = rng.choice(("APAC", "LatAm", "Iberia", "Nordics"))
    return or_missing("geo.country", f"geo.country not in {texts(REGIONS[region])}")


def known_formats(_: random.Random) -> str:
    return "imp.media_types one of ('banner', 'native', 'video')"


def standard_banners(_: random.Random) -> str:
    return (
        "imp.media_types none of ('audio')"
        " and (imp.sizes one of ('300x250', '728x90', '320x50', '970x250')"
        " or imp.sizes is empty or imp.sizes is missing)"
    )


def long_enough_video(_: random.Random) -> str:
    return "imp.media_types none of ('video') or imp.max_duration >= 15"


def no_forced_screens(_: random.Random) -> str:
    return "not (imp.interstitial and not imp.rewarded) or imp.interstitial is missing"


PUBLISHER_RULES: Weighted[Rule] = weigh(
    {
        everything: 14,
        consent_where_gdpr_applies: 9,
        consent_in_gdpr_countries: 7,
        cheap_enough: 6,
        no_data_centres: 6,
        waking_hours: 5,
        not_region: 5,
        known_formats: 6,
        no_forced_screens: 4,
    }
)
MARKET_RULES: Weighted[Rule] = weigh(
    {
        everything: 20,
        consent_in_gdpr_countries: 11,
        consent_where_gdpr_applies: 7,
        storage_purpose: 5,
        no_children: 8,
        brand_safe: 11,
        no_data_centres: 6,
        known_networks: 4,
        blocked_domains: 8,
        short_chain: 5,
        blocked_referrers: 4,
        no_finance_pages: 4,
        one_region: 2,
        no_tv: 3,
        only_tv: 1,
        only_apps: 1,
        standard_banners: 4,
        no_night_on_weekdays: 4,
    }
)
ADVERTISER_RULES: Weighted[Rule] = weigh(
    {
        everything: 34,
        brand_safe: 14,
        no_children: 8,
        no_politics_or_crime: 6,
        no_finance_pages: 3,
        strictly_brand_safe: 4,
        blocked_domains: 6,
        cheap_enough: 6,
        consent_where_gdpr_applies: 6,
        vendor_consent: 4,
        waking_hours: 6,
        only_web: 2,
        long_enough_video: 3,
        not_region: 4,
    }
)
