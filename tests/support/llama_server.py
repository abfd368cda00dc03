"""A server that nobody here wrote: llama.cpp's own, with small or random weights."""

from __future__ import annotations

import contextlib
import math
import os
import random
import struct
from array import array
from collections.abc import AsyncIterator
from pathlib import Path

import studio
from studio.providers.local_model.adapter import ModelProcess
from studio.providers.local_model.process import Running, packaged_gguf

RESOURCES = Path(studio.__file__).parents[1] / "resources"
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}<assistant>"
)


@contextlib.asynccontextmanager
async def llama_server(gguf: Path) -> AsyncIterator[Running]:
    """The server of a file in a child process."""
    model = ModelProcess(gguf, RESOURCES, dict(os.environ))
    try:
        async with model.in_use() as server:
            yield server
    finally:
        await model.aclose()


def random_gguf(file: Path, seed: int, parts: int = 1) -> Path:
    """A model of random weights: a llama of one layer that speaks in bytes.

    Written by the GGUF specification, version 3: what it says is noise, broken
    UTF-8 included. Of several ``parts`` the first is returned.
    """
    chance = random.Random(seed)
    width, heads, hidden, context = 32, 2, 64, 8192
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    facts: list[tuple[str, int, object]] = [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "noise"),
        ("llama.context_length", UINT32, context),
        ("llama.embedding_length", UINT32, width),
        ("llama.block_count", UINT32, 1),
        ("llama.feed_forward_length", UINT32, hidden),
        ("llama.attention.head_count", UINT32, heads),
        ("llama.attention.head_count_kv", UINT32, heads),
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        ("llama.rope.dimension_count", UINT32, width // heads),
        ("llama.vocab_size", UINT32, len(tokens)),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", STRING | MANY, tokens),
        ("tokenizer.ggml.scores", FLOAT32 | MANY, [0.0] * len(tokens)),
        ("tokenizer.ggml.token_type", INT32 | MANY, [2, 3, 3, *([6] * 256)]),
        ("tokenizer.ggml.bos_token_id", UINT32, 1),
        ("tokenizer.ggml.eos_token_id", UINT32, 2),
        ("tokenizer.ggml.unknown_token_id", UINT32, 0),
        ("tokenizer.chat_template", STRING, TEMPLATE),
    ]
    tensors: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (width, len(tokens))),
        ("output_norm.weight", (width,)),
        ("output.weight", (width, len(tokens))),
        ("blk.0.attn_norm.weight", (width,)),
        *((f"blk.0.attn_{name}.weight", (width, width)) for name in ("q", "k", "v", "output")),
        ("blk.0.ffn_norm.weight", (width,)),
        ("blk.0.ffn_gate.weight", (width, hidden)),
        ("blk.0.ffn_up.weight", (width, hidden)),
        ("blk.0.ffn_down.weight", (hidden, width)),
    ]
    made = [(name, shape, _noise(chance, shape)) for name, shape in tensors]
    if parts == 1:
        file.write_bytes(_gguf(facts, made))
        return file
    each = -(-len(made) // parts)
    for part in range(parts):
        split: list[tuple[str, int, object]] = [
            ("split.no", UINT16, part),
            ("split.count", UINT16, parts),
            ("split.tensors.count", INT32, len(made)),
        ]
        own = [*facts, *split] if part == 0 else split
        whole = _gguf(own, made[part * each : (part + 1) * each])
        file.with_stem(f"{file.stem}-{part + 1:05d}-of-{parts:05d}").write_bytes(whole)
    return file.with_stem(f"{file.stem}-00001-of-{parts:05d}")


def random_projector(file: Path, seed: int) -> Path:
    """What turns pictures into the tokens of ``random_gguf``: eyes of one layer, noise as well."""
    chance = random.Random(seed)
    width, hidden, patch, side, out = 16, 32, 14, 4, 32
    facts: list[tuple[str, int, object]] = [
        ("general.architecture", STRING, "clip"),
        ("clip.has_vision_encoder", BOOL, True),
        ("clip.projector_type", STRING, "mlp"),
        ("clip.use_gelu", BOOL, True),
        ("clip.vision.image_size", UINT32, side * patch),
        ("clip.vision.patch_size", UINT32, patch),
        ("clip.vision.embedding_length", UINT32, width),
        ("clip.vision.feed_forward_length", UINT32, hidden),
        ("clip.vision.projection_dim", UINT32, out),
        ("clip.vision.block_count", UINT32, 1),
        ("clip.vision.attention.head_count", UINT32, 2),
        ("clip.vision.attention.layer_norm_epsilon", FLOAT32, 1e-5),
        ("clip.vision.image_mean", FLOAT32 | MANY, [0.5] * 3),
        ("clip.vision.image_std", FLOAT32 | MANY, [0.5] * 3),
    ]
    tensors: list[tuple[str, tuple[int, ...]]] = [
        ("v.patch_embd.weight", (patch, patch, 3, width)),
        ("v.patch_embd.bias", (width,)),
        ("v.position_embd.weight", (width, side * side)),
        ("mm.0.weight", (width, out)),
        ("mm.0.bias", (out,)),
        ("mm.2.weight", (out, out)),
        ("mm.2.bias", (out,)),
    ]
    shapes = {f"attn_{name}": (width, width) for name in ("q", "k", "v", "out")}
    shapes |= {"ffn_up": (width, hidden), "ffn_down": (hidden, width)}
    for name, shape in shapes.items():
        tensors.append((f"v.blk.0.{name}.weight", shape))
        tensors.append((f"v.blk.0.{name}.bias", shape[1:]))
    for name in ("v.blk.0.ln1", "v.blk.0.ln2", "v.post_ln"):
        tensors += [(f"{name}.weight", (width,)), (f"{name}.bias", (width,))]
    file.write_bytes(
        _gguf(facts, [(name, shape, _noise(chance, shape)) for name, shape in tensors])
    )
    return file


def _noise(chance: random.Random, shape: tuple[int, ...]) -> bytes:
    count = math.prod(shape)
    return _aligned(array("f", (chance.gauss(0, 1) for _ in range(count))).tobytes())


def _gguf(
    facts: list[tuple[str, int, object]], tensors: list[tuple[str, tuple[int, ...], bytes]]
) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    head += b"".join(_fact(*fact) for fact in facts)
    data = b""
    for name, shape, values in tensors:
        head += _text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        data += values
    return _aligned(head) + data


def smollm2_gguf(file: Path, layers: int = 30, template: Path | None = None) -> Path:
    """A copy of SmolLM2 with another chat template, or with its first layers only.

    With one layer it reads the same tokens in no time; what it says is of no use.
    """
    whole = packaged_gguf().read_bytes()
    _, _, tensors, facts = struct.unpack_from("<4sIQQ", whole)
    at = whole.index(_text("token_embd.weight"))
    told = whole[24:at]
    count = _text("llama.block_count") + struct.pack("<I", UINT32)
    told = told.replace(count + struct.pack("<I", 30), count + struct.pack("<I", layers))
    if template is not None:
        before, key, after = told.partition(
            _text("tokenizer.chat_template") + struct.pack("<I", STRING)
        )
        old = 8 + struct.unpack_from("<Q", after)[0]
        told = before + key + _text(template.read_text("utf-8")) + after[old:]
    infos: list[tuple[bytes, int]] = []
    """How each tensor is described, and where its data begins."""
    for _ in range(tensors):
        start, at = at, at + 8 + struct.unpack_from("<Q", whole, at)[0]
        at += 4 + 8 * struct.unpack_from("<I", whole, at)[0] + 4
        infos.append((whole[start:at], struct.unpack_from("<Q", whole, at)[0]))
        at += 8
    data = whole[at + -at % 32 :]
    ends = [*(offset for _, offset in infos[1:]), len(data)]
    dropped = tuple(b"blk.%d." % layer for layer in range(layers, 30))
    head, body = b"", bytearray()
    kept = [
        (info, data[offset:end])
        for (info, offset), end in zip(infos, ends, strict=True)
        if not info[8:].startswith(dropped)
    ]
    for info, values in kept:
        head += info + struct.pack("<Q", len(body))
        body += _aligned(values)
    head = whole[:4] + struct.pack("<IQQ", 3, len(kept), facts) + told + head
    file.write_bytes(_aligned(head) + body)
    return file


UINT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 2, 4, 5, 6, 7, 8, 9
MANY = 0x100
_FORMATS = {UINT16: "<H", UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % 32)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind: int, value: object) -> bytes:
    return _text(str(value)) if kind == STRING else struct.pack(_FORMATS[kind], value)


def _fact(name: str, kind: int, value: object) -> bytes:
    if not kind & MANY:
        return _text(name) + struct.pack("<I", kind) + _value(kind, value)
    assert isinstance(value, list)
    head = struct.pack("<IIQ", ARRAY, kind & 0xFF, len(value))
    return _text(name) + head + b"".join(_value(kind & 0xFF, one) for one in value)
