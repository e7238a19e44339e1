"""A llama.cpp server for `policy_servers.py`, run by the interpreter of its own environment.

python llama_server.py FILE.gguf PORT THREADS ROWS CONTEXT
"""

from __future__ import annotations

import sys
import threading

import xllamacpp

path, port, threads, rows, context = sys.argv[1], *map(int, sys.argv[2:6])
settings = xllamacpp.CommonParams()
settings.model.path = path
settings.hostnames, settings.port = ["127.0.0.1"], port
settings.n_parallel, settings.n_ctx = rows, rows * context
settings.kv_unified = True
settings.n_gpu_layers = 0
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
threading.Event().wait()
