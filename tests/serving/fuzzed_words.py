"""Words that bodies by chance are made of: what is at an edge, and what only looks like JSON."""

from __future__ import annotations

NUMBERS = str.split(
    """
0 -0 1 -1 2 7 18 -2 100 1990 5000 5001 10000 10001 2147483647 2147483648 4294967296
9007199254740993 -9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808
-9223372036854775809 18446744073709551615 18446744073709551616 0.0 -0.0 1.0 0.5 18.0 1e0 1E+2
1e-2 0e0 -0e-0 1e22 1e23 1e99 1e100 1e308 1.7976931348623157e308 1e309 -1e309 5e-324
2.2250738585072011e-308 1e-400 1e-99 0.1 0.30000000000000004 123456789012345.6
1234567890123456.7 0.000000000000000000000001 52.5200066 -13.404954 90.0 90.0000001 -90 180
-180.5 1e19 9.223372036854775e18 9.223372036854776e18
    """
)
NO_NUMBERS = str.split(
    """
1e 01 -01 00 1. .5 +1 - 0x10 1_000 NaN Infinity -Infinity nan 1e+ 1e1.5 --1 1f 0b1 True None
undefined
    """
)
NUMBERS += ["9" * 19, "9" * 20, "9" * 200, "9" * 201, "0." + "1" * 197, "0." + "1" * 400]
NUMBERS += ["1" + "0" * 309, "-" + "9" * 197 + "e99", "1" * 4301, "0." + "0" * 190 + "1e-99"]
TEXTS = [
    *("", " ", "a", "USA", "us", " de ", "FRA", "ßa", "İ", "ǆ", "Ⅷ", "\u212a", "ǅabc", "xx", "uSa"),
    *("\x00", "a\x00b", "\x7f", "\u2028", "\ufeff", "\ufffd", "\U0010ffff", "😀", "\u0085", "é"),
    *(
        "10.0.0.1",
        "::1",
        "::ffff:1.2.3.4",
        "1.2.3.04",
        "fe80::1%eth0",
        "1.2.3",
        "0:0:0:0:0:0:0:0:0",
    ),
    *("2026-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00.123456+14:00"),
    *("2016-12-31T23:59:60Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-01-01"),
    *(
        "EUR",
        "USD",
        "usd",
        "Usd",
        "a,b , ,c",
        ",",
        " , ,",
        "\u00a0a\u00a0,b\u2003",
        "\x1ca\x1f,\x0b",
    ),
    *("en-GB", "EN_us", "-", "_a", "Not.A/Brand", "Microsoft Edge", "CHROMIUM", "no", "Nothing"),
    *("Mozilla Chrome/1 Edg/2", "CriOS/", "https://a.example/p?q=1", "?", "a?b?c"),
    *("COtybn4PA_zT4KjACBENAPCIAEBAAECAAIAAAAAAAAAA", "C", "CO", "COt", "COty", "C" * 40, "CP===="),
    *("COtybn4PA_zT4KjACBENAPCIAEBAAECAAIAAAAAAAAAA.x.y", ".C", "DBABMA~COtybn4PA_zT", "C+/-_" * 9),
    *(
        "__proto__",
        "constructor",
        "hasOwnProperty",
        "lat",
        "ext",
        "'; --",
        "null",
        "*" * 50,
        "x" * 300,
    ),
]
NAMES = [
    *("", ".", "a.", ".a", "geo.", "geo", "user", "device", "lat", "lon", "__proto__", "ext", "id"),
    *("constructor", "geo.country.x", "geo..country", "GEO.COUNTRY", "geo.country ", "\x00", "é"),
    *(
        "time",
        "local_time",
        "publisher.id",
        "publisher",
        "visit_id",
        "n" * 200,
        "é" * 100,
        "n" * 201,
    ),
]
PIECES = [
    *(b"", b",", b":", b'"', b"{", b"}", b"[", b"]", b"\\", b"/", b"0", b"-", b".", b"e", b"\x00"),
    *(
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\xaf",
        b"\xef\xbb\xbf",
        b"\x1f",
    ),
    *(
        b"\\u",
        b"\\ud800",
        b"\\udc00\\ud800",
        b"\\u0000",
        b"\\x",
        b"\\'",
        b"//x\n",
        b"/*x*/",
        b"\x0b",
    ),
    *(b"null", b"true", b"tru", b"nul", b"false", b"NaN", b"{}", b"[]", b'""', b"\xa0", b"\r\n\t "),
    *(
        b'"a":1,',
        b'"geo":{},',
        b'"geo":{"country":"FRA"},',
        b"\n",
        b"{}{}",
        b",,",
        b"1e999",
        b"'a'",
    ),
]
BLANKS = ["", "", " ", "\n", "\t", "\r\n", "  "]
NO_BLANKS: list[str] = []
MEMBERS = ["publisher", "visit", "bid_request", "limit", "campaigns", "order", "paths", "other", ""]
OPENRTB = str.split(
    """
id imp banner video audio native format w h pos tagid instl rwdd bidfloor bidfloorcur pmp deals
startdelay plcmt minduration maxduration skip playbackmethod site app dooh domain page ref
kwarray keywords cat sectioncat pagecat publisher content language context livestream len
network channel name data segment segtax ext device devicetype os osv sua browsers brand
platform ua make model langb carrier mccmnc connectiontype ip ipv6 lmt geo country region metro
city zip lat lon accuracy utcoffset user yob gender consent regs gdpr coppa us_privacy gpp_sid
source schain nodes asi sid complete ver bundle genres contentrating qagmediarating
    """
)
