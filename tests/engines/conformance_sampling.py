"""What every engine must do when it samples: order, limits, seeds, refusals, sessions, and what a sample carries."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from conformance_tools import Bench, ask, batch_of, by_key, check, refused, texts

from evoenv.errors import InputError, PolicyError
from evoenv.ports import CountsTokens, Spends

# --------------------------------------------------------------------------- sampling


@check
def every_sample_arrives_once(bench: Bench) -> None:
    requests = [ask(f"r{number}", "x" * (1 + 7 * number), count=1 + number % 3, seed=number) for number in range(6)]
    samples = by_key(bench.policy.sample(requests))
    assert sorted(samples) == sorted((request.id, index) for request in requests for index in range(request.count))
    assert all(isinstance(sample.text, str) for sample in samples.values())
    assert {sample.finish_reason for sample in samples.values()} <= {"stop", "length"}


@check
def no_requests_give_no_samples(bench: Bench) -> None:
    assert list(bench.policy.sample([])) == []
    with bench.policy.sampling() as session:
        assert list(session.collect()) == []
        session.submit([])
        assert list(session) == []


@check
def only_what_is_still_wanted_need_be_drawn(bench: Bench) -> None:
    whole = by_key(bench.policy.sample([ask("r", count=4, seed=3)]))
    part = by_key(bench.policy.sample([ask("r", count=4, seed=3, wanted=(1, 3))]))
    assert {("r", 1), ("r", 3)} <= set(part) <= set(whole)
    if bench.subject.deterministic:
        assert all(sample.text == whole[key].text for key, sample in part.items())


@check
def short_answers_do_not_wait_for_long_ones(bench: Bench) -> None:
    if not bench.subject.streams:
        return
    requests = [ask("long", max_tokens=200, seed=1), ask("short", max_tokens=1, seed=1)]
    assert next(iter(bench.policy.sample(requests))).request_id == "short"


@check
def requests_may_be_submitted_while_others_run(bench: Bench) -> None:
    late = [ask("late", "another prompt", count=3, seed=8), ask("later", count=2, seed=9)]
    with bench.policy.sampling() as session:
        session.submit([ask("long", count=3, max_tokens=40, seed=7), ask("short", max_tokens=1, seed=7)])
        samples = list(session.collect())
        assert samples
        session.submit(late[:1])
        samples += session.collect()
        session.submit(late[1:])
        samples += session
        found = by_key(samples)
        counts = {"short": 1, "long": 3, "late": 3, "later": 2}
        assert sorted(found) == sorted((name, index) for name, count in counts.items() for index in range(count))
        assert list(session.collect()) == []
        # and again after all was delivered
        session.submit([ask("last", seed=7)])
        assert [sample.request_id for sample in session] == ["last"]
    if bench.subject.deterministic:
        alone = texts(bench.policy.sample(late))
        assert {key: found[key].text for key in alone} == alone


@check
def requests_may_be_submitted_while_iterating(bench: Bench) -> None:
    with bench.policy.sampling() as session:
        session.submit([ask("first", seed=1)])
        seen = []
        for sample in session:
            seen.append(sample.request_id)
            if len(seen) < 3:
                session.submit([ask(f"after {sample.request_id}", seed=1)])
        assert seen == ["first", "after first", "after after first"]


@check
def waiting_ends_when_the_time_is_up(bench: Bench) -> None:
    with bench.policy.sampling() as session:
        session.submit([ask("r", count=2, max_tokens=60)])
        samples = []
        for _ in range(100_000):
            samples += session.collect(timeout=0.01)
            if len(samples) == 2:
                break
        assert set(by_key(samples)) == {("r", 0), ("r", 1)}
        assert list(session.collect(timeout=0.0)) == []


@check
def samples_depend_on_seed_and_index_and_on_nothing_else(bench: Bench) -> None:
    if not bench.subject.deterministic:
        return
    request = ask("r", count=4, max_tokens=20, seed=11)
    alone = texts(bench.policy.sample([request]))
    crowd = [ask(f"other {number}", "y" * number, count=2, max_tokens=30, seed=number) for number in range(5)]
    among = texts(bench.policy.sample([*crowd[:3], request, *crowd[3:]]))
    assert {key: among[key] for key in alone} == alone
    assert len(set(alone.values())) > 1, "the answers to one request differ from one another"
    other = texts(bench.policy.sample([replace(request, seed=12)]))
    assert other != alone


@check
def stop_strings_end_the_text_before_them(bench: Bench) -> None:
    def printable(text: str) -> bool:
        return text.isprintable() and "\ufffd" not in text and not text.isspace()

    if not bench.subject.deterministic:
        return
    free = [
        sample for sample in bench.policy.sample([ask("r", count=8, max_tokens=60, seed=3)]) if len(sample.text) > 9
    ]
    # a stop string that really occurs, not at the very beginning
    sample, stop = next(
        (sample, sample.text[at : at + 2])
        for sample in free
        for at in range(3, len(sample.text) - 2)
        if printable(sample.text[at : at + 2])
    )
    again = by_key(bench.policy.sample([ask("r", count=8, max_tokens=60, seed=3, stop=("never said here", stop))]))
    stopped = again["r", sample.index]
    assert stopped.text == sample.text[: sample.text.find(stop)]
    assert stopped.finish_reason == "stop"
    assert all(stop not in other.text for other in again.values())


@check
def answers_keep_within_their_limit(bench: Bench) -> None:
    for limit in (1, 5):
        for sample in bench.policy.sample([ask("r", count=8, max_tokens=limit, seed=2)]):
            if bench.subject.counts:
                assert 0 < sample.tokens <= limit
                assert sample.finish_reason == "stop" or sample.tokens == limit
            assert sample.finish_reason in ("stop", "length")


BAD = {
    "no messages": {"messages": ()},
    "asks for 0 samples": {"count": 0},
    "wants the samples [4]": {"count": 2, "wanted": (4,)},
    "max_tokens = 0": {"max_tokens": 0},
    "temperature -1.0": {"temperature": -1.0},
    "temperature nan": {"temperature": math.nan},
    "top_p = 0.0": {"top_p": 0.0},
    "empty stop string": {"stop": ("",)},
    "is to be trained on": {"role": "reviewer", "trains": True},
}


@check
def senseless_requests_are_refused_by_name_before_any_work(bench: Bench) -> None:
    policy = bench.policy
    with policy.sampling() as session:
        for words, settings in BAD.items():
            bad = replace(ask("bad"), **settings)  # type: ignore[arg-type]
            for refusing in (policy.check, policy.sample, session.submit):
                with refused(InputError, "'bad'", words):
                    refusing([ask("good"), bad])
        with refused(InputError, "share the id 'r'"):
            session.submit([ask("r"), ask("r")])
        # none of it was accepted, not even the good ones, and the session is as good as new
        assert list(session.collect()) == []
        session.submit([ask("good"), ask("r")])
        assert {sample.request_id for sample in session} == {"good", "r"}
        with refused(InputError, "share the id 'r'"):
            session.submit([ask("r")])


@check
def what_does_not_fit_is_refused_by_name_before_any_work(bench: Bench) -> None:
    context = bench.subject.context
    if context is None:
        return
    fits, long, wordy = ask("fits"), ask("long", max_tokens=context), ask("wordy", "word " * context)
    bench.policy.check([fits])
    for bad in (long, wordy):
        for refusing in (bench.policy.check, bench.policy.sample):
            with refused(PolicyError, f"'{bad.id}'"):
                refusing([fits, bad])


@check
def closing_a_session_gives_up_the_rest(bench: Bench) -> None:
    session = bench.policy.sampling()
    session.submit([ask("r", count=8, max_tokens=100)])
    stream = iter(session)
    next(stream)
    assert not session.closed
    session.close()
    session.close()
    assert session.closed
    assert list(stream) == []
    assert list(session) == []
    assert list(session.collect()) == []
    with refused(PolicyError, "closed"):
        session.submit([ask("more")])


@check
def an_iterator_that_is_given_up_leaves_the_policy_usable(bench: Bench) -> None:
    stream = bench.policy.sample([ask("r", count=8, max_tokens=100)])
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert len(list(bench.policy.sample([ask("r", count=2)]))) == 2


@check
def sessions_do_not_disturb_one_another(bench: Bench) -> None:
    with bench.policy.sampling() as first, bench.policy.sampling() as second:
        first.submit([ask("r", count=2, max_tokens=20, seed=1)])
        second.submit([ask("r", count=2, max_tokens=20, seed=2)])
        samples = [by_key([*session.collect(), *session]) for session in (first, second)]
    assert all(set(found) == {("r", 0), ("r", 1)} for found in samples)
    if bench.subject.deterministic:
        assert texts(samples[1].values()) == texts(bench.policy.sample([ask("r", count=2, max_tokens=20, seed=2)]))


# --------------------------------------------------------------------------- what a sample carries


@check
def samples_say_which_version_they_are_of(bench: Bench) -> None:
    policy = bench.policy
    before = policy.version
    assert {sample.version for sample in policy.sample([ask("r", count=2)])} == {before}
    if policy.trainable:
        policy.update(batch_of(policy))
        assert policy.version == before + 1
        assert {sample.version for sample in policy.sample([ask("r", count=2)])} == {before + 1}
    else:
        assert before == 0


@check
def rollouts_are_given_only_for_what_trains(bench: Bench) -> None:
    policy = bench.policy
    requests = [
        ask("trains", count=3, trains=True, temperature=0.7, seed=1),
        ask("calibrates", count=3, temperature=0.7, seed=1),
        ask("reviews", role="reviewer", seed=1),
    ]
    samples = by_key(policy.sample(requests))
    for key, sample in samples.items():
        assert sample.tokens > 0 or not bench.subject.counts
        if key[0] != "trains" or not policy.trainable:
            assert sample.rollout is None
            continue
        rollout = sample.rollout
        assert rollout is not None
        assert len(rollout.token_ids) == len(rollout.logprobs) == sample.tokens
        assert len(rollout.prompt_ids) > 0
        assert all(math.isfinite(value) and value <= 1e-6 for value in rollout.logprobs)
        assert rollout.temperature == 0.7
        assert rollout.prompt_ids == samples["trains", 0].rollout.prompt_ids  # type: ignore[union-attr]
    if bench.subject.deterministic:
        same = [(samples["trains", index].text, samples["calibrates", index].text) for index in range(3)]
        assert all(one == other for one, other in same), "a rollout costs nothing but memory"


@check
def prompts_are_as_long_as_they_are_said_to_be(bench: Bench) -> None:
    policy = bench.policy
    if not isinstance(policy, CountsTokens):
        return
    request = ask("r", "How long is this?", trains=True)
    (sample,) = policy.sample([request])
    length = policy.prompt_tokens(request.messages)
    assert length > 0
    if sample.rollout is not None:
        assert length == len(sample.rollout.prompt_ids)


@check
def spending_is_counted_and_goes_on_from_a_snapshot(bench: Bench) -> None:
    policy = bench.policy
    if not isinstance(policy, Spends):
        return
    before = policy.spending.tokens
    assert len(list(policy.sample([ask("r", count=3)]))) == 3
    spent = policy.spending.snapshot()
    assert policy.spending.tokens > before
    assert policy.spending.cost >= 0.0
    assert not policy.spending.exhausted
    fresh = bench.reopen()
    assert isinstance(fresh, Spends)
    assert fresh.spending.tokens == 0
    fresh.spending.restore(json.loads(json.dumps(spent)))
    assert fresh.spending.snapshot() == spent
    with refused(PolicyError, "spent"):
        fresh.spending.restore({"nonsense": 1})
