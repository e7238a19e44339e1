"""One model in all its roles, behind `ports.Policy`.

| module      | what it is                                                                      |
|-------------|---------------------------------------------------------------------------------|
| `local`     | transformers + torch on this machine: samples and learns                        |
| `endpoint`  | any OpenAI-compatible server: samples only                                      |
| `scripted`  | the packaged fake, and replay of recorded transcripts                           |
| `models`    | from a model's name to a directory that transformers loads                      |
| `tiny`      | a random model of half a million weights, built in a second, for tests          |
| `embedder`  | all-MiniLM-L6-v2 and a hashing fake, behind `ports.Embedder`                    |

This file imports nothing, so that `evoenv --help` never waits for torch.
"""
