"""Texts and arrays as compact database values."""

from __future__ import annotations

import zlib
from array import array

import numpy as np
from numpy.typing import NDArray

from evoenv.records import Rollout

_COMPRESS_FROM = 128
"""Below this many bytes zlib's own overhead eats what it saves."""

Packed = str | bytes


def pack_text(text: str) -> Packed:
    """Pack a short text as it is (readable with any SQLite tool), a long one with zlib.

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


def text_holds(packed: Packed | None, wanted: str) -> bool:
    """Return whether a packed text holds `wanted`, which is in lower case; capitals in the text do not matter."""
    return packed is not None and wanted in unpack_text(packed).lower()


def pack_vector(vector: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def unpack_vector(blob: bytes) -> NDArray[np.float32]:
    return np.frombuffer(blob, dtype="<f4").astype(np.float32, copy=False)


def pack_rollout(rollout: Rollout) -> bytes:
    """Pack token ids, log-probabilities and temperature to the bit: a resumed update must see what the sampler saw."""
    reals = array("d", [rollout.temperature]) + rollout.logprobs
    parts = (rollout.prompt_ids.tobytes(), rollout.token_ids.tobytes(), reals.tobytes())
    header = array("I", [len(part) for part in parts]).tobytes()
    return zlib.compress(header + b"".join(parts), 1)


def unpack_rollout(blob: bytes) -> Rollout:
    """Return the rollout that `pack_rollout` kept."""
    raw = zlib.decompress(blob)
    lengths = array("I")
    width = 3 * lengths.itemsize
    lengths.frombytes(raw[:width])
    prompt_end = width + lengths[0]
    token_end = prompt_end + lengths[1]
    reals = array("d")
    reals.frombytes(raw[token_end : token_end + lengths[2]])
    return Rollout(_ints(raw[width:prompt_end]), _ints(raw[prompt_end:token_end]), reals[1:], reals[0])


def _ints(raw: bytes) -> array[int]:
    values = array("i")
    values.frombytes(raw)
    return values
