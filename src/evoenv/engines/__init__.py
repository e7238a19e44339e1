"""One model in all its roles, behind `ports.Policy`.

| module        | what it is                                                                    |
|---------------|-------------------------------------------------------------------------------|
| `local`       | transformers + torch on this machine: samples and learns                      |
| `endpoint`    | any OpenAI-compatible server: samples only                                    |
| `scripted`    | the packaged fake, and replay of recorded transcripts                         |
| `requests`    | checks of requests that hold for every engine                                 |
| `checkpoints` | checkpoints by reference, for engines that keep each in a directory           |

docs/engines.md describes the port for whoever writes another one; tests/engines/conformance.py is what it must pass.

This file imports nothing, so that `evoenv --help` never waits for torch.
"""
