"""Every command and example of the exchange pages is run: by this interpreter, or by the consumer's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from exchange_support import environment, make_gym
from peer_packages import PAGES, Peer, blocks

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(3600)]


def commands(text: str) -> list[str]:
    """Return the lines of a shell block, those that end in a backslash joined."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def run_here(place: Path, page: str) -> None:
    """Run a page in this interpreter's environment, as a reader would, block by block."""
    for kind, text in blocks(page):
        script = text if kind == "python" else None
        for line in [None] if script else commands(text):
            command = [sys.executable, "-c", script] if line is None else ["bash", "-c", f"{SHELL}\n{line}"]
            done = subprocess.run(
                command, cwd=place, env=environment(), capture_output=True, text=True, check=False, timeout=900
            )
            assert done.returncode == 0, f"{line or script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


SHELL = f'evoenv() {{ "{sys.executable}" -m evoenv "$@"; }}; python() {{ "{sys.executable}" "$@"; }}'


@pytest.mark.slow
@pytest.mark.parametrize("page", ["files.md", "pools.md"])
def test_pages_that_need_only_us(tmp_path: Path, page: str) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'evoenv[export]'")
    run_here(tmp_path, page)


@pytest.mark.slow
def test_the_page_on_rlve_gym(tmp_path: Path) -> None:
    pytest.importorskip("networkx", reason="networkx is not installed: pip install networkx")
    make_gym(tmp_path)
    (tmp_path / "rlve").rename(tmp_path / "RLVE")
    run_here(tmp_path, "rlve-gym.md")
    assert json.loads((tmp_path / "rlve-data" / "train.jsonl").read_text().splitlines()[0])["name"].startswith(
        "MaxProduct"
    )


def test_every_page_is_in_the_index() -> None:
    index = (PAGES / "README.md").read_text()
    assert [
        page.name for page in PAGES.glob("*.md") if page.name != "README.md" and f"({page.name})" not in index
    ] == []


# --------------------------------------------------------------------------- the real consumers


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    from evoenv.models.tiny import build_tiny_policy

    return str(build_tiny_policy(tmp_path_factory.mktemp("tiny"), "llama"))


@pytest.mark.peer
def test_the_page_on_verl(tmp_path: Path) -> None:
    """The training command is composed by verl itself (`--cfg job`): every setting is one that it knows."""
    peer = Peer("verl-data", tmp_path)
    for kind, text in blocks("verl.md"):
        if kind == "python":
            peer.run_python(text)
        for line in commands(text) if kind == "bash" else ():
            said = peer.run(line + (" --cfg job" if "main_ppo" in line else ""))
            if "main_ppo" in line:
                assert "path: seeds-verl/compute_score.py" in said


READ_BY_VERL = """
import json, sys
from omegaconf import OmegaConf
from transformers import AutoTokenizer
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.utils.dataset.rl_dataset import RLHFDataset

model = json.load(sys.stdin)
settings = {"max_prompt_length": 4096, "cache_dir": "cache", "filter_overlong_prompts": False}
data = RLHFDataset("out/train.parquet", AutoTokenizer.from_pretrained(model), OmegaConf.create(settings))
path = {"path": "out/compute_score.py", "name": "compute_score"}
score = get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": path}}))
found = []
for row in (data[index] for index in range(len(data))):
    truth = row["reward_model"]["ground_truth"]
    for said in (f"<answer>{truth}</answer>", "<answer>no idea</answer>", truth):
        known = dict(data_source=row["data_source"], ground_truth=truth, extra_info=row["extra_info"])
        found.append(score(solution_str=said, **known))
assert "ground_truth" not in str(row["raw_prompt"])
print(json.dumps([(one["score"], one["format_ok"]) for one in found]))
"""


@pytest.mark.peer
def test_verls_own_data_set_and_reward_loading(tmp_path: Path, tiny_model: str) -> None:
    peer = Peer("verl-data", tmp_path)
    peer.run("evoenv export seeds --to verl -o out --instances 2 --test-instances 0 --difficulties 0,1")
    found = json.loads(peer.run_python(READ_BY_VERL, given=tiny_model).splitlines()[-1])
    assert found == [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]] * 20


@pytest.mark.peer
def test_the_page_on_data_sets(tmp_path: Path) -> None:
    peer = Peer("trl", tmp_path)
    for kind, text in blocks("datasets.md"):
        for line in commands(text) if kind == "bash" else ():
            peer.run(line)
        if kind == "python":
            peer.run_python(text)


@pytest.mark.peer
def test_the_page_on_trl(tmp_path: Path, tiny_model: str) -> None:
    """A real step of GRPO included, with a model of our own in the place of the one that the page names."""
    peer = Peer("trl", tmp_path)
    small = {
        "Qwen/Qwen3-0.6B": f"{tiny_model} --cpu",
        "--max-steps 100": "--max-steps 1",
        "--generations 8": "--generations 2",
        "--max-completion-length 1024": "--max-completion-length 16",
    }
    for kind, text in blocks("trl.md"):
        for line in commands(text) if kind == "bash" else ():
            said = peer.run(line, small)
            if "train_grpo" in line:
                assert "rewards/evoenv_reward/mean" in said
        if kind == "python":
            peer.run_python(text)


RIGHT_AND_WRONG_IN_TRL = """
import json, sys
sys.path.insert(0, "out")
from evoenv_trl import Environment, environment_rows, reward, rows

answers = json.load(sys.stdin)
found = []
for row, chat, answer in zip(rows("train"), environment_rows("train"), answers):
    columns = {key: [row[key]] * 2 for key in ("environment_id", "seed", "difficulty", "name")}
    said = [[{"role": "assistant", "content": f"<answer>{text}</answer>"}] for text in (answer, "no idea")]
    found.append(reward([row["prompt"]] * 2, said, **columns))
    environment, scores = Environment(), []
    for text in (answer, "no idea"):
        task = environment.reset(**chat)
        assert task in row["prompt"][0]["content"]
        assert environment.get_reward() == 0.0
        environment.submit(text)
        environment.submit("another")
        scores.append(environment.get_reward())
    found.append(scores)
print(json.dumps(found))
"""


@pytest.mark.peer
def test_right_and_wrong_answers_in_both_of_trls_forms(tmp_path: Path) -> None:
    peer = Peer("trl", tmp_path)
    drawn = "--instances 2 --test-instances 0 --difficulties 0,1"
    peer.run(f"evoenv export seeds --to trl -o out {drawn}")
    peer.run(f"evoenv export seeds --to jsonl -o answers {drawn}")
    answers = [json.loads(line)["answer"] for line in (tmp_path / "answers" / "train.jsonl").read_text().splitlines()]
    found = json.loads(peer.run_python(RIGHT_AND_WRONG_IN_TRL, given=answers))
    assert found == [[1.0, 0.0]] * 40
    shutil.rmtree(tmp_path / "answers")


TRAIN_WITH_ENVIRONMENTS = """
import json, sys
sys.path.insert(0, "out")
from datasets import Dataset
from evoenv_trl import Environment, environment_rows
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

model = json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(model)
tokenizer.chat_template = qwen3_chat_template
config = GRPOConfig(
    output_dir="grpo", max_steps=1, num_generations=2, per_device_train_batch_size=2, max_completion_length=16,
    use_cpu=True, bf16=False, report_to="none", save_strategy="no", logging_steps=1,
)
trainer = GRPOTrainer(
    model=model, args=config, processing_class=tokenizer, train_dataset=Dataset.from_list(environment_rows("train")),
    environment_factory=Environment,
)
trainer.train()
print(json.dumps([entry["rewards/Environment/mean"] for entry in trainer.state.log_history if "reward" in entry]))
"""


@pytest.mark.peer
def test_trl_trains_with_the_environment_factory(tmp_path: Path, tiny_model: str) -> None:
    peer = Peer("trl", tmp_path)
    peer.run("evoenv export seeds --to trl -o out --instances 4 --difficulties 0")
    rewards = json.loads(peer.run_python(TRAIN_WITH_ENVIRONMENTS, given=tiny_model).splitlines()[-1])
    assert rewards == [0.0]  # a model of random weights calls no tool
