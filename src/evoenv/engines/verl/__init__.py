"""The policy on a cluster: Ray, FSDP2 and vLLM, through verl as a library. Optional extra `evoenv[verl]`.

Our loop stays the driver, in one plain process; verl's parts are the engine behind the policy port. Its trainer, data
loader, reward loop and command line are not used.

| module          | what it is                                                                              |
|-----------------|-----------------------------------------------------------------------------------------|
| `policy`        | `VerlPolicy`: the port                                                                  |
| `sampling`      | a sampling session: one call per sample on the servers, collected as they finish        |
| `cluster`       | the training processes, the vLLM servers, weights from one to the other                 |
| `joining`       | Ray: join a cluster or start one, and what it offers                                    |
| `sandboxes`     | sandboxes on the CPUs of all nodes                                                      |
| `settings`      | verl's configuration tree out of ours                                                   |
| `learning`      | one update: parts of minibatches there, log-probabilities back                          |
| `columns`       | a part of it as the jagged columns that verl's processes take                           |
| `worker`        | what runs in the training processes: the loss, the optimiser's groups                   |
| `server`        | what runs in the server actors: draw one sample                                         |
| `shards`        | what is in a checkpoint's directory                                                     |
| `meter`         | tokens per second and idle servers                                                      |
| `limits`        | every wait has an end, and says who was waited for                                      |

Nothing of it is imported elsewhere; `assembly.py` loads it if `engine.name` is "verl".
"""
