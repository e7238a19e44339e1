"""LocalPolicy on tiny real models: what it samples, what it reports, and what it does not compute."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evoenv.admission.review import read_review
from evoenv.engines.local import decode, kv, packed
from evoenv.engines.local.draft import Draft
from evoenv.engines.local.packed import pack_frozen
from evoenv.engines.local.plain import PlainDecoder
from evoenv.engines.local.policy import LocalPolicy
from evoenv.engines.local.prompts import encode_prompt
from evoenv.engines.local.selfcheck import supports_cohorts
from evoenv.environment.answers import extract_answer, extract_source
from evoenv.errors import InputError, PolicyError
from evoenv.models.tiny import build_tiny_tokenizer
from evoenv.objective import Batch
from evoenv.ports import Policy, Traffic
from evoenv.records import Message, Request, Sample
from evoenv.thinking import THINKING

Tiny = dict[str, tuple[Any, Any]]
both_architectures = pytest.mark.parametrize("arch", ["llama", "qwen3"])


def ask(id: str, text: str = "2 + 2 = ?", **settings: Any) -> Request:
    settings = {"max_tokens": 12, "trains": True, **settings}
    return Request(id=id, role="solver", messages=(Message("user", text),), **settings)


def mixed_requests() -> list[Request]:
    return [
        ask(f"r{number}", "x" * (3 + 5 * number), count=1 + number % 4, max_tokens=3 + 4 * number, seed=number)
        for number in range(7)
    ]


def by_key(samples: Sequence[Sample]) -> dict[tuple[str, int], Sample]:
    return {(sample.request_id, sample.index): sample for sample in samples}


def teacher_forced(model: Any, sample: Sample) -> torch.Tensor:
    """The log-probabilities a trainer computes: one plain forward pass over prompt and answer."""
    ids = torch.tensor([[*sample.rollout.prompt_ids, *sample.rollout.token_ids]])
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0].double() / sample.rollout.temperature
    start = len(sample.rollout.prompt_ids)
    rows = logits.log_softmax(-1)[start - 1 : -1]
    return rows.gather(1, ids[0, start:, None]).squeeze(1)


@both_architectures
def test_every_requested_sample_arrives_once_with_logprobs_of_a_plain_forward_pass(
    tiny_models: Tiny, arch: str
) -> None:
    model, tokenizer = tiny_models[arch]
    policy = LocalPolicy(model, tokenizer, max_rows=8)
    requests = [dataclasses.replace(request, temperature=0.7) for request in mixed_requests()]
    samples = by_key(list(policy.sample(requests)))
    assert sorted(samples) == [(request.id, index) for request in requests for index in range(request.count)]
    for sample in samples.values():
        assert len(sample.rollout.logprobs) == sample.tokens > 0
        assert torch.allclose(torch.tensor(sample.rollout.logprobs).double(), teacher_forced(model, sample), atol=1e-4)


@both_architectures
def test_greedy_decoding_is_what_generate_writes(tiny_models: Tiny, arch: str) -> None:
    model, tokenizer = tiny_models[arch]
    policy = LocalPolicy(model, tokenizer, max_rows=3)
    for sample in policy.sample([ask(f"{n}", "abc" * n, temperature=0.0, max_tokens=20) for n in range(1, 6)]):
        expected = model.generate(
            torch.tensor([[*sample.rollout.prompt_ids]]), attention_mask=torch.ones(1, len(sample.rollout.prompt_ids)),
            do_sample=False, max_new_tokens=20,
        )[0, len(sample.rollout.prompt_ids) :]  # fmt: skip
        assert list(sample.rollout.token_ids) == expected.tolist()


def test_a_draft_does_not_depend_on_its_company(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    crowd = by_key(list(LocalPolicy(model, tokenizer, max_rows=16).sample(mixed_requests())))
    for request in mixed_requests():
        for sample in LocalPolicy(model, tokenizer, max_rows=2).sample([request]):
            assert sample.rollout.token_ids == crowd[sample.request_id, sample.index].rollout.token_ids


def test_seeds_and_indices_give_different_drafts_and_the_same_seed_the_same(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["llama"])
    first = by_key(list(policy.sample([ask("a", count=4, seed=1), ask("b", count=4, seed=2)])))
    again = by_key(list(policy.sample([ask("a", count=4, seed=1)])))
    assert all(again[key].rollout.token_ids == first[key].rollout.token_ids for key in again)
    assert len({tuple(sample.rollout.token_ids) for sample in first.values()}) == 8


def test_a_prompt_is_computed_once_for_its_group_and_finished_rows_never(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    policy = LocalPolicy(model, tokenizer, end_ids=())
    requests = [ask("group", count=8, max_tokens=5), ask("other", "word " * 20, count=1, max_tokens=30)]
    samples = list(policy.sample(requests))
    prompts = {sample.request_id: len(sample.rollout.prompt_ids) for sample in samples}
    assert policy.stats.prefill_tokens == sum(prompts.values())
    # The prefill draws each first token, so a text of n tokens is decoded n - 1 times, however long others go on; what
    # drafts of a prompt begin with in common is decoded once.
    assert policy.stats.decode_rows == len(beginnings(samples)) <= sum(sample.tokens - 1 for sample in samples)


def beginnings(samples: Sequence[Sample]) -> set[tuple[str, tuple[int, ...]]]:
    """All texts that had to be continued: with the prompt's name, each draft's tokens up to all but the last one."""
    return {
        (sample.request_id, tuple(sample.rollout.token_ids[:length]))
        for sample in samples
        for length in range(1, sample.tokens)
    }


@both_architectures
def test_drafts_that_begin_alike_are_decoded_as_one_row_until_they_part(tiny_models: Tiny, arch: str) -> None:
    model, tokenizer = tiny_models[arch]
    policy = LocalPolicy(model, tokenizer)
    # At a low temperature most drafts say the same for a while, and some to the end.
    requests = [
        ask(f"r{number}", "ab" * number, count=8, max_tokens=12 + 9 * number, temperature=heat, seed=number)
        for number, heat in enumerate((0.02, 0.05, 0.1, 0.0), 1)
    ]
    samples = list(policy.sample(requests))
    written = sum(sample.tokens - 1 for sample in samples)
    assert policy.stats.decode_rows == len(beginnings(samples)) < 0.8 * written
    apart = LocalPolicy(model, tokenizer)
    apart.decoder.shares = False  # type: ignore[attr-defined]
    assert {key: sample.text for key, sample in by_key(list(apart.sample(requests))).items()} == {
        key: sample.text for key, sample in by_key(samples).items()
    }
    assert apart.stats.decode_rows == written
    kept = {
        sample.request_id: {tuple(s.rollout.token_ids) for s in samples if s.request_id == sample.request_id}
        for sample in samples
    }
    assert len(kept["r4"]) == 1
    assert max(map(len, kept.values())) > 1, "some have parted"
    for sample in samples:
        request = next(request for request in requests if request.id == sample.request_id)
        if request.temperature:
            scored = teacher_forced(model, sample)
            assert torch.allclose(torch.tensor(sample.rollout.logprobs).double(), scored, atol=1e-3)
        alone = Draft(request, sample.index, sample.rollout.prompt_ids, policy.rules)
        decoding = PlainDecoder(model, budget=10**6, max_rows=1).begin()
        decoding.add([[alone]])
        while decoding.busy:
            decoding.advance()
        assert alone.tokens == list(sample.rollout.token_ids)


@both_architectures
def test_what_prompts_begin_with_in_common_is_computed_once(tiny_models: Tiny, arch: str) -> None:
    model, tokenizer = tiny_models[arch]
    requests = [
        ask(f"r{number}", "word " * 40 + tail, count=2, max_tokens=6, seed=number)
        for number, tail in enumerate(("one", "two or three", "one more"))
    ]
    together = LocalPolicy(model, tokenizer, end_ids=())
    samples = by_key(list(together.sample(requests)))
    prompts = list({sample.request_id: tuple(sample.rollout.prompt_ids) for sample in samples.values()}.values())
    shared = decode.common_start(prompts)
    assert shared >= 40
    assert together.stats.prefill_tokens == shared + 3 * (max(map(len, prompts)) - shared)
    for request in requests:
        for sample in LocalPolicy(model, tokenizer, end_ids=()).sample([request]):
            other = samples[sample.request_id, sample.index].rollout
            assert sample.rollout.token_ids == other.token_ids
            assert sample.rollout.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_the_common_start_leaves_every_context_a_token_of_its_own() -> None:
    assert decode.common_start([(1, 2, 3, 4), (1, 2, 5), (1, 2, 3)]) == 2
    assert decode.common_start([(1, 2, 3), (1, 2, 3)]) == 2
    assert decode.common_start([(1, 2, 3), (1, 2)]) == 1
    assert decode.common_start([(7,), (7, 8)]) == 0
    assert decode.common_start([(1, 2), (3, 4)]) == 0


def test_samples_arrive_as_they_finish(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["llama"], end_ids=())
    lengths = {"long": 40, "short": 2, "middle": 10}
    stream = policy.sample([ask(name, max_tokens=length) for name, length in lengths.items()])
    assert next(stream).request_id == "short"
    assert policy.stats.steps == 1
    assert [sample.request_id for sample in stream] == ["middle", "long"]


def test_what_is_being_written_can_be_watched(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["llama"])
    assert policy.traffic == Traffic(0, 0, 0)
    with policy.sampling() as session:
        session.submit([ask("short", count=3, max_tokens=1), ask("long", max_tokens=12, seed=1)])
        assert policy.traffic == Traffic(4, 0, 0)
        assert {sample.request_id for sample in session.collect()} == {"short"}
        traffic = policy.traffic
        assert traffic.waiting == 1
        assert traffic.received >= 1
    assert policy.traffic == Traffic(0, 0, 0)


def test_rows_are_refilled_while_others_go_on(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["llama"], max_rows=4, end_ids=())
    requests = [ask(f"r{n}", max_tokens=40 if n == 0 else 5) for n in range(13)]
    assert len(list(policy.sample(requests))) == 13
    # Twelve short answers fit beside the long one; batch after batch would take 39 + 3 * 4 steps.
    assert policy.stats.steps == 39


@pytest.mark.slow
def test_a_small_budget_changes_the_memory_and_not_the_samples(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    requests = [ask(f"r{n}", "y" * (5 + n), count=3, max_tokens=140, seed=n) for n in range(4)]
    roomy = LocalPolicy(model, tokenizer, end_ids=())
    tight = LocalPolicy(model, tokenizer, end_ids=(), batch_tokens=600)
    # As if earlier answers had been short: rows are admitted with little room and must grow.
    tight.decoder._finished, tight.decoder._finished_tokens = 100, 100  # type: ignore[attr-defined]
    expected = by_key(list(roomy.sample(requests)))
    got = by_key(list(tight.sample(requests)))
    assert tight.stats.preemptions > 0
    assert tight.stats.peak_tokens <= 600
    assert {key: sample.rollout.token_ids for key, sample in got.items()} == {
        key: sample.rollout.token_ids for key, sample in expected.items()
    }
    for key, sample in got.items():
        assert sample.rollout.logprobs == pytest.approx(expected[key].rollout.logprobs, abs=1e-4)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_scheduling_never_changes_what_is_sampled(
    tiny_models: Tiny, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    model, tokenizer = tiny_models["llama"]
    # Little room at first, so that short answers already make rows grow and push each other out.
    monkeypatch.setattr(decode, "FIRST_GUESS", 4)
    monkeypatch.setattr(decode, "LEAST_ROOM", 4)
    monkeypatch.setattr(kv, "_BLOCK", 4)
    shapes = data.draw(
        st.lists(
            st.tuples(st.integers(1, 40), st.integers(1, 5), st.integers(1, 24), st.sampled_from((0.05, 0.2, 1.0))),
            min_size=1,
            max_size=5,
        )
    )
    requests = [
        ask(f"r{n}", "z" * width, count=count, max_tokens=length, seed=n, temperature=heat)
        for n, (width, count, length, heat) in enumerate(shapes)
    ]
    longest = max(
        len(encode_prompt(tokenizer, request.messages).token_ids) + request.max_tokens for request in requests
    )
    budget = longest + data.draw(st.integers(0, 200), label="spare budget")
    policy = LocalPolicy(model, tokenizer, batch_tokens=budget, max_rows=data.draw(st.integers(1, 9), label="rows"))
    got = by_key(list(policy.sample(requests)))
    assert policy.stats.peak_tokens <= budget
    for request in requests:
        for index in range(request.count):
            sampled = got[request.id, index].rollout
            draft = Draft(request, index, sampled.prompt_ids, policy.rules)
            decoding = PlainDecoder(model, budget=10**6, max_rows=1).begin()
            decoding.add([[draft]])
            while decoding.busy:
                decoding.advance()
            assert list(sampled.token_ids) == draft.tokens


def test_limits_end_tokens_and_text(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    samples = list(LocalPolicy(model, tokenizer).sample([ask("r", count=64, max_tokens=150)]))
    reasons = {sample.finish_reason for sample in samples}
    assert reasons == {"stop", "length"}, "the tiny model ends about one answer in two before 150 tokens"
    for sample in samples:
        if sample.finish_reason == "length":
            assert sample.tokens == 150
        else:
            assert sample.rollout.token_ids[-1] == tokenizer.eos_token_id
        assert tokenizer.eos_token_id not in sample.rollout.token_ids[:-1]
        assert "<|im_end|>" not in sample.text
        assert sample.text == tokenizer.decode(sample.rollout.token_ids, skip_special_tokens=True)


def test_a_stop_string_ends_the_text_before_it_across_token_boundaries(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["llama"], end_ids=())
    free = next(iter(policy.sample([ask("r", max_tokens=60, seed=3)])))
    # One token is one byte here, so any stop string of several bytes crosses tokens; take one that really occurs.
    start = next(
        at for at in range(20, 50) if free.text[at : at + 3].isprintable() and "\ufffd" not in free.text[at : at + 3]
    )
    stop = free.text[start : start + 3]
    end = free.text.find(stop)
    cut = next(iter(policy.sample([ask("r", max_tokens=60, seed=3, stop=("never occurs here", stop))])))
    assert cut.text == free.text[:end]
    assert cut.finish_reason == "stop"
    assert cut.rollout.token_ids == free.rollout.token_ids[: cut.tokens]
    assert policy.rules.decode(cut.rollout.token_ids) == free.text[: end + len(stop)]


def test_a_special_token_can_be_a_stop_string(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    policy = LocalPolicy(model, tokenizer, end_ids=())
    samples = list(policy.sample([ask("r", count=32, max_tokens=150, stop=("<|im_start|>",))]))
    stopped = [sample for sample in samples if sample.finish_reason == "stop"]
    assert stopped
    assert {sample.rollout.token_ids[-1] for sample in stopped} == {tokenizer.bos_token_id}


def test_a_tiny_top_p_is_greedy(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["qwen3"])
    greedy, nucleus = (
        by_key(list(policy.sample([ask("r", seed=5, **settings)])))["r", 0]
        for settings in ({"temperature": 0.0}, {"top_p": 1e-6})
    )
    assert nucleus.rollout.token_ids == greedy.rollout.token_ids


def test_messages_go_through_the_chat_template_by_speaker(tiny_models: Tiny) -> None:
    _, tokenizer = tiny_models["llama"]
    messages = (Message("system", "be brief"), Message("user", "hi"))
    text = tokenizer.decode(encode_prompt(tokenizer, messages).token_ids)
    assert text == "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_a_template_without_system_turns_gets_its_words_in_the_user_turn() -> None:
    refusal = "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    strict = "{% for m in messages %}" + refusal + "{{ m.content }}|{% endfor %}"
    tokenizer = build_tiny_tokenizer(chat_template=strict)
    prompt = encode_prompt(tokenizer, (Message("system", "be brief"), Message("user", "hi")))
    assert tokenizer.decode(prompt.token_ids) == "be brief\n\nhi|"


THINKING_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


def test_a_response_that_begins_inside_a_thinking_block_says_so() -> None:
    """The template of a thinking model opens the block: a draft inside it is neither answer, code nor verdict."""
    tokenizer = build_tiny_tokenizer(chat_template=THINKING_TEMPLATE)
    assert encode_prompt(tokenizer, (Message("user", "2 + 2"),)).opens_thinking
    plain = build_tiny_tokenizer()
    assert not encode_prompt(plain, (Message("user", "2 + 2"),)).opens_thinking
    about_tags = (Message("user", "what does <think> mean?"),)
    assert not encode_prompt(plain, about_tags).opens_thinking, "a message may speak of the tag"


def test_a_prompt_is_rendered_once_for_its_tokens_and_its_thinking_block(
    tiny_models: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = tiny_models["llama"]
    render, rendered = tokenizer.apply_chat_template, []

    def counted(turns: Any, **settings: Any) -> Any:
        rendered.append(turns)
        return render(turns, **settings)

    monkeypatch.setattr(tokenizer, "apply_chat_template", counted)
    policy = LocalPolicy(model, tokenizer)
    assert len(list(policy.sample([ask("r", count=2, max_tokens=2)]))) == 2
    assert len(rendered) == 1


@pytest.mark.parametrize(
    ("draft", "read"),
    [
        ("<answer>4</answer> no wait", extract_answer),
        (r"so \boxed{4}, I guess", extract_answer),
        ("```python\nclass Draft: ...\n```\nbut", extract_source),
    ],
)
def test_what_was_cut_off_while_thinking_has_no_answer_and_no_code(draft: str, read: Callable[[str], Any]) -> None:
    assert read(draft) is not None
    assert read(THINKING + draft) is None
    finished = f"{THINKING}{draft}</think>{draft}"
    assert read(finished) == read(draft)


def test_an_unfinished_thought_is_no_verdict() -> None:
    assert read_review("VERDICT: ACCEPT").verdict == "accept"
    assert read_review(THINKING + "VERDICT: ACCEPT").verdict == "unparseable"


def test_samples_of_a_thinking_template_carry_the_open_tag_and_rollouts_do_not(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    thinking = copy.deepcopy(tokenizer)
    thinking.chat_template = THINKING_TEMPLATE
    (sample,) = LocalPolicy(model, thinking).sample([ask("t", max_tokens=6)])
    assert sample.text.startswith(THINKING)
    assert extract_answer(sample.text) is None
    assert thinking.decode(sample.rollout.prompt_ids).endswith("<think>\n")
    assert sample.tokens == len(sample.rollout.token_ids) <= 6


def test_what_does_not_fit_is_refused_before_any_work_with_request_and_lengths(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    policy = LocalPolicy(model, tokenizer)
    with pytest.raises(
        PolicyError, match=r"'big' \(solver\): \d+ prompt tokens \+ max_tokens 40000 = \d+ do not fit .* 32768"
    ):
        policy.sample([ask("fine"), ask("big", max_tokens=40000)])
    small = LocalPolicy(model, tokenizer, batch_tokens=100)
    with pytest.raises(PolicyError, match=r"do not fit model.sample_batch_tokens = 100"):
        small.sample([ask("big", max_tokens=90)])
    assert policy.stats.prefill_tokens == small.stats.prefill_tokens == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 0}, "asks for 0 samples"),
        ({"max_tokens": 0}, "max_tokens = 0"),
        ({"temperature": -1.0}, "temperature -1.0"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"top_p": 0.0}, "top_p = 0.0"),
        ({"stop": ("",)}, "empty stop string"),
    ],
)
def test_senseless_requests_are_refused_by_name(tiny_models: Tiny, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"request 'r' .*{message}"):
        LocalPolicy(*tiny_models["llama"]).sample([ask("r", **settings)])


def test_two_requests_may_not_share_an_id(tiny_models: Tiny) -> None:
    with pytest.raises(InputError, match="share the id 'r'"):
        LocalPolicy(*tiny_models["llama"]).sample([ask("r"), ask("r")])


def test_no_requests_give_no_samples(tiny_models: Tiny) -> None:
    assert list(LocalPolicy(*tiny_models["llama"]).sample([])) == []


def test_a_policy_without_a_learner_says_so(tiny_models: Tiny) -> None:
    policy = LocalPolicy(*tiny_models["llama"])
    assert isinstance(policy, Policy)
    assert not policy.trainable
    for action in (
        lambda: policy.update(Batch((), (), {})),
        policy.save,
        lambda: policy.load("step-00001"),
    ):
        with pytest.raises(PolicyError, match="sampling only"):
            action()


class CountingLearner:
    """Doubles every weight on update: enough to see whose weights are sampled from."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.step = 0

    def update(self, batch: Batch) -> dict[str, float]:
        self.step += 1
        return {"update/step": float(self.step)}

    def save(self, directory: Any) -> None: ...

    def load(self, directory: Any) -> None: ...


def test_weights_may_not_change_under_an_open_iterator(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    policy = LocalPolicy(model, tokenizer, learner=CountingLearner(model), end_ids=())
    assert policy.trainable
    stream = policy.sample([ask("a", max_tokens=3), ask("b", max_tokens=9)])
    assert next(stream).request_id == "a"
    assert policy.update(Batch((), (), {})) == {"update/step": 1.0}
    with pytest.raises(PolicyError, match="finish iterating before update"):
        next(stream)
    assert len(list(policy.sample([ask("c")]))) == 1


def tiny_config(name: str) -> Any:
    import transformers

    base = {
        "vocab_size": 259, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
    }  # fmt: skip
    moe = {"num_local_experts": 4, "num_experts_per_tok": 2}
    return {
        "sliding window": lambda: transformers.MistralConfig(**base, sliding_window=8),
        "soft-capped": lambda: transformers.Gemma2Config(**base, head_dim=16, sliding_window=8),
        "learned positions": lambda: transformers.OPTConfig(
            vocab_size=259, hidden_size=64, ffn_dim=96, num_hidden_layers=2, num_attention_heads=4,
            word_embed_proj_dim=64, max_position_embeddings=512,
        ),
        "attention sinks": lambda: transformers.GptOssConfig(**base, **moe, head_dim=16, sliding_window=8),
        "recurrent": lambda: transformers.Lfm2Config(**base, layer_types=["conv", "full_attention"] * 2),
    }[name]()  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "cohorts"),
    [
        ("sliding window", True),
        ("soft-capped", True),
        ("learned positions", True),
        ("attention sinks", False),
        ("recurrent", False),
    ],
)
def test_other_architectures_sample_right_by_whichever_decoder_serves_them(kind: str, cohorts: bool) -> None:
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny_config(kind)).eval()
    policy = LocalPolicy(model, build_tiny_tokenizer(), max_rows=5)
    assert supports_cohorts(model) is cohorts
    assert isinstance(policy.decoder, PlainDecoder) is not cohorts
    samples = list(policy.sample([ask(f"{n}", "ab" * n, count=2, max_tokens=14 + n, seed=n) for n in range(1, 4)]))
    assert len(samples) == 6
    for sample in samples:
        assert torch.allclose(torch.tensor(sample.rollout.logprobs).double(), teacher_forced(model, sample), atol=1e-4)


def test_the_plain_decoder_draws_what_the_cohort_decoder_draws(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    fast, plain = LocalPolicy(model, tokenizer), LocalPolicy(model, tokenizer)
    plain.decoder = PlainDecoder(model, budget=200, max_rows=3)
    expected = by_key(list(fast.sample(mixed_requests())))
    got = by_key(list(plain.sample(mixed_requests())))
    assert {key: sample.rollout.token_ids for key, sample in got.items()} == {
        key: sample.rollout.token_ids for key, sample in expected.items()
    }


def test_attention_is_left_as_it_was_for_the_trainer(tiny_models: Tiny) -> None:
    model, tokenizer = tiny_models["llama"]
    before = model.config._attn_implementation
    list(LocalPolicy(model, tokenizer).sample([ask("r")]))
    assert model.config._attn_implementation == before == "sdpa"


PACKERS = {"half": packed.in_half_precision, "float32": packed.in_float32}
"""By name, so that a processor which has both tests both."""


@both_architectures
@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("kind", PACKERS)
def test_packed_weights_sample_what_the_model_of_those_weights_samples(
    tiny_models: Tiny, arch: str, trained: bool, kind: str
) -> None:
    if kind == "half" and packed.best_packer() is not packed.in_half_precision:
        pytest.skip("this processor, or this build of torch, has no FBGEMM")
    model, tokenizer = tiny_models[arch]
    expected = copy.deepcopy(model)
    for layer in expected.modules():
        if isinstance(layer, torch.nn.Linear) and kind == "half":
            layer.weight = torch.nn.Parameter(layer.weight.detach().half().float())
    plain = by_key(list(LocalPolicy(expected, tokenizer).sample(mixed_requests())))
    frozen = copy.deepcopy(model).requires_grad_(False)
    linear = sum(layer.weight.numel() for layer in frozen.modules() if isinstance(layer, torch.nn.Linear))
    assert pack_frozen(frozen, trained=trained, pack=PACKERS[kind]) == linear
    samples = by_key(list(LocalPolicy(frozen, tokenizer).sample(mixed_requests())))
    assert samples.keys() == plain.keys()
    for key, sample in samples.items():
        assert sample.rollout is not None
        assert plain[key].rollout is not None
        assert sample.rollout.token_ids == plain[key].rollout.token_ids
        assert sample.rollout.logprobs == pytest.approx(plain[key].rollout.logprobs, abs=1e-5)


def test_without_a_library_that_packs_the_weights_stay_as_they_are(
    tiny_models: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = copy.deepcopy(tiny_models["llama"][0]).requires_grad_(False)
    monkeypatch.setattr(packed, "best_packer", lambda: None)
    assert pack_frozen(frozen, trained=False) == 0
    assert "forward" not in vars(frozen.lm_head)


def test_plain_weights_stay_for_gradients_and_for_what_is_tied_to_them(tiny_models: Tiny) -> None:
    frozen = copy.deepcopy(tiny_models["llama"][0]).requires_grad_(False)
    frozen.lm_head.weight = frozen.get_input_embeddings().weight
    held = sum(weight.numel() for weight in frozen.parameters())
    alone = copy.deepcopy(frozen)
    pack_frozen(frozen, trained=True)  # as LoRA does: gradients flow through what is not stepped itself
    assert sum(weight.numel() for weight in frozen.parameters()) == held
    layer = frozen.model.layers[0].mlp.up_proj
    rows = torch.randn(3, layer.in_features, requires_grad=True)
    layer(rows).sum().backward()
    assert rows.grad is not None
    assert torch.allclose(rows.grad, layer.weight.sum(0).expand(3, -1), atol=1e-5)
    with torch.no_grad():  # the reference of the trainer: as exact as what is compared with it
        assert torch.equal(layer(rows), torch.nn.functional.linear(rows, layer.weight, layer.bias))
    with torch.inference_mode():  # sampling
        assert torch.equal(layer(rows), packed.best_packer()(layer)(rows.detach()))
    pack_frozen(alone, trained=False)
    others = sum(item.weight.numel() for item in alone.modules() if isinstance(item, torch.nn.Linear))
    assert others == alone.lm_head.weight.numel() == alone.get_input_embeddings().weight.numel()


def test_what_is_trained_is_never_packed(tiny_models: Tiny) -> None:
    model = copy.deepcopy(tiny_models["llama"][0]).requires_grad_(True)
    assert pack_frozen(model, trained=True) == 0
    model.model.layers[0].mlp.requires_grad_(False)
    frozen = model.model.layers[0].mlp
    assert pack_frozen(model, trained=True) == sum(weight.numel() for weight in frozen.parameters())
    assert all("forward" in vars(layer) for layer in frozen.modules() if isinstance(layer, torch.nn.Linear))
    assert "forward" not in vars(model.lm_head)
