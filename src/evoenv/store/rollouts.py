"""Rollouts and texts that stay in the store until somebody looks at them.

At the paper's limits a step has 9.4 million trained tokens. Who reads its groups wants rewards and lengths of all of
them, and the tokens of a few at a time.
"""

from __future__ import annotations

from array import array
from weakref import WeakValueDictionary

from evoenv.errors import StoreError
from evoenv.records import FinishReason, Rollout, Sample
from evoenv.store.database import Database
from evoenv.store.packing import unpack_rollout, unpack_text


class StoredRollouts:
    """Reads single rollouts; those of one request share their prompt as long as they are in memory together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._prompts: WeakValueDictionary[str, array[int]] = WeakValueDictionary()

    def read(self, request_id: str, index: int) -> Rollout:
        rows = self._database.query("SELECT data FROM rollouts WHERE request_id = ? AND idx = ?", (request_id, index))
        if not rows:
            raise StoreError(
                f"sample {index} of request {request_id!r} has no rollout any more: a checkpoint has made it needless"
            )
        rollout = unpack_rollout(rows[0][0])
        prompt_ids = self._prompts.setdefault(request_id, rollout.prompt_ids)
        if prompt_ids != rollout.prompt_ids:
            return rollout
        return Rollout(prompt_ids, rollout.token_ids, rollout.logprobs, rollout.temperature)


class StoredRollout(Rollout):
    """One of them: read when it is first looked at, held until `release`, read again after that."""

    __slots__ = ("_bounds", "_held", "_index", "_lengths", "_request_id", "_rollouts")

    # The values are frozen, as in the base class; whether they are in memory is not.
    __setattr__ = object.__setattr__

    def __init__(self, rollouts: StoredRollouts, request_id: str, index: int) -> None:
        self._rollouts = rollouts
        self._request_id = request_id
        self._index = index
        self._held: Rollout | None = None
        self._lengths: tuple[int, int] | None = None
        self._bounds: tuple[int, int] | None = None

    def _read(self) -> Rollout:
        if self._held is None:
            self._held = self._rollouts.read(self._request_id, self._index)
            if self._lengths is None:  # what checks ask for is remembered, and need not be read again
                self._lengths, self._bounds = self._held.lengths, self._held.bounds
        return self._held

    @property
    def prompt_ids(self) -> array[int]:
        return self._read().prompt_ids

    @property
    def token_ids(self) -> array[int]:
        return self._read().token_ids

    @property
    def logprobs(self) -> array[float]:
        return self._read().logprobs

    @property
    def temperature(self) -> float:
        return self._read().temperature

    @property
    def lengths(self) -> tuple[int, int]:
        return self._lengths or self._read().lengths

    @property
    def bounds(self) -> tuple[int, int]:
        return self._bounds or self._read().bounds

    def release(self) -> None:
        self._held = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rollout) and self._read() == (
            other._read() if isinstance(other, StoredRollout) else other
        )

    __hash__ = Rollout.__hash__


class StoredSample(Sample):
    """A sample whose text is read whenever somebody looks at it, and held by nobody. Of use in the store's thread."""

    __slots__ = ("_database",)
    _database: Database

    def __init__(
        self,
        database: Database,
        request_id: str,
        index: int,
        finish_reason: FinishReason,
        tokens: int,
        version: int,
        rollout: Rollout | None,
    ) -> None:
        values = {
            "_database": database,
            "request_id": request_id,
            "index": index,
            "finish_reason": finish_reason,
            "tokens": tokens,
            "version": version,
            "rollout": rollout,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)  # frozen, as the base class

    @property
    def text(self) -> str:
        rows = self._database.query(
            "SELECT text FROM samples WHERE request_id = ? AND idx = ?", (self.request_id, self.index)
        )
        return unpack_text(rows[0][0])
