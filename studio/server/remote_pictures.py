"""Remote pictures: fetches the pictures that a request names by their address.

The rules of the web hold (T-8): no address of a private network, also after a redirect, and
limits of size and time. What a rule for the tool ``fetch`` denies is not fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.permission.policy import Policy
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Image
from studio.domain.tools import ToolSpec
from studio.providers.media import base64_text, data_url
from studio.tools.web import Web, WebPage

from .contract import BadRequest

MOST = 20
"""Pictures of one request that are fetched."""
AT_ONCE = 4
_FETCH = ToolSpec("fetch", "", {}, effect="fetch", target="url")


@dataclass(frozen=True, slots=True)
class RemotePicture:
    """A place in a request's JSON that names a picture by its address."""

    url: str
    holder: JsonObject
    field: str
    """Empty where the whole ``holder`` is the source, as in Anthropic's API."""

    def put(self, image: Image) -> None:
        """Have the request hold the picture itself."""
        if self.field:
            self.holder[self.field] = data_url(image)
            return
        data: JsonObject = {"media_type": image.media_type, "data": base64_text(image.data)}
        self.holder.clear()
        self.holder.update({"type": "base64", **data})


def remote_pictures(body: JsonObject) -> list[RemotePicture]:
    """The pictures that are named by address, in any of the APIs."""
    return [one for name in ("messages", "input") for one in _pictures(body.get(name))]


def _pictures(value: Json) -> Iterator[RemotePicture]:
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        match item.get("type"):
            case "image_url" | "input_image":
                inner = item.get("image_url")
                place = (inner, "url") if isinstance(inner, dict) else (item, "image_url")
                yield from _remote(*place, place[1])
            case "image" if isinstance(source := item.get("source"), dict):
                if source.get("type") == "url":
                    yield from _remote(source, "url", "")
            case _:
                yield from _pictures(item.get("content"))
                yield from _pictures(item.get("output"))


def _remote(holder: JsonObject, name: str, field: str) -> Iterator[RemotePicture]:
    url = holder.get(name)
    if isinstance(url, str) and url[:8].lower().startswith(("https://", "http://")):
        yield RemotePicture(url, holder, field)


async def fetch_pictures(engine: Engine, folder: Path, wanted: list[RemotePicture]) -> None:
    """Put the pictures into the request; raises BadRequest for what cannot be fetched."""
    urls = list(dict.fromkeys(picture.url for picture in wanted))
    if len(urls) > MOST:
        raise _refused(f"At most {MOST} pictures of a request are fetched. Send the data itself.")
    layers = await engine.services.rules.layers(folder)
    policy = Policy("ask", layers.rules).within(engine.services.client_policy())
    gate = asyncio.Semaphore(AT_ONCE)

    async def fetch(url: str) -> Image:
        async with gate:
            return await _fetch(engine.services.web, policy, url)

    found = await asyncio.gather(*map(fetch, urls), return_exceptions=True)
    images: dict[str, Image] = {}
    for url, image in zip(urls, found, strict=True):
        if isinstance(image, BaseException):
            raise image
        images[url] = image

    def put() -> None:
        for picture in wanted:
            picture.put(images[picture.url])

    await asyncio.to_thread(put)


async def _fetch(web: Web, policy: Policy, url: str) -> Image:
    async def allowed(address: str) -> bool:
        decision = await asyncio.to_thread(policy.decide, _FETCH, {"url": address})
        if decision.verdict == "deny":
            raise ToolFailed(f"{address} may not be fetched here. {decision.why}".rstrip())
        return True

    try:
        await allowed(url)
        page = await web.page(url, may=allowed)
    except ToolFailed as error:
        raise _refused(f"A picture cannot be fetched: {error}") from error
    assert isinstance(page, WebPage)  # redirects are followed wherever they are allowed
    if not page.ok:
        raise _refused(f"A picture cannot be fetched: {page.url} answers “{page.status}”.")
    if not page.images:
        raise _refused(f"What is at {page.url} is no picture that can be read: {page.kind}.")
    return page.images[0]


def _refused(why: str) -> BadRequest:
    return BadRequest(why, code="invalid_image_url")
