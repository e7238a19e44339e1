"""Texts and arrays as compact database values."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evoenv.records import Sample

_COMPRESS_FROM = 128
"""Below this many bytes zlib's own overhead eats what it saves."""

Packed = str | bytes


def pack_text(text: str) -> Packed:
    """Plain text where it is short (readable with any SQLite tool), zlib where it is long.

    Model output may hold lone surrogates, which SQLite's text cannot: those go the binary way too.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) < _COMPRESS_FROM and b"\x00" not in raw:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return zlib.compress(raw, 6)


def unpack_text(packed: Packed) -> str:
    return packed if isinstance(packed, str) else zlib.decompress(packed).decode("utf-8", "surrogatepass")


def pack_vector(vector: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def unpack_vector(blob: bytes) -> NDArray[np.float32]:
    return np.frombuffer(blob, dtype="<f4").astype(np.float32, copy=False)


def pack_rollout(sample: Sample) -> bytes:
    """Token ids, log-probabilities and temperature, to the bit: a resumed update must see what the sampler saw."""
    reals = array("d", [sample.temperature, *sample.logprobs])
    parts = (_ints(sample.prompt_ids), _ints(sample.token_ids), reals.tobytes())
    header = array("I", [len(part) for part in parts]).tobytes()
    return zlib.compress(header + b"".join(parts), 1)


def with_rollout(sample: Sample, blob: bytes) -> Sample:
    """The sample with the tokens that `pack_rollout` kept of it."""
    raw = zlib.decompress(blob)
    lengths = array("I")
    width = 3 * lengths.itemsize
    lengths.frombytes(raw[:width])
    prompt_end = width + lengths[0]
    token_end = prompt_end + lengths[1]
    reals = array("d")
    reals.frombytes(raw[token_end : token_end + lengths[2]])
    return replace(
        sample,
        prompt_ids=_from_ints(raw[width:prompt_end]),
        token_ids=_from_ints(raw[prompt_end:token_end]),
        logprobs=tuple(reals[1:]),
        temperature=reals[0],
    )


def _ints(values: Sequence[int]) -> bytes:
    return array("i", values).tobytes()


def _from_ints(raw: bytes) -> tuple[int, ...]:
    values = array("i")
    values.frombytes(raw)
    return tuple(values)
