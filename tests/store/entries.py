"""Small requests, samples and sources for the tests of the store."""

from __future__ import annotations

from evoenv.ids import GeneratorRequestId
from evoenv.records import Message, Request, Rollout, Sample


def request(name="r1", count=2):
    return Request(name, "generator", (Message("system", "s"), Message("user", "ü" * 300)), count=count)


def sample(name="r1", index=0, text="hello"):
    rollout = Rollout.of((1, 2), (3, 4, 5), (-0.1, -1e-300, -3.25), 0.6)
    return Sample(name, index, text, "length", tokens=3, version=4, rollout=rollout)


REQUEST = str(GeneratorRequestId(1, 0))


def source_of(number):
    return f"class E{number}:\n    prompt_template = 'p{number}'\n" + "    # padding\n" * 20
