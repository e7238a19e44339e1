"""EndpointPolicy against a real server process on loopback, with every fault a server can have."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from subjects import running_server

from evoenv.config import EndpointConfig, ModelConfig, load_config
from evoenv.engines.endpoint.chat_api import ChatApi
from evoenv.engines.endpoint.policy import EndpointPolicy
from evoenv.engines.endpoint.stream import BrokenStream, collect_stream, lines_of
from evoenv.errors import BudgetExhausted, ConfigError, EndpointError, InputError, PolicyError
from evoenv.objective import Batch
from evoenv.ports import Policy, Traffic
from evoenv.records import Message, Request, Sample
from tests.effort import HANG_S, becomes_true

KEY = "sk-test-very-secret"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server("--key", KEY) as address:
        yield address


@pytest.fixture(autouse=True)
def no_key_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def connect(server: str, *, model: str = "echo-1", key: str | None = KEY, **settings: Any) -> EndpointPolicy:
    return EndpointPolicy(
        ModelConfig(name=model, base_url=f"{server}/v1"),
        EndpointConfig(**{"timeout_seconds": 5.0, "retries": 2, **settings}),
        api_key=key,
        first_pause_s=0.02,
    )


def ask(text: str = "hello", **settings: Any) -> Request:
    return Request(**{"id": text, "role": "generator", "messages": (Message("user", text),), **settings})


def statistics(server: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server}/stats") as reply:
        document: dict[str, Any] = json.load(reply)
    return document


def collect(policy: EndpointPolicy, requests: list[Request]) -> tuple[list[Sample], PolicyError | None]:
    """What was delivered, and the error that ended it."""
    delivered: list[Sample] = []
    try:
        for sample in policy.sample(requests):
            delivered.append(sample)
    except PolicyError as error:
        return delivered, error
    return delivered, None


def one(policy: EndpointPolicy, request: Request) -> Sample:
    (sample,) = policy.sample([request])
    return sample


def pauses(server: str, text: str) -> list[float]:
    """The pauses between the tries of one request, our own first one ten seconds; nobody waits for them."""
    waited: list[float] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            waited.append(timeout)
            return False

    api = ChatApi(f"{server}/v1", "echo-1", key=KEY, timeout_s=HANG_S, retries=2, connections=1, first_pause_s=10)
    api.complete(ask(text), 0, Stop())
    api.close()
    return waited


def test_every_sample_arrives_once_and_usage_is_counted(server: str) -> None:
    policy = connect(server)
    assert isinstance(policy, Policy)
    assert not policy.trainable
    policy.contact()
    samples = list(policy.sample([ask("a", count=3), ask("b", count=2)]))
    assert sorted((sample.request_id, sample.index, sample.text) for sample in samples) == [
        ("a", 0, "echo a"), ("a", 1, "echo a"), ("a", 2, "echo a"), ("b", 0, "echo b"), ("b", 1, "echo b"),
    ]  # fmt: skip
    assert (policy.spending.requests, policy.spending.prompt_tokens, policy.spending.completion_tokens) == (5, 15, 35)


def test_settings_and_distinct_seeds_reach_the_server(server: str) -> None:
    policy = connect(server)
    request = Request(
        "settings", "solver", (Message("system", "be brief"), Message("user", "settings")), count=2,
        temperature=0.6, top_p=0.9, max_tokens=77, stop=("</answer>", "b", "c", "d", "e"), seed=5,
    )  # fmt: skip
    list(policy.sample([request]))
    bodies = [body for body in statistics(server)["bodies"] if body["messages"][-1]["content"] == "settings"]
    assert len({body["seed"] for body in bodies}) == 2
    for body in bodies:
        assert body["messages"][0] == {"role": "system", "content": "be brief"}
        assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.6, 0.9, 77)
        assert body["stop"] == ["</answer>", "b", "c", "d"]


def test_no_more_than_the_allowed_requests_are_in_flight() -> None:
    with running_server() as server:
        list(connect(server, concurrency=3).sample([ask("[slow] x", count=9)]))
        assert statistics(server)["most_busy"] == 3


def test_a_slow_answer_is_no_silence(server: str) -> None:
    """Six parts, 0.7 s apart, take longer than the longest silence; asked again, it would never end."""
    slow = ask("[drip] all of it")
    assert one(connect(server, timeout_seconds=3.5, retries=0), slow).text == "echo [drip] all of it"
    asked = [body for body in statistics(server)["bodies"] if body["messages"][-1]["content"] == "[drip] all of it"]
    assert len(asked) == 1


def test_a_stream_that_falls_silent_or_ends_early_is_asked_again(server: str, caplog: pytest.LogCaptureFixture) -> None:
    assert one(connect(server, timeout_seconds=0.5), ask("[stall*1] again")).text == "echo [stall*1] again"
    assert "silent for 0.5 s after 2 parts of the answer" in caplog.text
    assert one(connect(server), ask("[cut*1] again")).text == "echo [cut*1] again"
    assert "the answer ended early, after 2 parts; trying again" in caplog.text


def test_servers_that_do_not_stream_or_know_no_usage_in_streams_are_served(server: str) -> None:
    policy = connect(server)
    assert one(policy, ask("[whole] x")).text == "echo [whole] x"
    assert one(policy, ask("[nooptions] x")).text == "echo [nooptions] x"
    assert policy.spending.completion_tokens == 14


def test_what_arrives_is_told_as_it_arrives(server: str) -> None:
    told: list[int] = []
    api = connect(server)._api
    answer = api.complete(ask("[drip] one by one"), 0, threading.Event(), told.append)
    assert answer.text == "echo [drip] one by one"
    assert told == [1, 2, 3, 4, 5, 6]


def test_what_is_under_way_is_known_at_any_moment(server: str) -> None:
    policy = connect(server)
    assert policy.traffic == Traffic(0, 0, 0)
    session = policy.sampling()
    session.submit([ask("[drip] bit by bit", count=2)])
    assert becomes_true(lambda: policy.traffic.waiting == 2 and policy.traffic.received > 2)
    samples = list(session.collect())
    while len(samples) < 2:
        samples += session.collect()
    session.close()
    assert policy.traffic == Traffic(0, 0, 0)
    assert one(policy, ask("[cut*1] not at once")).text == "echo [cut*1] not at once"
    assert policy.traffic == Traffic(0, 0, 1)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["data: {"], "no JSON"),
        (["data: []"], "no JSON object"),
        (['data: {"choices": ["x"]}'], "no part of a chat completion"),
        (['data: {"error": {"message": "out of memory"}}'], "gave up within the answer .out of memory"),
        ([": alive", "event: x", ""], "ended early, after 0 parts"),
    ],
)
def test_a_stream_that_makes_no_sense_says_so(lines: list[str], words: str) -> None:
    with pytest.raises(BrokenStream, match=words):
        collect_stream(lines, lambda parts: None)


@pytest.mark.parametrize("fault", ["429", "500", "close", "malformed", "shape"])
def test_what_passes_is_tried_again(server: str, fault: str) -> None:
    assert one(connect(server), ask(f"[{fault}*2] again")).text == f"echo [{fault}*2] again"


def test_a_silent_server_is_tried_again_after_the_timeout(server: str) -> None:
    assert one(connect(server, timeout_seconds=0.3, retries=20), ask("[hang*1] hi")).text == "echo [hang*1] hi"


def test_retry_after_is_honoured(server: str) -> None:
    assert pauses(server, "[429*2] wait") == [0.05, 0.05], "the server's, not our own of ten seconds"


def test_without_retry_after_pauses_are_our_own_and_grow(server: str) -> None:
    first, second = pauses(server, "[500*2] wait")
    assert 5 <= first <= 15
    assert 10 <= second <= 30


@pytest.mark.parametrize(
    ("fault", "words"), [("500", "HTTP 500"), ("malformed", "no chat completion"), ("close", "connection broke")]
)
def test_what_never_passes_is_an_error_that_names_tries_and_cause(server: str, fault: str, words: str) -> None:
    with pytest.raises(EndpointError, match=rf"failed 3 times for request '\[{fault}\] x', last: .*{words}"):
        one(connect(server), ask(f"[{fault}] x"))


def test_a_wrong_key_is_named_and_never_shown(server: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "sk-wrong-and-private"
    policy = connect(server, key=wrong)
    for action in (policy.contact, lambda: one(policy, ask())):
        with pytest.raises(EndpointError, match=r"API key was refused \(HTTP 401.*OPENAI_API_KEY") as caught:
            action()
        assert wrong not in str(caught.value)
    assert wrong not in caplog.text
    assert wrong not in repr(policy._api)
    with pytest.raises(EndpointError, match="an API key is needed and none was given"):
        one(connect(server, key=None), ask())


def test_the_key_comes_from_the_environment(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert one(connect(server, key=None), ask()).text == "echo hello"


def test_a_wrong_model_is_named_with_those_served(server: str) -> None:
    policy = connect(server, model="gpt-none")
    for action in (policy.contact, lambda: one(policy, ask())):
        with pytest.raises(EndpointError, match=r"does not know model 'gpt-none' .*serves echo-1, newer-2"):
            action()


def test_a_base_url_without_v1_gets_a_hint(server: str) -> None:
    policy = EndpointPolicy(ModelConfig(name="echo-1", base_url=server), EndpointConfig(retries=0), api_key=KEY)
    with pytest.raises(EndpointError, match="base_url that ends in /v1"):
        one(policy, ask())


def test_a_dead_server_is_named() -> None:
    with running_server() as server:
        pass
    policy = connect(server)
    with pytest.raises(EndpointError, match=rf"cannot reach {server}/v1 .*check model.base_url"):
        policy.contact()
    with pytest.raises(EndpointError, match=r"failed 3 times .*cannot connect"):
        one(policy, ask())


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("localhost:8000", "m"), ("", "m"), ("http://localhost:8000/v1", ""), ("http://localhost:abc/v1", "m"),
        ("http://[::1/v1", "m"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused_at_once(url: str, name: str) -> None:
    with pytest.raises(InputError, match=r"model\.(base_url|name)"):
        EndpointPolicy(ModelConfig(name=name, base_url=url))


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [("concurrency", 0, "1 or more"), ("timeout_seconds", 0.0, "more than 0"), ("retries", -1, "0 or more")],
)
def test_limits_that_make_no_sense_are_refused_at_once(setting: str, value: float, expected: str) -> None:
    refused = pytest.raises(ConfigError, match=rf"endpoint\.{setting} is {value}; expected {expected}")
    with refused:
        connect("http://localhost:8000", **{setting: value})
    with refused:
        load_config(overrides=[f"endpoint.{setting}={value}"])


def test_a_key_that_is_none_is_refused_unseen_and_space_around_one_is_not_part_of_it(server: str) -> None:
    assert one(connect(server, key=f" {KEY}\n"), ask()).text == "echo hello"
    for wrong in ("sk-sëcret", "sk\nsecret"):
        with pytest.raises(InputError, match="OPENAI_API_KEY holds characters that no API key has") as caught:
            connect(server, key=wrong)
        assert wrong not in str(caught.value)


def test_a_refused_prompt_costs_one_sample_and_not_the_run(server: str) -> None:
    policy = connect(server, concurrency=1)
    samples = list(policy.sample([ask("first"), ask("[400] too long"), ask("last")]))
    assert [(sample.text, sample.finish_reason) for sample in samples] == [
        ("echo first", "stop"), ("", "error"), ("echo last", "stop"),
    ]  # fmt: skip
    with pytest.raises(EndpointError, match="maximum context length"):
        one(connect(server), ask("[400] too long"))


def test_a_refused_prompt_among_the_first_is_no_reason_to_stop_and_two_are(server: str) -> None:
    together = [ask("[slow] one"), ask("[400] too long"), ask("[slow] two")]
    samples = {sample.request_id: sample.finish_reason for sample in connect(server, concurrency=3).sample(together)}
    assert samples == {"[slow] one": "stop", "[400] too long": "error", "[slow] two": "stop"}
    with pytest.raises(EndpointError, match="maximum context length"):
        list(connect(server, concurrency=2).sample([ask("[400] one"), ask("[400] two"), ask("[slow] three")]))


def test_what_was_answered_before_a_fatal_error_is_delivered(server: str) -> None:
    policy = connect(server, concurrency=2)
    requests = [ask("[slow] good"), ask("[500] bad"), *(ask(f"[slow] {n}") for n in range(20))]
    delivered, error = collect(policy, requests)
    assert isinstance(error, EndpointError)
    assert "failed 3 times" in str(error)
    assert "[slow] good" in [sample.request_id for sample in delivered]
    assert len(delivered) < 20


def test_a_token_budget_stops_cleanly_and_loses_nothing(server: str) -> None:
    policy = connect(server, concurrency=2, token_budget=45)
    delivered, error = collect(policy, [ask("hi", count=50)])
    assert isinstance(error, BudgetExhausted)
    assert f"endpoint.token_budget = 45; {len(delivered)} of 50 samples were delivered" in str(error)
    # Ten tokens each: the fifth answer reaches the budget, and one more may have been in flight.
    assert 4 <= len(delivered) <= 6
    assert policy.spending.requests == len(delivered)
    with pytest.raises(BudgetExhausted, match="0 of 1 samples"):
        one(policy, ask("more"))


def test_a_money_budget_counts_prices_per_million(server: str) -> None:
    settings = {"concurrency": 1, "money_budget": 100e-6, "input_price": 1.0, "output_price": 2.0}
    policy = connect(server, **settings)
    # One answer: 3 prompt tokens at 1 and 7 answer tokens at 2 = 17 millionths.
    one(policy, ask("a"))
    assert policy.spending.cost == pytest.approx(17e-6)
    resumed = connect(server, **settings)
    resumed.spending.restore(policy.spending.snapshot())
    with pytest.raises(BudgetExhausted, match="money_budget"):
        list(resumed.sample([ask("b", count=50)]))
    assert resumed.spending.requests == 6, "the sixth answer takes the cost to 102 millionths"


def test_variants_of_replies(server: str) -> None:
    policy = connect(server)
    assert one(policy, ask("[reasoning] 2+2")).text == "<think>\nlet me see\n</think>\n\nfour"
    assert one(policy, ask("[length] x")).finish_reason == "length"
    cut = one(policy, ask("[stop] x", stop=("</answer>",)))
    assert (cut.text, cut.finish_reason) == ("before", "stop")
    before = policy.spending.tokens
    one(policy, ask("[nousage] x"))
    assert policy.spending.tokens > before, "an estimate keeps budgets finite where a server reports nothing"


def test_newer_models_that_rename_the_limit_are_served(server: str) -> None:
    assert one(connect(server, model="newer-2"), ask("renamed")).text == "echo renamed"
    several = [ask(f"renamed {n}") for n in range(8)]  # all are told before any has learnt it
    texts = {sample.text for sample in connect(server, model="newer-2", concurrency=8).sample(several)}
    assert texts == {f"echo renamed {n}" for n in range(8)}


def test_line_ends_of_unicode_are_part_of_the_answer(server: str) -> None:
    text = "one\u2028two\u2029three\x85four"
    assert one(connect(server), ask(text)).text == f"echo {text}"
    assert list(lines_of(["data: a\u2028", "b\r\n\ndata:", " c"])) == ["data: a\u2028b\r", "", "data: c"]


def test_it_never_trains(server: str) -> None:
    with pytest.raises(PolicyError, match="cannot be trained"):
        connect(server).update(Batch((), (), {}))


def test_leaving_the_iterator_stops_the_work() -> None:
    with running_server() as server:
        stream = connect(server, concurrency=2).sample([ask("[slow] x", count=200)])
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        time.sleep(0.5)
        assert len(statistics(server)["bodies"]) <= 6


@pytest.mark.long  # the conformance suite has such a server in ./test
def test_a_real_model_behind_the_server(tiny_directories: dict[str, Path]) -> None:
    with running_server("--model-dir", str(tiny_directories["llama"])) as server:
        policy = connect(server, key=None, timeout_seconds=60.0)
        requests = [ask("abc", count=4, max_tokens=16, seed=1)]
        first, again = ({sample.index: sample.text for sample in policy.sample(requests)} for _ in range(2))
        assert first == again
        assert len(set(first.values())) == 4
        assert 0 < policy.spending.completion_tokens <= 2 * 4 * 16
