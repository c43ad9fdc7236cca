"""Reads from a tape what an eligibility request asks for (json_requests.pxd)."""
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp
from libcpp.algorithm cimport sort

from matcher_ext.machine.links cimport NOTHING
from matcher_ext.requests.json_tape cimport (
    LIST, NULL_WORD, OBJECT, WHOLE, Tape, Text, Token, is_text, read_whole, text_of,
)

LIMITS = MOST_LIMIT, MOST_CAMPAIGNS

cdef enum Member:
    PUBLISHER = 1
    VISIT = 2
    BID_REQUEST = 4
    LIMIT = 8
    CAMPAIGNS = 16
    ORDER = 32
    PATHS = 64


cdef bint read_asked(const Tape* tape, uint32_t place, Asked* asked) noexcept nogil:
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at = place + 1, _, member, seen = 0
    begin(asked)
    if tokens[place].kind != OBJECT:
        return False
    for _ in range(tokens[place].length):
        member = find_member(text_of(tape, &tokens[at]))
        if not member or seen & member or not read_member(tape, member, at + 1, asked):
            return False
        seen |= member
        at = tokens[at + 1].next
    return (asked.visit == NOTHING) != (asked.bid_request == NOTHING)


cdef void begin(Asked* asked) noexcept nogil:
    asked.visit = asked.bid_request = asked.publisher = NOTHING
    asked.wanted.limit = -1
    asked.wanted.has_campaigns = asked.wanted.by_campaign = False
    asked.wanted.campaigns.clear()
    asked.wanted.has_paths = True


cdef uint32_t find_member(Text name) noexcept nogil:
    if is_word(name, b"visit", 5):
        return VISIT
    if is_word(name, b"publisher", 9):
        return PUBLISHER
    if is_word(name, b"limit", 5):
        return LIMIT
    if is_word(name, b"bid_request", 11):
        return BID_REQUEST
    if is_word(name, b"campaigns", 9):
        return CAMPAIGNS
    if is_word(name, b"order", 5):
        return ORDER
    return PATHS if is_word(name, b"paths", 5) else 0


cdef inline bint is_word(Text text, const char* word, size_t length) noexcept nogil:
    return text.length == length and memcmp(text.bytes, word, length) == 0


cdef bint read_member(
    const Tape* tape, uint32_t member, uint32_t place, Asked* asked
) noexcept nogil:
    cdef const Token* token = &tape.tokens[place]
    if member == ORDER or member == PATHS:
        return is_text(token) and read_choice(text_of(tape, token), member, &asked.wanted)
    if token.kind == NULL_WORD:
        return True
    if member == VISIT:
        asked.visit = place
        return token.kind == OBJECT
    if member == BID_REQUEST:
        asked.bid_request = place
        return token.kind == OBJECT
    if member == PUBLISHER:
        asked.publisher = place
        return is_text(token)
    if member == LIMIT:
        return token.kind == WHOLE and read_whole(tape, token, &asked.wanted.limit) and (
            1 <= asked.wanted.limit <= MOST_LIMIT
        )
    return read_campaigns(tape, place, &asked.wanted)


cdef bint read_choice(Text text, uint32_t member, Wanted* wanted) noexcept nogil:
    if member == ORDER:
        wanted.by_campaign = is_word(text, b"id", 2)
        return wanted.by_campaign or is_word(text, b"net_cpm", 7)
    wanted.has_paths = is_word(text, b"cheapest", 8)
    return wanted.has_paths or is_word(text, b"none", 4)


cdef bint read_campaigns(const Tape* tape, uint32_t place, Wanted* wanted) noexcept nogil:
    cdef const Token* tokens = tape.tokens.data()
    cdef uint32_t at
    cdef int64_t campaign = 0
    if tokens[place].kind != LIST or tokens[place].length > MOST_CAMPAIGNS:
        return False
    for at in range(place + 1, tokens[place].next):
        if tokens[at].kind != WHOLE or not read_whole(tape, &tokens[at], &campaign) or (
            campaign < 1
        ):
            return False
        wanted.campaigns.push_back(campaign)
    sort(wanted.campaigns.begin(), wanted.campaigns.end())
    wanted.has_campaigns = True
    return True
