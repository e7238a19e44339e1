"""What a policy can do in each role, measured as the loop would meet it.

- *generator*: candidates at the sampling temperature through the real validation; of those that reach L5, how many are
  verbatim in the data, how many combine parts as the data never does, and for how many the words ask what the code
  computes (the corpus's consistency oracle; what it cannot read is counted apart);
- *solver*: accuracy at the lowest level on fresh instances of train and of held-out families, or of a run's
  environments that were kept for it; and as *chance* what the same answers earn on another instance each;
- *reviewer*: verdicts on sound and on broken programs that pass validation;
- *programmer* (the reviewer that recomputes): programs that are right on all of sixteen fresh instances, for
  environments of train and of held-out families.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from evoenv.admission.review import read_review
from evoenv.config import ReviewConfig
from evoenv.corpus import combination, corpus_index, is_verbatim, read_environment
from evoenv.environment.answers import extract_answer, extract_source
from evoenv.evaluation import environment_suite, estimate
from evoenv.evaluation.programs import ProgramGrader
from evoenv.ports import Policy
from evoenv.prompts.solver import solver_messages
from evoenv.records import Instance, Request, derive_seed
from evoenv.sandbox.pool import WorkerPool
from evoenv.stages.recomputing import Recomputing, prepare_recomputing, program_of, recompute
from evoenv.validation.validate import validate
from evoenv.warmstart.from_run import RunPairs
from evoenv.warmstart.pairs import CorpusPairs, PairSource, generator_pair
from evoenv.warmstart.recipe import INSTANCES, ChecksRecipe, Recipe

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

SAMPLES_PER_PROMPT = 4
HELD_OUT = ("corpus:held-out", "corpus:near")
PROGRAM_LEVELS = (0, 1)
"""Levels of the instances that programs are run on."""


class Stopped(Exception):
    """A stop was requested while something was measured; all that was learnt is kept."""


class Environment(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def source(self) -> str: ...


class Abilities:
    """Measures policies of one warm start; the data's index is made once."""

    def __init__(
        self, recipe: Recipe, source: PairSource, sandbox: Sandbox, *, before: Iterable[PairSource] = ()
    ) -> None:
        """Prepare the measures. `before` are the data of earlier stages: what was shown then is not new either."""
        self.recipe, self.source, self.sandbox = recipe, source, sandbox
        self._sources = list(source.sources())
        sources = list(dict.fromkeys([*self._sources, *(text for stage in before for text in stage.sources())]))
        self._verbatim = corpus_index(sources)
        self._combinations = {combination(text) for text in sources}

    def measure(self, policy: Policy, tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
        """Measure every role; `tell` is called with what is measured next."""
        checks, data = self.recipe.checks, self.recipe.data
        abilities: dict[str, Any] = {}
        if checks.candidates and data.generator > 0:
            tell(f"generator: {checks.candidates} candidates")
            abilities["generator"] = self.generator(policy, checks)
        if checks.problems and data.solver > 0:
            abilities["solver"] = {}
            for name, environments in self._suites(checks.problems // INSTANCES):
                tell(f"solver: {name}")
                abilities["solver"][name] = self.solver(policy, checks, environments)
        if checks.reviews and data.reviewer > 0 and isinstance(self.source, CorpusPairs):
            tell(f"reviewer: {checks.reviews} reviews")
            abilities["reviewer"] = self.reviewer(policy, checks, self.source)
        if checks.programs and data.programmer > 0:
            abilities["programmer"] = {}
            for name, environments in self._suites(checks.programs):
                tell(f"programmer: {name}")
                abilities["programmer"][name] = self.programmer(policy, checks, environments)
        return abilities

    def generator(self, policy: Policy, checks: ChecksRecipe) -> dict[str, Any]:
        sources = self.candidates(policy, checks)
        with ThreadPoolExecutor(self.sandbox.workers) as threads:
            reports = list(threads.map(lambda text: validate(text, self.sandbox) if text else None, sources))
        layers = Counter(report.layer if report else 0 for report in reports)
        sound = [text for text, report in zip(sources, reports, strict=True) if text and report and report.layer == 5]
        readings = [read_environment(text).consistent for text in sound]
        new = [text for text in sound if (made := combination(text)) and made not in self._combinations]
        return {
            "candidates": len(sources),
            "layers": {str(layer): layers[layer] for layer in range(6)},
            "reach_l5": len(sound) / max(1, len(sources)),
            "not_verbatim": _share(not is_verbatim(text, self._verbatim) for text in sound),
            "distinct": len(set(sound)) / max(1, len(sound)),
            "new_combination": len(new) / max(1, len(sound)),
            "consistent": _share(value is True for value in readings),
            "inconsistent": _share(value is False for value in readings),
            "unreadable": _share(value is None for value in readings),
        }

    def candidates(self, policy: Policy, checks: ChecksRecipe) -> list[str | None]:
        """Return the sources of fresh samples, None if a response holds none."""
        rng = random.Random(derive_seed("abilities", self.recipe.seed))
        requests = []
        for number in range(-(-checks.candidates // SAMPLES_PER_PROMPT)):
            examples = rng.sample(self._sources, min(self.recipe.data.few_shot, len(self._sources)))
            requests.append(
                Request(
                    id=f"ability.{number}",
                    role="generator",
                    messages=generator_pair(examples, "", self.recipe.data).messages,
                    count=SAMPLES_PER_PROMPT,
                    temperature=checks.temperature,
                    max_tokens=checks.generator_tokens,
                    seed=derive_seed("abilities", self.recipe.seed, number),
                )
            )
        samples = sorted(policy.sample(requests), key=lambda sample: (sample.request_id, sample.index))
        return [extract_source(sample.text) for sample in samples[: checks.candidates]]

    def _suites(self, count: int) -> Iterator[tuple[str, Sequence[Environment]]]:
        """Yield what solver and programmer are measured on, by name: what they were taught, and what they were not."""
        if isinstance(self.source, RunPairs):
            name, own = self.source.own_suite()
            yield name, own[:count]
            return
        families = self.recipe.data.families
        taught = ("corpus:basic", "corpus:paired") if families == "paired" else (f"corpus:{families}",)
        for name in (*taught, *HELD_OUT):
            suite = environment_suite(
                name, difficulties=[0], instances=INSTANCES, seed=self.recipe.seed, programs=count
            )
            yield name, suite.environments

    def solver(self, policy: Policy, checks: ChecksRecipe, environments: Sequence[Environment]) -> dict[str, Any]:
        asked: list[tuple[str, Instance]] = []
        right: list[float] = []
        shuffled: list[float] = []
        failures = 0
        with WorkerPool(self.sandbox) as workers:
            for environment in environments:
                seeds = [derive_seed("abilities", self.recipe.seed, environment.id, i) for i in range(INSTANCES)]
                drawn = workers.instances(environment.source, seeds, 0)
                asked += [(environment.source, item) for item in drawn if item is not None]
            requests = [
                Request(
                    id=f"solve.{number}",
                    role="solver",
                    messages=solver_messages(item.prompt),
                    temperature=checks.temperature,
                    max_tokens=checks.solver_tokens,
                    seed=derive_seed("abilities", self.recipe.seed, "solve", number),
                )
                for number, (_, item) in enumerate(asked)
            ]
            said = {sample.request_id: extract_answer(sample.text) for sample in policy.sample(requests)}
            answers = [said[request.id] for request in requests]
            for source, group in groupby(range(len(asked)), key=lambda number: asked[number][0]):
                members = list(group)
                following = members[1:] + members[:1]
                own = [(asked[i][1].seed, 0, answers[i] or "") for i in members]
                other = [(asked[j][1].seed, 0, answers[i] or "") for i, j in zip(members, following, strict=True)]
                scores = [float(score.value >= 1.0) for score in workers.score(source, [*own, *other])]
                blank = [answers[i] is None for i in members] * 2
                scores = [0.0 if empty else value for value, empty in zip(scores, blank, strict=True)]
                right += scores[: len(members)]
                shuffled += scores[len(members) :]
                failures += sum(blank) // 2
        accuracy = estimate([[value] for value in right])
        return {
            "accuracy": accuracy.mean,
            "low": accuracy.low,
            "high": accuracy.high,
            "chance": sum(shuffled) / max(1, len(shuffled)),
            "problems": accuracy.n,
            "format_failures": failures / max(1, len(right)),
        }

    def reviewer(self, policy: Policy, checks: ChecksRecipe, source: CorpusPairs) -> dict[str, Any]:
        pairs = [source.pair_of("reviewer", -index) for index in range(1, checks.reviews + 1)]
        requests = [
            Request(
                id=f"review.{number}",
                role="reviewer",
                messages=pair.messages,
                temperature=checks.temperature,
                max_tokens=checks.reviewer_tokens,
                seed=derive_seed("abilities", self.recipe.seed, "review", number),
            )
            for number, pair in enumerate(pairs)
        ]
        said = {sample.request_id: read_review(sample.text, sample.finish_reason) for sample in policy.sample(requests)}
        truth = [read_review(pair.response).verdict for pair in pairs]
        verdicts = [said[request.id].verdict for request in requests]
        right = [float(a == b) for a, b in zip(truth, verdicts, strict=True)]
        accuracy = estimate([[value] for value in right])
        return {
            "accuracy": accuracy.mean,
            "low": accuracy.low,
            "high": accuracy.high,
            "reviews": len(right),
            "unparseable": _share(verdict == "unparseable" for verdict in verdicts),
            "always_one_verdict": max(_share(v == "accept" for v in truth), _share(v == "reject" for v in truth)),
        }

    def programmer(self, policy: Policy, checks: ChecksRecipe, environments: Sequence[Environment]) -> dict[str, Any]:
        """Ask for one program for each environment, and run it on fresh instances."""
        seed = self.recipe.seed
        config = ReviewConfig(
            programs=1,
            program_prompt=self.recipe.data.prompt,
            program_max_tokens=checks.programmer_tokens,
            temperature=checks.temperature,
        )

        def prepare(environment: Environment) -> Recomputing | None:
            with self.sandbox.open(environment.source) as worker:
                return prepare_recomputing(
                    worker, environment.id, PROGRAM_LEVELS, config.program_instances, config.program_gets, seed
                )

        def judge(environment: Environment, recomputing: Recomputing, program: str | None) -> tuple[bool, float]:
            with self.sandbox.open(environment.source) as worker:
                recomputation = recompute(recomputing, [program], worker, grader)
            return recomputation.verdict == "confirmed", recomputation.right

        with (
            ProgramGrader(allow_degraded=self.sandbox.allow_degraded) as grader,
            ThreadPoolExecutor(self.sandbox.workers) as threads,
        ):
            prepared = [
                (environment, recomputing)
                for environment, recomputing in zip(environments, threads.map(prepare, environments), strict=True)
                if recomputing is not None
            ]
            requests = [
                recomputing.request(f"program.{number}", config, derive_seed("abilities", seed, "program", number))
                for number, (_, recomputing) in enumerate(prepared)
            ]
            said = {sample.request_id: sample for sample in policy.sample(requests)}
            samples = [said[request.id] for request in requests]
            programs = [program_of(sample.text, sample.finish_reason) for sample in samples]
            judged = list(threads.map(judge, *zip(*prepared, strict=True), programs)) if prepared else []
        accuracy = estimate([[float(right)] for right, _ in judged])
        return {
            "accuracy": accuracy.mean,
            "low": accuracy.low,
            "high": accuracy.high,
            "programs": accuracy.n,
            "instances": sum(share for _, share in judged) / max(1, len(judged)),
            "no_program": _share(program is None for program in programs),
        }


def _share(values: Any) -> float:
    flags: Sequence[bool] = list(values)
    return sum(flags) / len(flags) if flags else 0.0
