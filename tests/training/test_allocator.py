import subprocess
import sys

import pytest

# Keeps one block of 5 MB in each of 40 rounds of six, as a checkpointed pass does; prints the memory held at the end.
ROUNDS = """
import torch
from evoenv.training.allocator import return_large_blocks
torch.set_num_threads(1)
{setting}
kept = []
for _ in range(40):
    blocks = [torch.ones(5 << 18) for _ in range(6)]
    large = torch.ones(16 << 20)
    kept.append(blocks[3])
    del blocks, large
print(int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="it is about glibc's heap: run this test on Linux")
def test_freed_blocks_are_given_back() -> None:
    def resident_mb(setting: str) -> int:
        command = [sys.executable, "-c", ROUNDS.format(setting=setting)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    idle = resident_mb("raise SystemExit(print(int(open('/proc/self/statm').read().split()[1]) * 4096 >> 20))")
    kept = 40 * 5
    assert resident_mb("assert return_large_blocks()") < idle + kept + 64
