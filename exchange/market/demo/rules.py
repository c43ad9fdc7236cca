"""Edge rules: which visits a seller passes on, as expressions of the targeting language.

Each rule is a function of chance that gives one expression; `true` is a rule as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from exchange.market.demo.chance import Weighted
from exchange.market.demo.syntax import either, or_missing, texts
from exchange.market.demo.vocabulary import BLOCKED_DOMAINS, SENSITIVE_TOPICS
from exchange.market.demo.world import COUNTRIES, GDPR_CODES, REGIONS

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
    return "(regs.coppa = false or regs.coppa is missing) and (app.cat none of ('IAB6', 'IAB5') or app.cat is missing)"


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
    return f"content.sensitive_topics none of {texts(topics)} or content.sensitive_topics is missing"


def strictly_brand_safe(_: random.Random) -> str:
    return "content.risk = 'low' and (content.sensitive_topics is empty or content.sensitive_topics is missing)"


def no_data_centres(_: random.Random) -> str:
    return f"device.ip not in network {texts(DATA_CENTRES)}"


def known_networks(rng: random.Random) -> str:
    octets = sorted({octet for country in rng.sample(COUNTRIES, 22) for octet in country.networks})
    networks = [f"{octet}.0.0.0/8" for octet in octets]
    return f"device.ip in network {texts(networks)} or device.connection_type in ('4g', '5g', 'cellular')"


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
    return f"source.schain_complete != false and source.schain_length < {rng.randint(3, 5)} or source.schain_length is missing"


def one_region(rng: random.Random) -> str:
    region = rng.choice(("Europe", "Anglosphere", "EU5", "North America", "Nordics", "DACH", "APAC"))
    return either("geo.country", REGIONS[region])


def not_region(rng: random.Random) -> str:
    region = rng.choice(("APAC", "LatAm", "Iberia", "Nordics"))
    return or_missing("geo.country", f"geo.country not in {texts(REGIONS[region])}")


def known_formats(_: random.Random) -> str:
    return "imp.media_types one of ('banner', 'native', 'video')"


def standard_banners(_: random.Random) -> str:
    return (
        "imp.media_types none of ('audio') and (imp.sizes one of ('300x250', '728x90', '320x50', '970x250')"
        " or imp.sizes is empty or imp.sizes is missing)"
    )


def long_enough_video(_: random.Random) -> str:
    return "imp.media_types none of ('video') or imp.max_duration >= 15"


def no_forced_screens(_: random.Random) -> str:
    return "not (imp.interstitial and not imp.rewarded) or imp.interstitial is missing"


PUBLISHER_RULES: Weighted[Rule] = Weighted(
    (everything, consent_where_gdpr_applies, consent_in_gdpr_countries, cheap_enough, no_data_centres,
     waking_hours, not_region, known_formats, no_forced_screens),
    (22, 8, 5, 6, 6, 3, 4, 6, 4),
)  # fmt: skip
MARKET_RULES: Weighted[Rule] = Weighted(
    (everything, consent_in_gdpr_countries, consent_where_gdpr_applies, storage_purpose, no_children,
     brand_safe, no_data_centres, known_networks, blocked_domains, short_chain, blocked_referrers,
     no_finance_pages, one_region, no_tv, only_tv, only_apps, standard_banners, no_night_on_weekdays),
    (30, 8, 7, 3, 8, 9, 6, 3, 8, 5, 4, 4, 2, 3, 1, 1, 4, 3),
)  # fmt: skip
ADVERTISER_RULES: Weighted[Rule] = Weighted(
    (everything, brand_safe, no_children, no_politics_or_crime, no_finance_pages, strictly_brand_safe,
     blocked_domains, cheap_enough, consent_where_gdpr_applies, vendor_consent, waking_hours, only_web,
     long_enough_video, not_region),
    (45, 14, 8, 6, 3, 2, 6, 5, 6, 2, 3, 1, 3, 2),
)  # fmt: skip
