"""Programs under test: the idioms that people and models use, and programs that mean harm."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from evoenv.evaluation.programs import (
    FunctionTest,
    ProgramGrader,
    StdinTest,
    extract_program,
    same_text,
    same_value,
)
from evoenv.sandbox.host import Limits
from tests.effort import HANG_S, assert_linear

pytestmark = pytest.mark.sandbox

ADDING = (StdinTest("1 2\n", "3\n"), StdinTest("5 7", "12"))


@pytest.fixture(scope="module")
def grader() -> Iterator[ProgramGrader]:
    with ProgramGrader(limits=Limits(wall_s=120, memory_mb=256)) as grader:
        yield grader


RIGHT = {
    "input": "a, b = map(int, input().split())\nprint(a + b)",
    "stdin": "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
    "readline": "import sys\ninput = sys.stdin.readline\na, b = map(int, input().split())\nprint(a + b)",
    "iteration": "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))",
    "buffer": "import sys\na, b = sys.stdin.buffer.read().split()\nsys.stdout.buffer.write(b'%d' % (int(a) + int(b)))",
    "open(0)": "print(sum(map(int, open(0).read().split())))",
    "main": "def main():\n    print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()",
    "thread": (
        "import sys, threading\ndef main():\n    print(sum(map(int, input().split())))\n"
        "threading.stack_size(1 << 27)\nt = threading.Thread(target=main)\nt.start()\nt.join()"
    ),
    "recursion": (
        "import sys\nsys.setrecursionlimit(10**6)\ndef depth(n):\n    return 0 if n == 0 else 1 + depth(n - 1)\n"
        "depth(30000)\nprint(sum(map(int, input().split())))"
    ),
    "exit": "print(sum(map(int, input().split())))\nexit()\nprint('never')",
    "sys.exit": "import sys\nprint(sum(map(int, input().split())))\nsys.exit(0)",
    "modules": "from collections import *\nimport heapq, bisect, decimal\nprint(sum(map(int, input().split())))",
    "stderr": "import sys\nprint('debug', file=sys.stderr)\nprint(sum(map(int, input().split())))",
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\n"
        "p = P(*map(int, input().split()))\nprint(p.a + p.b)"
    ),
    "spaces": "print('', sum(map(int, input().split())), '')",
    "decimals": "print(float(sum(map(int, input().split()))))",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_pass_whatever_their_idiom(grader: ProgramGrader, name: str) -> None:
    assert grader.judge(RIGHT[name], ADDING) == (True, None)


HOSTILE = {
    "wrong": ("print(4)", "^test 1 of 2: printed '4.*, expected '3"),
    "second test": ("input()\nprint(3)", "test 2 of 2: printed"),
    "syntax": ("print(", "does not compile"),
    "raises": ("1/0", "ZeroDivisionError"),
    "exit status": ("import sys\nsys.exit(1)", "SystemExit"),
    "endless": ("while True: pass", "CPU|wall-clock"),
    "endless output": ("while True: print('x' * 1000000)", "printed more than"),
    "endless output at once": ("print('x' * 10**8)", "printed more than|Memory"),
    "memory": ("x = [0] * 10**10", "Memory"),
    "memory bit by bit": ("x = []\nwhile True: x.append('y' * 10**6 + str(len(x)))", "emory"),
    "network": ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "forbidden|No module|not permitted"),
    "fork": ("import os\nwhile True: os.fork()", "forbidden system call"),
    "exec": ("import os\nos.execv('/bin/sh', ['sh', '-c', 'echo 3'])", "forbidden|not permitted"),
    "shell": ("import os\nos.system('echo 3')", "forbidden|not permitted|printed"),
    "kill": ("import os\nos.kill(os.getppid(), 9)", "forbidden"),
    "read a file": ("print(open('/etc/passwd').read())", "FileNotFoundError"),
    "read a file below open": ("import os\nos.open('/etc/passwd', 0)", "not permitted|Permission"),
    "write a file": ("open('/tmp/evoenv-was-here', 'w')", "FileNotFoundError"),
    "leave at once": ("import os\nos._exit(0)", "exited with status 0"),
    "forge a reply": ("import os\nos.write(0, b'\\x00\\x00\\x00\\x02{}')", "forged|nonce"),
    "no end of recursion": ("def f(): f()\nf()", "RecursionError"),
    "other packages": ("import numpy", "No module named 'numpy'"),
    "nothing": ("", "printed ''"),
}


@pytest.mark.timeout(HANG_S)
@pytest.mark.parametrize("name", HOSTILE)
def test_bad_programs_fail_and_the_next_one_is_judged(grader: ProgramGrader, name: str) -> None:
    program, words = HOSTILE[name]
    passed, detail = grader.judge(program, ADDING, 1.0)
    assert not passed
    assert detail is not None
    assert re.search(words, detail), detail
    assert grader.judge(RIGHT["input"], ADDING) == (True, None)


TWO_SUM = (FunctionTest("twoSum", ([2, 7, 11, 15], 9), [0, 1]), FunctionTest("twoSum", ([3, 3], 6), [0, 1]))
SOLUTION = """
class Solution:
    def twoSum(self, nums: List[int], target: int) -> List[int]:
        seen = defaultdict(lambda: inf)
        for i, n in enumerate(nums):
            if target - n in seen:
                return {result}
            seen[n] = i
"""


@pytest.mark.parametrize("result", ["[seen[target - n], i]", "(seen[target - n], i)"])
def test_a_method_of_solution_is_called_with_the_judge_s_imports_at_hand(grader: ProgramGrader, result: str) -> None:
    assert grader.judge(SOLUTION.replace("{result}", result), TWO_SUM) == (True, None)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("def twoSum(nums, target): return [0, 2]", "returned [0, 2], expected [0, 1]"),
        ("def twoSum(nums, target): return {0, 1}", "TypeError"),
        ("def twoSum(nums): return [0, 1]", "TypeError"),
        ("class Other: pass", "neither a function twoSum nor a class Solution"),
        ("class Always(list):\n    def __eq__(self, other): return True\ndef twoSum(*_): return Always([5])", "[5]"),
        ("def twoSum(nums, target): return None", "returned None"),
        ("import json\njson.dumps = lambda v: '[0, 2]'\ndef twoSum(*_): return 1", "returned [0, 2]"),
    ],
)
def test_wrong_functions_fail(grader: ProgramGrader, program: str, words: str) -> None:
    passed, detail = grader.judge(program, TWO_SUM)
    assert not passed
    assert words in (detail or "")


def test_a_plain_function_will_do(grader: ProgramGrader) -> None:
    assert grader.judge("def twoSum(nums, target):\n    return [0, 1]", TWO_SUM) == (True, None)


def test_every_test_starts_the_program_anew(grader: ProgramGrader) -> None:
    counting = "calls = 0\ndef f():\n    global calls\n    calls += 1\n    return calls"
    assert grader.judge(counting, [FunctionTest("f", (), 1)] * 3) == (True, None)


def test_a_program_sees_no_expected_output(grader: ProgramGrader) -> None:
    """Everything reachable by the collector is searched for the secret."""
    search = (
        "import gc\n"
        "lists = (c.values() if type(c) is dict else c for c in gc.get_objects() if type(c) in {list, dict})\n"
        "texts = (text for values in lists for text in list(values) if type(text) is str)\n"
        "print(any(text.startswith('secret') and text.endswith('4711') for text in texts))"
    )
    passed, detail = grader.judge(search, [StdinTest("", "secret-4711")], 5.0)
    assert not passed
    assert "printed 'False" in (detail or "")


def test_a_program_too_long_is_not_run(grader: ProgramGrader) -> None:
    assert "at most" in (grader.judge("#" * 300_000, ADDING)[1] or "")


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("1 2\n3\n", "1 2\n3", True),
        ("1  2", "1 2", True),
        (" 1 2 \n", "1 2", True),
        ("1.0", "1", True),
        ("1e3", "1000", True),
        ("0.1", "0.10", True),
        ("0.1", "0.11", False),
        ("50000000000000001", "50000000000000000", False),
        ("1 2", "1 2 3", False),
        ("1\n2", "1 2", False),
        ("1\n\n2", "1\n2", False),
        ("yes", "Yes", False),
        ("nan", "nan", True),
        ("", "", True),
        ("sNaN", "1", False),
    ],
)
def test_output_is_compared_line_by_line_with_numbers_by_value(printed: str, expected: str, same: bool) -> None:
    assert same_text(printed, expected) is same


@pytest.mark.parametrize(
    ("returned", "expected", "same"),
    [
        ([1, [2]], [1, [2]], True),
        (1.0, 1, True),
        (True, 1, False),
        (1, True, False),
        (True, True, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        (None, None, True),
        ("1", 1, False),
    ],
)
def test_values_are_compared_as_json(returned: object, expected: object, same: bool) -> None:
    assert same_value(returned, expected) is same


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("Here:\n```python\nprint(1)\n```\nDone.", "print(1)\n"),
        ("```py\nold\n```\nbetter:\n```\nprint(2)\n```", "print(2)\n"),
        ("<think>```python\nx\n```</think>\n```python\nprint(3)\n```", "print(3)\n"),
        ("<answer>print(4)</answer>", "print(4)"),
        ("<answer>\n```python\nprint(5)\n```\n</answer>", "print(5)\n"),
        ("~~~python\nprint('```')\n~~~", "print('```')\n"),
        ("````\n```\ninner\n```\n````", "```\ninner\n```\n"),
        ("```python\nnever closed", None),
        ("no program at all", None),
        ("```python\n\n```", None),
        ("<think>```python\nprint(1)\n```", None),
    ],
)
def test_the_last_closed_block_after_the_thinking_is_the_program(response: str, program: str | None) -> None:
    assert extract_program(response) == program


@pytest.mark.parametrize(
    "text", ["```\n" * 50_000, "`" * 200_000, "   " * 5_000 + "\n```"], ids=["fences", "one fence", "spaces"]
)
def test_cutting_out_a_program_takes_linear_time(text: str) -> None:
    assert_linear(extract_program, text)
