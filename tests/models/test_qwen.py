"""The smallest code model by name: whole, tied, and able to be asked for an environment that is then judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoenv.config import ModelConfig
from evoenv.engines.local.policy import LocalPolicy
from evoenv.environment.answers import extract_source
from evoenv.environment.sets import load_environments
from evoenv.errors import ModelError
from evoenv.models.resolve import end_token_ids, load_tokenizer, resolve_model
from evoenv.prompts.generator import Example, generator_messages
from evoenv.records import Request
from evoenv.sandbox.host import Sandbox
from evoenv.validation.validate import validate

NAME = "Qwen2.5-Coder-0.5B-Instruct"

pytestmark = [pytest.mark.long, pytest.mark.model, pytest.mark.sandbox]


@pytest.fixture(scope="module")
def directory() -> Path:
    try:
        return resolve_model(NAME, progress=False)
    except ModelError as error:
        pytest.skip(f"{NAME} cannot be had here: {error}")


def test_a_sampled_candidate_is_validated_end_to_end(directory: Path) -> None:
    policy = LocalPolicy.open(ModelConfig(name=str(directory), device="cpu"), None)
    assert sum(weights.numel() for weights in policy.model.parameters()) == 494_032_768
    assert policy.model.get_input_embeddings().weight is policy.model.get_output_embeddings().weight
    tokenizer = load_tokenizer(directory)
    assert set(tokenizer.convert_ids_to_tokens(end_token_ids(policy.model, tokenizer))) >= {"<|im_end|>"}
    pieces = tokenizer.convert_ids_to_tokens(tokenizer("x 120\n\n5")["input_ids"])
    assert pieces == ["x", "Ġ", "1", "2", "0", "ĊĊ", "5"]

    example = load_environments("seeds")["Sorting"]
    messages, _ = generator_messages([Example("example", example)], "short")
    request = Request("candidate", "generator", messages, temperature=0.0, max_tokens=700)
    (sample,) = policy.sample([request])
    source = extract_source(sample.text)
    assert source is not None, sample.text
    assert "def _generate" in source
    with Sandbox() as sandbox:
        report = validate(source, sandbox)
    # how good a greedy answer is, nobody promises: that it got a verdict with its reasons, we do
    assert report.passed or {finding.layer for finding in report.findings} == {report.layer + 1}
