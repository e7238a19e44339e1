"""A runtime without any filter: every builtin and module is there, so that only the kernel stands in the way.

Loaded by the zygote in place of `guest/runtime.py`. Calls run functions of the source by name.
"""

import asyncio  # noqa: F401
import ctypes
import gc  # noqa: F401
import multiprocessing  # noqa: F401
import pathlib  # noqa: F401
import pickle  # noqa: F401
import platform
import pty  # noqa: F401
import shutil  # noqa: F401
import subprocess  # noqa: F401
import tempfile  # noqa: F401
import threading  # noqa: F401

MACHINE = platform.machine()  # asked before the filter refuses uname
LIBC = ctypes.CDLL(None, use_errno=True)


class Runtime:
    def handle(self, op, args, items):
        if op == "load":
            self.scope = {"MACHINE": MACHINE, "LIBC": LIBC}
            exec(compile(args["source"], "<attack>", "exec", dont_inherit=True), self.scope)
            yield ["ok", {"functions": sorted(name for name, value in self.scope.items() if callable(value))}]
            return
        for item in items:
            try:
                result = ["ok", self.scope[op](item)]
            except Exception as error:
                result = ["err", type(error).__name__, str(error), None]
            yield result
