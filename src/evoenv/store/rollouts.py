"""Rollouts that stay in the store until somebody looks at them.

At the paper's limits a step has 9.4 million trained tokens. Who reads its groups wants rewards and lengths of all of
them, and the tokens of a few at a time.
"""

from __future__ import annotations

from array import array
from weakref import WeakValueDictionary

from evoenv.errors import StoreError
from evoenv.records import Rollout
from evoenv.store.database import Database
from evoenv.store.packing import unpack_rollout


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

    __slots__ = ("_held", "_index", "_lengths", "_request_id", "_rollouts")

    # The values are frozen, as in the base class; whether they are in memory is not.
    __setattr__ = object.__setattr__

    def __init__(self, rollouts: StoredRollouts, request_id: str, index: int) -> None:
        self._rollouts = rollouts
        self._request_id = request_id
        self._index = index
        self._held: Rollout | None = None
        self._lengths: tuple[int, int] | None = None

    def _read(self) -> Rollout:
        if self._held is None:
            self._held = self._rollouts.read(self._request_id, self._index)
            self._lengths = self._held.lengths
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

    def release(self) -> None:
        self._held = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rollout) and self._read() == (
            other._read() if isinstance(other, StoredRollout) else other
        )

    __hash__ = Rollout.__hash__
