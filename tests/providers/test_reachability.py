"""Whether a server takes connections, without a request (H-5)."""

from __future__ import annotations

import socket

import pytest

from studio.providers.reachability import is_reachable


async def test_a_server_is_reachable_while_it_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        assert await is_reachable(address)
    assert not await is_reachable(address)


@pytest.mark.parametrize(
    "address",
    ["", "here", "http://[::1", "http://localhost:99999", "http://a..b", f"http://{'a' * 70}.b"],
)
async def test_an_address_that_cannot_be_read_is_left_to_the_request(address: str) -> None:
    assert await is_reachable(address)
