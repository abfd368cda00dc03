"""Requests to a cloud without its SDK: over the shared connections, as the SDK would send them.

Importing an SDK takes longer than all the rest that is done before a request, so a program that
asks once does without. ``tests/providers/test_plain.py`` holds what is sent against the SDK's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from .errors import ErrorFactory
from .http import Http

if TYPE_CHECKING:
    import httpx2

JSON = "application/json"


class Refused(Exception):
    """An answer that is no success, as it came; its body is JSON or text."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(response.status_code)
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        text = response.text if response.is_stream_consumed else ""
        self.body: object = text
        with suppress(ValueError, RecursionError):  # else it is a page, or nothing
            self.body = json.loads(text)


async def send(
    http: Http,
    errors: ErrorFactory,
    url: str,
    headers: Mapping[str, str],
    content: bytes | None = None,
) -> httpx2.Response:
    """Post ``content``, or get; the body of the answer comes as it is read.

    Raises Refused, ProviderError (no_key) without a key, and what the connection raises.
    """
    if not errors.key.strip():
        raise errors.error("no_key")
    client = await http.client()
    sent = {"accept": JSON, "content-type": JSON, **headers}
    method = "GET" if content is None else "POST"
    request = client.build_request(method, url, headers=sent, content=content)
    response = await client.send(request, stream=True)
    if response.is_success:
        return response
    try:
        await response.aread()
    finally:
        await response.aclose()
    raise Refused(response)
