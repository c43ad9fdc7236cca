"""Every hello answers as many bytes as its address says, on our connections and on others'."""

from __future__ import annotations

import urllib.request

import pytest

from bench.load_eligibility import HELLO, OTHERS, serve


@pytest.mark.parametrize("name", ["hello", "uvicorn", "granian WSGI, 1 thread"])
@pytest.mark.parametrize("length", [5, 4_567, 450_000])
def test_answers_as_many_bytes_as_the_address_says(name: str, length: int) -> None:
    with serve((HELLO | OTHERS)[name], {}) as server:
        address = f"http://127.0.0.1:{server.port}/{length}"
        with urllib.request.urlopen(address, data=b"{}" * 100_000, timeout=30) as response:
            assert len(response.read()) == length
