"""Evaluation: environments and benchmark files, k samples a problem, numbers with intervals, resumable.

`evaluate` asks a policy every problem of a suite; `environment_suite` makes a suite of environments, `benchmark_suite`
one of a file of problems and answers, `find_suite` either, by name.
"""

from evoenv.evaluation.benchmarks import BenchmarkSuite, Fields, benchmark_suite
from evoenv.evaluation.environments import EnvironmentSuite, SuiteEnvironment, environment_suite
from evoenv.evaluation.evaluate import Evaluation, GroupResult, ItemResult, evaluate
from evoenv.evaluation.naming import find_suite
from evoenv.evaluation.statistics import Estimate, estimate, mean_pass_at, pass_at_k
from evoenv.evaluation.suite import BadProblem, Suite

__all__ = [
    "BadProblem",
    "BenchmarkSuite",
    "EnvironmentSuite",
    "Estimate",
    "Evaluation",
    "Fields",
    "GroupResult",
    "ItemResult",
    "Suite",
    "SuiteEnvironment",
    "benchmark_suite",
    "environment_suite",
    "estimate",
    "evaluate",
    "find_suite",
    "mean_pass_at",
    "pass_at_k",
]
