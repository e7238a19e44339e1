"""Parts of the verl engine that need neither verl nor a cluster; the engine itself is tested by `./test verl`."""

from __future__ import annotations

import importlib.util
import threading
import tracemalloc
from array import array
from pathlib import Path

import pytest
import torch

from evoenv.assembly import open_policy
from evoenv.config import load_config
from evoenv.engines.verl.columns import columns_of, of_responses, padded, parts_of
from evoenv.engines.verl.limits import EngineLost, last_line, within
from evoenv.engines.verl.meter import Meter
from evoenv.engines.verl.shards import Saved, read_state, write_state
from evoenv.errors import ConfigError, InputError, ModelError, StoreError
from evoenv.objective import ResponseWeight, Row, build_batch
from evoenv.records import Group, Rollout, Sample
from evoenv.store.packing import pack_rollout, unpack_rollout
from evoenv.training.tally import OldLogprobs


def row(prompt: list[int], response: list[int], **values: float) -> Row:
    rollout = Rollout.of(prompt, response, [-0.5 * (index + 1) for index in range(len(response))], 0.7)
    weight = ResponseWeight(values.get("mean", 0.25), 2.0, values.get("kl", 0.125))
    return Row("solver", rollout, values.get("advantage", 3.0), weight)


def test_a_column_holds_at_a_position_what_belongs_to_the_next_token() -> None:
    rows = [row([11, 12, 13], [21, 22]), row([14], [23, 24, 25], advantage=-1.0)]
    columns = columns_of(rows)
    values = {name: column.values().tolist() for name, column in columns.items() if name != "temperature"}
    assert values["input_ids"] == [11, 12, 13, 21, 22, 14, 23, 24, 25]
    assert values["position_ids"] == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    # the last prompt token predicts the first of the response; the last of the response predicts nothing
    assert values["loss_mask"] == [0, 0, 1, 1, 0, 1, 1, 1, 0]
    assert values["sampled"] == [0, 0, -0.5, -1.0, 0, -0.5, -1.0, -1.5, 0]
    assert values["advantages"] == [0, 0, 3, 3, 0, -1, -1, -1, 0]
    assert values["surrogate_weights"] == [0, 0, 0.5, 0.5, 0, 0.5, 0.5, 0.5, 0]
    assert values["kl_means"] == [0, 0, 0.125, 0.125, 0, 0.125, 0.125, 0.125, 0]
    assert columns["temperature"].tolist() == pytest.approx([0.7, 0.7])
    assert of_responses(columns["sampled"], rows).tolist() == [-0.5, -1.0, -0.5, -1.0, -1.5]


def test_a_rollout_knows_its_lowest_and_highest_token() -> None:
    assert Rollout.of([5, 2], [9, 3], [-1.0, -1.0]).bounds == (2, 9)
    assert Rollout.of([5], [], []).bounds == (5, 5)
    assert Rollout.of([], [], []).bounds == (0, 0)


def test_log_probabilities_before_the_update_are_laid_out_alike() -> None:
    rows = padded([row([11, 12, 13], [21, 22]), row([14], [23, 24, 25]), row([15], [26])], 4)
    old = OldLogprobs()
    old.add(rows[:3], torch.tensor([-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]))
    columns = columns_of(rows, old)
    assert columns["old"].values().tolist() == [0, 0, -1, -2, 0, -3, -4, -5, 0, -6, 0, -6, 0]
    assert of_responses(columns["old"], rows[:3]).tolist() == [-1, -2, -3, -4, -5, -6]
    assert "old" not in columns_of(rows)


def test_a_step_holds_its_rollouts_as_arrays() -> None:
    """A step of the paper has 9.4 million trained tokens; as Python's own numbers they take 70 bytes each."""
    tokens, groups = 5000, []
    tracemalloc.start()
    for number in range(4):
        rollouts = [
            unpack_rollout(pack_rollout(Rollout.of([1], array("i", [7]) * tokens, array("d", [-0.5]) * tokens)))
            for _ in range(2)
        ]
        samples = tuple(Sample(f"r{number}", i, "", tokens=tokens, rollout=item) for i, item in enumerate(rollouts))
        groups.append(Group(f"r{number}", "solver", samples, (0.0, 1.0)))
    batch = build_batch(groups, load_config().training)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(len(item.response_ids) for item in batch.minibatches[0]) == 8 * tokens
    assert held / (8 * tokens) < 16, "four bytes for a token, eight for its log-probability, and little beside"


def test_a_minibatch_is_handed_over_in_parts_and_each_device_gets_rows_of_like_lengths() -> None:
    def lengths(parts: list[list[Row]]) -> list[list[int]]:
        return [[len(item.prompt_ids) + len(item.response_ids) for item in part] for part in parts]

    rows = [row([1], [2] * (length - 1)) for length in (3, 9, 5, 8, 4, 2, 6)]
    # 9 + 8 + 6 tokens, and 5 more would be too many; one device after the other: 9 and 6, then 8
    assert lengths(list(parts_of(rows, 2, 25))) == [[9, 6, 8], [5, 3, 4, 2]]
    assert lengths(list(parts_of(rows, 1, 1000))) == [[9, 8, 6, 5, 4, 3, 2]]
    assert lengths(list(parts_of(rows, 4, 1000))) == [[9, 4, 8, 3, 6, 2, 5]]
    assert lengths(list(parts_of(rows[:2], 4, 1))) == [[9], [3]], "a sequence is never cut"
    assert list(parts_of([], 2, 25)) == []


def test_rows_are_filled_up_with_silent_ones() -> None:
    rows = [row([1, 2, 3], [4, 5]), row([1], [2]), row([1, 2], [3, 4])]
    assert padded(rows, 3) == rows
    filled = padded(rows, 4)
    assert filled[:3] == rows
    assert [(item.advantage, item.weight.surrogate, item.weight.kl_mean) for item in filled[3:]] == [(0.0, 0.0, 0.0)]
    assert filled[3].prompt_ids == rows[1].prompt_ids, "the shortest costs least"
    # values of the padding are not among those of the responses
    assert len(of_responses(columns_of(filled)["sampled"], rows)) == 5


def test_jagged_columns_of_one_minibatch_can_be_multiplied() -> None:
    columns = columns_of([row([1, 2], [3]), row([1], [2, 3, 4])])
    product = columns["advantages"].values() * columns["surrogate_weights"].values()
    assert torch.equal(product, torch.tensor([0, 1.5, 0, 1.5, 1.5, 1.5, 0]))


def test_a_wait_ends_and_says_for_what() -> None:
    assert within(60, "adding", lambda a, b: a + b, 2, 3) == 5
    with pytest.raises(ZeroDivisionError):
        within(60, "dividing", lambda: 1 / 0)
    never = threading.Event()
    try:
        with pytest.raises(EngineLost, match=r"loading took more than 0\.05 s .*Look into /tmp/logs.*--resume"):
            within(0.05, "loading", never.wait, logs="/tmp/logs")
    finally:
        never.set()


def test_of_a_remote_error_the_last_line_is_told() -> None:
    assert last_line(RuntimeError("ray::call()\n  File x\nValueError: too long\n\n")) == "ValueError: too long"
    assert last_line(RuntimeError()) == "RuntimeError"


def test_tokens_per_second_and_idle_servers() -> None:
    now = 0.0
    meter = Meter(2, clock=lambda: now)
    now = 5.0  # nothing is drawn: no time counts
    meter.begin(0)
    meter.begin(1)
    now = 7.0
    meter.end(1, 30)
    now = 9.0  # server 1 idles for two of four seconds: a quarter of all
    meter.end(0, 70)
    now = 20.0
    assert meter.read() == {
        "engine/publish_seconds": 0.0,
        "engine/sampled_tokens_per_second": 25.0,
        "engine/idle_servers": 0.25,
    }
    assert meter.read() == {"engine/publish_seconds": 0.0}


@pytest.mark.skipif(
    importlib.util.find_spec("verl") is not None, reason="verl is installed; this is about its absence, run it without"
)
def test_without_verl_one_is_told_what_to_install() -> None:
    with pytest.raises(InputError, match=r"verl.* not found; .*pip install 'evoenv\[verl\]'"):
        open_policy(load_config(overrides=["engine.name=verl"]))


def test_a_checkpoint_is_whole_or_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "huggingface").mkdir()
    (tmp_path / "huggingface" / "model.safetensors").write_bytes(b"abc")
    (tmp_path / "model_world_size_2_rank_0.pt").write_bytes(b"12345")
    with pytest.raises(StoreError, match=r"1 of 2 shards .* file system that all nodes share"):
        write_state(tmp_path, Saved(7, 2), "nano")
    with pytest.raises(ModelError, match="no whole checkpoint of this engine"):
        read_state(tmp_path)
    (tmp_path / "model_world_size_2_rank_1.pt").write_bytes(b"1")
    write_state(tmp_path, Saved(7, 2), "nano")
    assert read_state(tmp_path) == Saved(7, 2)
    (tmp_path / "model_world_size_2_rank_0.pt").write_bytes(b"1234")
    with pytest.raises(ModelError, match=r"damaged: model_world_size_2_rank_0\.pt"):
        read_state(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("verl") is not None, reason="the real packages are here")
def test_packages_that_do_not_go_together_are_a_line_not_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ray", "verl", "vllm"):
        (tmp_path / f"{name}.py").write_text("raise ValueError('vllm version None not supported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"do not go together: ValueError: vllm version None not supported.*evoenv\[verl"
    ):
        open_policy(load_config(overrides=["engine.name=verl", "model.name=nano"]))
