"""Says how messages call each type and its values, and which operator to use instead of another."""

NOUNS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "float": "a number",
    "timestamp": "a time",
    "timestamp local": "a time",
    "string": "a text",
    "string set": "a set of texts",
    "integer set": "a set of whole numbers",
    "ip": "an IP address",
    "geo": "a place",
}

LITERALS = {
    "boolean": "`true` or `false`",
    "integer": "a whole number such as `18`",
    "float": "a number such as `0.5`",
    "timestamp": "a time in quotes such as `'2026-11-15T00:00:00Z'`",
    "timestamp local": "a time in quotes such as `'2026-11-15T00:00:00Z'`",
    "string": "a text in quotes such as `'US'`",
    "string set": "a text in quotes such as `'cars'`",
    "integer set": "a whole number such as `18`",
    "ip": "an address in quotes such as `'192.0.2.1'`",
}

SCALAR_INSTEAD = {
    "one of": "in (..)",
    "only of": "in (..)",
    "all of": "= ..",
    "none of": "not in (..)",
    "is empty": "is missing",
}
SET_INSTEAD = {
    "=": "one of (..)",
    "in": "one of (..)",
    "contains": "one of (..)",
    "like": "one of (..)",
    "starts with": "one of (..)",
    "ends with": "one of (..)",
    "under": "one of (..)",
    "!=": "none of (..)",
}
