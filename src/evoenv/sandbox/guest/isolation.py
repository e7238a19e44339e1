"""The order in which a zygote gives things up, and the record of what it could not."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable

from evoenv.sandbox.guest import lockdown, seccomp

NAMESPACE_PLANS = (
    ["user", "pid", "net", "mnt", "ipc", "uts", "cgroup"],
    ["user", "pid", "net", "mnt", "ipc"],
    ["user", "pid", "net", "ipc"],
    ["user", "net"],
    ["pid", "net", "mnt", "ipc", "uts"],
    ["pid", "net", "ipc"],
    ["net"],
)
"""Best first. Those without `user` are for a root that may unshare but not create user namespaces."""


def pidfd_of(process: int) -> int:
    """Open a handle of a process that is never reused for another."""
    if not hasattr(os, "pidfd_open"):
        raise OSError("needs Linux 5.3 or newer")
    return os.pidfd_open(process)


class Isolation:
    """What was given up (`layers`), what could not be (`missing`, with the reason), and what workers need."""

    def __init__(self, without: list[str], uid: int) -> None:
        self._without = without
        self._uid = uid
        self.layers: list[str] = []
        self.missing: dict[str, str] = {}
        self.ruleset: int | None = None
        self.program: bytes | None = None
        self.parent_death = True
        self.pidfd = False

    def _take(self, layer: str, action: Callable[[], object]) -> bool:
        """Take one layer: list it if it worked, else put it under `missing` with the reason."""
        try:
            if layer in self._without:
                raise OSError("left off on request")
            action()
        except (OSError, ValueError) as error:
            self.missing[layer] = str(error)
            return False
        self.layers.append(layer)
        return True

    def apply(self) -> None:
        self._take("oom-first", lockdown.volunteer_for_out_of_memory)
        names = self._choose_namespaces()
        if "user" in names or not names:
            self._drop_user()
        if names:
            lockdown.enter_namespaces(names)
            self.layers.append("namespaces:" + ",".join(names))
            if "pid" in names:
                self._stay_behind_as_keeper()
            if "mnt" in names:
                lockdown.leave_file_system()
        if names and "user" not in names:
            self._drop_user()
        self._take("capabilities", lockdown.drop_capabilities)
        self._take("no-new-privs", lockdown.forbid_new_privileges)
        self._take("untraceable", lambda: lockdown.set_traceable(False))
        self._take("landlock", self._landlock)
        self._take("seccomp", self._seccomp)
        self.parent_death = self._take("parent-death", lambda: None if sys.platform == "linux" else self._no_linux())
        if self.parent_death and "pid" in names:
            lockdown.die_with_parent(0)  # the keeper is outside the namespace: it has no number in here
        self._take("rlimits", lambda: None)
        self.pidfd = self._take("pidfd", lambda: os.close(pidfd_of(os.getpid())))

    @staticmethod
    def _no_linux() -> None:
        raise OSError("only Linux has it")

    def _drop_user(self) -> None:
        if os.getuid() != 0:
            self.missing["uid"] = "the host is not root: workers run as its user, behind the other layers"
            return
        self._take("uid", lambda: lockdown.drop_user(self._uid, self._uid))

    def _choose_namespaces(self) -> list[str]:
        """Return the best plan of namespaces that works here, tried in a throw-away child."""
        if "namespaces" in self._without:
            self.missing["namespaces"] = "left off on request"
            return []
        root = os.getuid() == 0
        best, reason = list(NAMESPACE_PLANS[0]), ""

        def attempt() -> None:
            if root and "user" in names and "uid" not in self._without:
                lockdown.drop_user(self._uid, self._uid)
            lockdown.enter_namespaces(names)
            if "pid" in names:
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
            if "mnt" in names:
                lockdown.leave_file_system()

        for names in NAMESPACE_PLANS:
            if ("user" not in names and not root) or any(f"namespaces:{name}" in self._without for name in names):
                continue
            why = lockdown.failure_in_child(attempt)
            if why is None:
                lost = [name for name in best if name not in names]
                if lost:
                    self.missing["namespaces:" + ",".join(lost)] = reason or "left off on request"
                return list(names)
            reason = reason or why
        self.missing["namespaces"] = reason or "left off on request"
        return []

    def _stay_behind_as_keeper(self) -> None:
        """Fork PID 1 of the new namespace; the caller goes on as that one, the keeper only waits for it."""
        child = os.fork()
        if child == 0:
            return
        lockdown.close_descriptors(0)
        with contextlib.suppress(OSError):
            lockdown.drop_user(self._uid, self._uid)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(status if status >= 0 else 128 - status)

    def _landlock(self) -> None:
        self.ruleset = lockdown.landlock_deny_all()
        lockdown.landlock_restrict(self.ruleset)

    def _seccomp(self) -> None:
        program = seccomp.build_filter()
        why = lockdown.failure_in_child(lambda: lockdown.filter_system_calls(program))
        if why is not None:
            raise OSError(why)
        self.program = program
