"""Requests from bytes, in whatever pieces, and none hidden in another."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.serving.http.messages import Reply, Request, Route
from exchange.serving.http.reader import RequestReader, Stage
from exchange.serving.problems import ProblemError, not_found

HEAD_LIMIT = 2_000


class Door:
    """Lets in who has a key, with bodies of up to 100 bytes."""

    name = "door"
    methods: tuple[str, ...] = ("POST",)
    most_bytes = 100

    def admit(self, request: Request) -> None:
        if request.authorization != "key":
            raise not_found("no key")

    def answer(self, request: Request) -> Reply:
        return Reply(request.body)


class OneDoor:
    def __init__(self) -> None:
        self.nowhere: Route = Door()

    def find(self, target: bytes, request: Request) -> Route:
        request.path = target.decode("latin-1")
        return self.nowhere


class OpenDoor(Door):
    def admit(self, request: Request) -> None:
        """Lets everybody in."""


def reader(door: Route | None = None) -> RequestReader:
    routes = OneDoor()
    routes.nowhere = door or routes.nowhere
    return RequestReader(routes, "127.0.0.1", HEAD_LIMIT)


def seen(
    pieces: list[bytes], door: Route | None = None
) -> tuple[list[tuple[str, str, bytes, int, bool]], Stage]:
    read = reader(door)
    for piece in pieces:
        read.feed(piece)
    found = [
        (
            each.method,
            each.path,
            each.body,
            0 if each.problem is None else each.problem.status.value,
            each.keeps_alive,
        )
        for each in read.ready
    ]
    return found, read.stage


def post(body: bytes, *headers: bytes, path: bytes = b"/") -> bytes:
    lines = [b"POST %b HTTP/1.1" % path, b"Host: a", b"Authorization: key", *headers]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


CHUNKED = (
    b"POST /c HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nAuthorization: none\r\n\r\n"
)


def test_pipelined_requests_are_read_in_their_order() -> None:
    found, stage = seen([post(b"one", path=b"/1") + CHUNKED + post(b"", path=b"/3")])
    assert found == [
        ("POST", "/1", b"one", 0, True),
        ("POST", "/c", b"abcde", 0, True),
        ("POST", "/3", b"", 0, True),
    ]
    assert stage is Stage.BETWEEN


@settings(max_examples=200)
@given(st.lists(st.integers(0, 400)))
def test_how_bytes_are_cut_into_pieces_changes_nothing(cuts: list[int]) -> None:
    stream = post(b"one", path=b"/1") + CHUNKED + b"\r\n" + post(b"x" * 90, path=b"/3")
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    pieces = [stream[a:b] for a, b in pairwise(places)]
    assert seen(pieces) == seen([stream])


def test_one_byte_at_a_time() -> None:
    stream = post(b"one") + CHUNKED + post(b"two")
    assert seen([stream[i : i + 1] for i in range(len(stream))]) == seen([stream])


HEADS = [
    b"POST /a HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\nContent-Length: %d\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: a\r\ncontent-length:%d\r\nAuthorization: key\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: a\r\ncontent-length:%d\r\nAuthorization: kex\r\n\r\n",
    b"POST /b HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\nContent-Length: %d\r\n\r\n",
    b"PUT /a HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\nContent-Length: %d\r\n\r\n",
    b"POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: a\r\nX-Content-Length: 3\r\nContent-Length: 0%d\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
    b"\r\nPOST /a HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
]
BODIES = st.one_of(st.binary(max_size=110), st.sampled_from([b"\r\n\r\n", b"7\r\n\r\nabc"]))


@settings(max_examples=500)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(HEADS), BODIES, st.sampled_from([0, 0, 0, 0, -1, 1]),
            st.sampled_from([b"", b"", b"", b"\r\n", b"\r\n\r\n"]),
        ),
        max_size=6,
    )
)  # fmt: skip
def test_heads_that_come_again_are_read_as_the_first_time(
    requests: list[tuple[bytes, bytes, int, bytes]],
) -> None:
    """Shows it for heads that come by themselves, which may be known from the one before, and for
    those in one piece."""
    pieces = [
        head % max(len(body) + more, 0) + body + behind for head, body, more, behind in requests
    ]
    assert seen(pieces, OpenDoor()) == seen([b"".join(pieces)], OpenDoor())


def test_a_head_that_comes_again_needs_no_parser() -> None:
    read = reader()
    read.feed(post(b"one", b"X: y", path=b"/1"))
    del read._parser
    read.feed(post(b"twelve bytes", b"X: y", path=b"/1"))
    first, second = read.ready
    assert second.body == b"twelve bytes"
    for name in set(Request.__slots__) - {"body"}:
        assert getattr(second, name) == getattr(first, name)
    assert read.number == 2
    assert read.stage is Stage.BETWEEN


def test_a_request_that_comes_again_in_pieces_is_the_parsers() -> None:
    whole = post(b"one")
    for cut in range(1, len(whole)):
        found, _ = seen([whole, whole[:cut], whole[cut:], whole])
        assert [each[2] for each in found] == [b"one"] * 3


AMBIGUOUS = {
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\n",
    "the same length twice": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
    b"Content-Length: 3\r\n\r\n",
    "a list of lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n",
    "length and chunks": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "chunks and length": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Length: 3\r\n\r\n",
    "another coding first": b"POST / HTTP/1.1\r\nHost: a\r\n"
    b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks not last": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
    "unknown coding": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "identity": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "signed length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
    "negative length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n",
    "hexadecimal length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n",
    "huge length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "bare line feeds": b"POST / HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc",
    "one bare line feed": b"POST / HTTP/1.1\r\nHost: a\nContent-Length: 3\r\n\r\nabc",
    "bare return": b"POST / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
    "space before colon": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n",
    "folded line": b"POST / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
    "zero byte": b"POST / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
    "chunk size with line feed": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\nabc\n0\n\n",
    "negative chunk": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\n",
    "no host": b"POST / HTTP/1.1\r\n\r\n",
    "two hosts": b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "another version": b"GET / HTTP/1.2\r\nHost: a\r\n\r\n",
    "HTTP/2 at once": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "blank in the address": b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
}
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\n\r\n"


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_could_be_read_in_two_ways_is_refused_and_ends_the_connection(name: str) -> None:
    stream = post(b"ok") + AMBIGUOUS[name] + HIDDEN
    for pieces in ([stream], [stream[i : i + 1] for i in range(len(stream))]):
        found, stage = seen(pieces)
        assert found[0] == ("POST", "/", b"ok", 0, True)
        # 404: byte by byte, the missing key shows before the body does.
        assert [each[3] for each in found[1:]] in ([400], [413], [404]), found
        assert stage is Stage.OVER
        assert not any(each[1] == "/hidden" for each in found)


@settings(max_examples=500)
@given(st.data())
def test_mutated_requests_never_break_it(data: st.DataObject) -> None:
    stream = bytearray(post(b"one") + CHUNKED + post(b"two"))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(stream) - 1))
        piece = data.draw(st.sampled_from([b"", b"\n", b"\r", b"\0", b" ", b":", b"\xff", b"0"]))
        stream[place : place + data.draw(st.integers(0, 2))] = piece
    cut = data.draw(st.integers(0, len(stream)))
    door = OpenDoor()
    assert seen([bytes(stream[:cut]), bytes(stream[cut:])], door) == seen([bytes(stream)], door)


def test_key_is_asked_for_before_the_body_and_the_rest_is_read_over() -> None:
    read = reader()
    head, body = post(b"y" * 50).replace(b"Authorization: key\r\n", b"").split(b"\r\n\r\n")
    read.feed(head + b"\r\n\r\n")
    assert [each.problem and each.problem.status.value for each in read.ready] == [404]
    assert read.is_turned_away
    read.feed(body + post(b"next", path=b"/next"))
    assert [each.path for each in read.ready] == ["/", "/next"]
    assert read.ready[1].body == b"next"


def test_a_key_that_is_sent_twice_is_no_key() -> None:
    read = reader()
    read.feed(post(b"x", b"Authorization: key"))
    assert read.ready[0].authorization == ""


@pytest.mark.parametrize(
    "stream",
    [
        post(b"x" * 101),
        b"POST / HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"40\r\n" + b"x" * 64 + b"\r\n" + b"40\r\n" + b"x" * 64 + b"\r\n0\r\n\r\n",
    ],
)  # fmt: skip
def test_body_over_the_limit_is_refused_before_it_is_kept(stream: bytes) -> None:
    found, stage = seen([stream])
    assert [each[3] for each in found] == [413]
    assert stage is Stage.OVER


@pytest.mark.parametrize(
    "stream",
    [
        b"GET /" + b"x" * 3_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 3_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X%d: 1\r\n" % i for i in range(150)),
    ],
)
def test_head_over_the_limit_is_refused(stream: bytes) -> None:
    whole = stream if stream.endswith(b"\r\n\r\n") else stream + b"\r\n"
    for pieces in ([whole], [whole[i : i + 7] for i in range(0, len(whole), 7)]):
        found, stage = seen(pieces)
        assert [each[3] for each in found] == [431]
        assert stage is Stage.OVER


def test_continue_is_wanted_only_by_who_may_send() -> None:
    read = reader()
    head = post(b"x" * 10, b"Expect: 100-continue").split(b"\r\n\r\n")[0] + b"\r\n\r\n"
    read.feed(head)
    assert read.wants_continue
    read.feed(b"x" * 10)
    assert not read.wants_continue
    stranger = reader()
    stranger.feed(head.replace(b"Authorization: key\r\n", b""))
    assert not stranger.wants_continue
    assert stranger.stage is Stage.OVER


@pytest.mark.parametrize(
    ("head", "keeps_alive"),
    [
        (b"POST / HTTP/1.1\r\nHost: a", True),
        (b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close", False),
        (b"POST / HTTP/1.0", False),
        (b"POST / HTTP/1.0\r\nConnection: keep-alive", True),
    ],
)
def test_connection_is_kept_as_the_client_wishes(head: bytes, keeps_alive: bool) -> None:
    found, stage = seen([head + b"\r\nContent-Length: 2\r\n\r\nab"])
    assert [each[2:] for each in found] == [(b"ab", 0, keeps_alive)]
    assert (stage is Stage.BETWEEN) is keeps_alive


def test_a_refusal_says_what_is_wrong() -> None:
    read = reader()
    read.feed(AMBIGUOUS["two lengths"])
    problem = read.ready[0].problem
    assert isinstance(problem, ProblemError)
    assert "Content-Length" in problem.detail


UPGRADE = (
    b"POST /u HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nContent-Length: 3\r\n\r\nabc"
)


def test_another_protocol_is_not_taken_up_but_the_request_is_answered() -> None:
    """Java's client asks for HTTP/2 so."""
    stream = UPGRADE + post(b"next", path=b"/next")
    for pieces in ([stream], [stream[i : i + 1] for i in range(len(stream))]):
        found, stage = seen(pieces)
        assert [each[1:4] for each in found] == [("/u", b"abc", 0), ("/next", b"next", 0)]
        assert stage is Stage.BETWEEN


def test_connect_is_refused_and_ends_the_connection() -> None:
    found, stage = seen([b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n" + HIDDEN])
    assert [each[3] for each in found] == [405]
    assert stage is Stage.OVER


ENDLESS = {
    "blank lines": (b"", b"\r\n", 400),
    "name of a field": (b"POST / HTTP/1.1\r\nHost: a\r\n", b"x" * 100, 431),
    "value of a field": (b"POST / HTTP/1.1\r\nHost: a\r\nX: ", b"x" * 100, 431),
    "address": (b"POST /", b"x" * 100, 431),
    "field after the body": (CHUNKED[: CHUNKED.index(b"0\r\n")] + b"0\r\nX: ", b"x" * 100, 400),
    "fields after the body": (CHUNKED[: CHUNKED.index(b"0\r\n")] + b"0\r\n", b"X: y\r\n", 400),
    "extension of a chunk": (CHUNKED[: CHUNKED.index(b"3;")] + b"3;x=", b"y" * 100, 400),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_cut_off(name: str) -> None:
    """Cuts it off, because the parser would keep it all, and take the longer for each piece the
    more it has."""
    start, piece, status = ENDLESS[name]
    read = reader()
    read.feed(start)
    for _ in range(20 * HEAD_LIMIT // len(piece)):
        read.feed(piece)
    problem = read.ready[0].problem
    assert problem is not None
    assert problem.status.value == status
    assert read.stage is Stage.OVER


def test_a_head_just_below_the_limit_is_read_however_it_comes() -> None:
    stream = post(b"x" * 90, b"X: " + b"y" * (HEAD_LIMIT - 200)) * 3
    for size in (len(stream), 1_000, 100, 7):
        found, _ = seen([stream[i : i + size] for i in range(0, len(stream), size)])
        assert [each[3] for each in found] == [0, 0, 0]


def test_bodies_in_the_smallest_chunks_are_read() -> None:
    head = CHUNKED[: CHUNKED.index(b"3;")]
    stream = head + b"1\r\nx\r\n" * 100 + b"0\r\n\r\n"
    for size in (len(stream), 10, 1):
        found, _ = seen([stream[i : i + size] for i in range(0, len(stream), size)])
        assert [each[2:4] for each in found] == [(b"x" * 100, 0)]


def test_who_waits_for_our_word_and_asks_wrongly_is_not_kept() -> None:
    read = reader()
    head = post(b"x" * 10, b"Expect: 100-continue").split(b"\r\n\r\n")[0] + b"\r\n\r\n"
    read.feed(head.replace(b"POST", b"PUT"))
    assert read.stage is Stage.OVER
