"""Model lists: answers the listing requests of each API, in pages.

Some of the listed models are no chat models, as with the real providers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .endpoint import json_answer, json_line
from .http import HttpRequest, HttpResponse
from .json_read import Body
from .ollama.request_checks import capabilities
from .request_checks import RequestRefused
from .request_view import ApiName

DEMO = ("demo-fast", "demo-thinker", "demo-tools")

ANTHROPIC = (
    ("demo-fast", "Demo fast", 200_000, 8_192, False),
    ("demo-thinker", "Demo thinker", 200_000, 64_000, True),
    ("demo-tools", "Demo tools", 200_000, 8_192, False),
    ("claude-opus-5-5", "Claude Opus 5.5", 1_000_000, 128_000, True),
    ("claude-sonnet-5-5", "Claude Sonnet 5.5", 1_000_000, 64_000, True),
    ("claude-haiku-5-5", "Claude Haiku 5.5", 200_000, 64_000, True),
    ("claude-haiku-4-5-20251001", "Claude Haiku 4.5", 200_000, 64_000, True),
    ("sim-preserved-1", "Simulated with preserved thinking", 200_000, 64_000, True),
)
OPENAI_CHAT = (*DEMO, "gpt-5.6", "gpt-5.6-mini", "gpt-4o", "o4-mini", "gpt-4o-search-preview")
OPENAI_OTHER = (
    "text-embedding-3-small",
    "text-embedding-3-large",
    "text-embedding-ada-002",
    "whisper-1",
    "tts-1",
    "tts-1-hd",
    "dall-e-2",
    "dall-e-3",
    "gpt-image-1",
    "gpt-audio",
    "gpt-4o-mini-tts",
    "gpt-4o-transcribe",
    "gpt-4o-realtime-preview",
    "omni-moderation-latest",
    "babbage-002",
    "davinci-002",
    "gpt-3.5-turbo-instruct",
    "sora-2",
    "computer-use-preview",
)
_CHAT_METHODS = ("generateContent", "countTokens", "createCachedContent", "batchGenerateContent")
GEMINI: tuple[tuple[str, str, int, int, tuple[str, ...], bool], ...] = (
    ("demo-fast", "Demo fast", 1_048_576, 8_192, _CHAT_METHODS, False),
    ("demo-thinker", "Demo thinker", 1_048_576, 65_536, _CHAT_METHODS, True),
    ("demo-tools", "Demo tools", 1_048_576, 8_192, _CHAT_METHODS, False),
    ("gemini-3-pro-preview", "Gemini 3 Pro Preview", 1_048_576, 65_536, _CHAT_METHODS, True),
    ("gemini-2.5-flash", "Gemini 2.5 Flash", 1_048_576, 65_536, _CHAT_METHODS, True),
    ("sim-gemini-3", "Simulated Gemini 3", 1_048_576, 65_536, _CHAT_METHODS, True),
    ("sim-gemini-3-mixed", "Simulated, ids now and then", 1_048_576, 65_536, _CHAT_METHODS, True),
    ("sim-gemini-25", "Simulated Gemini 2.5", 1_048_576, 65_536, _CHAT_METHODS, False),
    ("gemini-embedding-001", "Gemini Embedding 001", 2_048, 1, ("embedContent",), False),
    ("imagen-4.0-generate-001", "Imagen 4", 480, 8_192, ("predict",), False),
    ("veo-3.1-generate-preview", "Veo 3.1", 480, 8_192, ("predictLongRunning",), False),
    ("aqa", "Attributed question answering", 7_168, 1_024, ("generateAnswer",), False),
)
OLLAMA = (
    ("demo-fast:latest", "llama", 8_192),
    ("demo-thinker:latest", "llama", 131_072),
    ("demo-tools:latest", "llama", 131_072),
    ("sim-plain:latest", "gemma", 8_192),
    ("sim-embed:latest", "bert", 2_048),
)


def models_answer(
    api: ApiName,
    request: HttpRequest,
    page_size: int,
    endless: bool = False,
    deleted: Collection[str] = (),
) -> HttpResponse:
    """One page of an API's model list; ``endless`` ones begin again and again."""
    match api:
        case "anthropic":
            return _anthropic(request.query, page_size, endless)
        case "gemini":
            return _gemini(request.query, page_size, endless)
        case "ollama":
            return json_answer(
                {"models": [_ollama(*row) for row in OLLAMA if row[0] not in deleted]}
            )
        case _:
            ids = (*OPENAI_CHAT, *OPENAI_OTHER)
            return json_answer({"object": "list", "data": [_openai(id_) for id_ in ids]})


def _anthropic(query: dict[str, str], page_size: int, endless: bool) -> HttpResponse:
    ids = [row[0] for row in ANTHROPIC]
    start = ids.index(query["after_id"]) + 1 if query.get("after_id") in ids else 0
    # The page size of the test is an upper bound, so that paging can be seen.
    count = min(int(query.get("limit", "20")), page_size)
    rows = ANTHROPIC[start : start + count] or (ANTHROPIC[:count] if endless else ())
    data = [_claude(*row) for row in rows]
    return json_answer(
        {
            "data": data,
            "has_more": endless or start + count < len(ids),
            "first_id": rows[0][0] if rows else None,
            "last_id": rows[-1][0] if rows else None,
        }
    )


def _claude(id_: str, name: str, window: int, output: int, thinks: bool) -> Body:
    yes, no = {"supported": True}, {"supported": False}
    thinking = {"supported": thinks}
    kinds = dict.fromkeys(("adaptive", "enabled", "disabled", "between_tools"), thinking)
    levels = dict.fromkeys(("low", "medium", "high", "max", "xhigh"), thinking)
    return {
        "type": "model",
        "id": id_,
        "display_name": name,
        "created_at": "2026-10-01T00:00:00Z",
        "lifecycle": "active",
        "deprecated_at": None,
        "retires_at": None,
        "line": None,
        "max_input_tokens": window,
        "max_tokens": output,
        "capabilities": {
            "batch": yes,
            "citations": yes,
            "code_execution": no,
            "context_management": {"supported": False},
            "effort": {"supported": thinks, **levels},
            "image_input": yes,
            "pdf_input": yes,
            "server_tools": no,
            "structured_outputs": yes,
            "thinking": {"supported": thinks, "types": kinds},
        },
    }


def _openai(id_: str) -> Body:
    return {
        "id": id_,
        "object": "model",
        "created": 1_790_000_000,
        "owned_by": "simulator",
        "shutdown_date": None,
    }


def _gemini(query: dict[str, str], page_size: int, endless: bool) -> HttpResponse:
    token = query.get("pageToken", "")
    start = int(token) if token.isdigit() else 0
    count = min(int(query.get("pageSize", "50")), page_size)
    body: Body = {"models": [_google(*row) for row in GEMINI[start : start + count]]}
    if endless or start + count < len(GEMINI):
        body["nextPageToken"] = str((start + count) % len(GEMINI))
    return json_answer(body)


def _google(
    id_: str, name: str, window: int, output: int, methods: Sequence[str], thinks: bool
) -> Body:
    return {
        "name": f"models/{id_}",
        "version": "001",
        "displayName": name,
        "description": "Simulated.",
        "inputTokenLimit": window,
        "outputTokenLimit": output,
        "supportedGenerationMethods": list(methods),
        "temperature": 1,
        "thinking": thinks,
    }


def _ollama(name: str, family: str, window: int) -> Body:
    return {
        "name": name,
        "model": name,
        "modified_at": "2026-11-01T00:00:00Z",
        "size": 1_000_000_000,
        "digest": "0" * 64,
        "details": _details(family),
        "capabilities": list(capabilities(name)),
        "context_length": window,
    }


def _details(family: str) -> Body:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": "1B",
        "quantization_level": "Q4_K_M",
    }


def show_answer(body: Body) -> HttpResponse:
    """Ollama's facts about one model; RequestRefused (404) for one it has not."""
    wanted = str(body.get("model") or body.get("name") or "")
    for name, family, window in OLLAMA:
        if wanted in (name, name.removesuffix(":latest")):
            return json_answer(
                {
                    "license": "",
                    "modelfile": "",
                    "parameters": "",
                    "template": "{{ .Prompt }}",
                    "details": _details(family),
                    "model_info": {
                        "general.architecture": family,
                        f"{family}.context_length": window,
                    },
                    "capabilities": list(capabilities(name)),
                    "modified_at": "2026-11-01T00:00:00Z",
                }
            )
    raise RequestRefused("model", f"model '{wanted}' not found", status=404)


def delete_answer(body: Body, deleted: set[str]) -> HttpResponse:
    """Ollama deletes a model; RequestRefused (404) for one it has not."""
    wanted = str(body.get("model") or body.get("name") or "")
    for name, _family, _window in OLLAMA:
        if wanted in (name, name.removesuffix(":latest")) and name not in deleted:
            deleted.add(name)
            return HttpResponse([], content_type="text/plain")
    raise RequestRefused("model", f"model '{wanted}' not found", status=404)


def pull_answer(body: Body) -> HttpResponse:
    """Ollama fetches a model: a line for each step, with bytes done of bytes in all.

    A model whose name begins with ``missing`` ends in an error, as it does in
    the middle of a stream there.
    """
    wanted = str(body.get("model") or body.get("name") or "")
    if not wanted:
        raise RequestRefused("parameter", "model is required")
    digest, size = "sha256:" + "0" * 64, 1_000_000_000
    layer: Body = {"status": "pulling " + digest[7:19], "digest": digest, "total": size}
    rows: list[Body] = [{"status": "pulling manifest"}]
    if wanted.startswith("missing"):
        rows.append({"error": "pull model manifest: file does not exist"})
    else:
        rows += [layer, *({**layer, "completed": size * part // 4} for part in range(1, 5))]
        rows += [{"status": name} for name in ("verifying sha256 digest", "writing manifest")]
        rows.append({"status": "success"})
    if body.get("stream") is False:
        return json_answer(rows[-1], 500 if "error" in rows[-1] else 200)
    frames = [json_line(row, 1.0) for row in rows]
    return HttpResponse(frames, content_type="application/x-ndjson")
