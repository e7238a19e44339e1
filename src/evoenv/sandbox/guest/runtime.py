"""The worker's side of every call: load one source, then generate, render, parse and score on request.

Results are `["ok", value]` or `["err", type, message, line]`, with the number behind it if a score was refused:
candidate code may raise anything and the call still answers. Nothing is judged here; the host compares encoded values.

Loaded under its real name: the zygote registers `evoenv.sandbox.guest` as an otherwise empty package, so
that this file is the same module on both sides of the wall.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from evoenv.sandbox.guest import codec, tracing
from evoenv.sandbox.guest.contract import ParameterController, TimeoutException, VerifiableEnvironment, timeout
from evoenv.sandbox.guest.dialects import ADAPTERS, METHODS, Adapter, BadResult, BadScore, ControllerLevels, recognise

CANDIDATE = "<environment>"
TASKS_KEPT = 512
MAX_MESSAGE = 400
RENDERINGS = 5
"""How often a prompt is rendered before a difference is blamed on storage."""
CONTRACT_MODULES = {
    "evoenv": ("VerifiableEnvironment",),
    "evoenv.environment": ("VerifiableEnvironment",),
    "evoenv.environment.base": ("VerifiableEnvironment", "ParameterController"),
    "Gym": (),
    "Gym.environment": ("VerifiableEnvironment", "timeout", "TimeoutException"),
    "Gym.parameter_controller": ("ParameterController",),
}
"""Modules that exist only to hand out the contract."""


def failure(error: BaseException, where: str = "") -> list[Any]:
    """Describe an error as a result: its type, one line of text, the candidate's line it came from."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CANDIDATE:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error)
    except BaseException:
        text = ""
    text = text.encode("utf-8", "replace").decode()[:MAX_MESSAGE]
    name = type(error).__name__
    message = f"{where} raised {name}: {text}" if where else f"{name}: {text}"
    refused = error.value if isinstance(error, BadScore) else None
    # A finite number only: the reply is JSON, which has no others.
    value = [refused] if type(refused) is float and abs(refused) < float("inf") else []
    return ["err", name, message, line, *value]


def contract_modules() -> dict[str, types.ModuleType]:
    contract: dict[str, Any] = {
        "VerifiableEnvironment": VerifiableEnvironment,
        "ParameterController": ParameterController,
        "timeout": timeout,
        "TimeoutException": TimeoutException,
    }
    modules: dict[str, types.ModuleType] = {}
    for name, exported in CONTRACT_MODULES.items():
        module = types.ModuleType(name)
        for attribute in exported:
            setattr(module, attribute, contract[attribute])
        modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    return modules


class Runtime:
    """One loaded environment and the instances it has made."""

    def __init__(self) -> None:
        self.adapter: Adapter | None = None
        self.shared: Any = None
        self.levels: ControllerLevels | None = None
        self._tasks: OrderedDict[tuple[int, int], Callable[[], Any]] = OrderedDict()
        self._shared_task: tuple[tuple[int, int], Any] | None = None
        self._operations: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
            "instances": self._instance,
            "score": self._score,
            "parse": self._parse,
            "swapped": self._swapped,
            "roundtrip": self._roundtrip,
            "perturbed": self._perturbed,
            "draws": self._draws,
        }

    def handle(self, op: str, args: dict[str, Any], items: list[Any]) -> Iterator[Any]:
        """Yield one result per item; `load` has one result and no items."""
        if op == "load":
            try:
                yield ["ok", self._load(args)]
            except BaseException as error:
                yield failure(error, "loading the file")
            return
        operation = self._operations[op]
        for item in items:
            try:
                result = ["ok", operation(item, args)]
            except BaseException as error:
                stage = getattr(error, "evoenv_stage", "")
                result = failure(error, stage)
            yield result

    # ----------------------------------------------------------------- loading

    def _load(self, args: dict[str, Any]) -> dict[str, Any]:
        allowed = frozenset(args["allowed_imports"])
        instrument = bool(args.get("instrument"))
        if instrument:
            tracing.install()
        scope = self._execute(args["source"], allowed, instrument)
        controller = self._controller(scope, args.get("controller"), allowed)
        explicit = args.get("parameters")
        if explicit is not None or controller is not None:
            self.levels = ControllerLevels(controller, explicit)
        cls = self._environment_class(scope)
        dialect = recognise(cls)
        if dialect is None:
            raise BadResult(f"the methods of {cls.__name__} fit no dialect")
        self.adapter = ADAPTERS[dialect](cls, self.levels)
        self.shared = self.adapter.new()
        template = getattr(cls, "prompt_template", "")
        return {
            "class": cls.__name__,
            "dialect": dialect,
            "template": template if type(template) is str else "",
            "levels": self.levels.count if self.levels is not None and dialect == "rlve" else None,
        }

    def _execute(self, source: str, allowed: frozenset[str], instrument: bool) -> dict[str, Any]:
        scope: dict[str, Any] = {
            "__name__": "environment",
            "__builtins__": self._builtins(allowed),
            "VerifiableEnvironment": VerifiableEnvironment,
            "ParameterController": ParameterController,
        }
        tree = ast.parse(source, CANDIDATE)
        if instrument:
            tree = tracing.mark_argument_sites(tree)
            scope.update(tracing.scope())
        # dont_inherit: this file's own `from __future__` must not change the candidate's meaning.
        exec(compile(tree, CANDIDATE, "exec", dont_inherit=True), scope)
        return scope

    def _builtins(self, allowed: frozenset[str]) -> dict[str, Any]:
        """Return the builtins with an import that knows the allow-list: a quality filter, the kernel is the wall."""
        contract = contract_modules()

        def import_allowed(
            name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
        ) -> types.ModuleType:
            target = "Gym." + name if level else name
            if target in contract:
                return contract[target] if fromlist else contract[target.partition(".")[0]]
            if level or (name != "__future__" and name.partition(".")[0] not in allowed):
                raise ImportError(f"import of {name!r} is not allowed")
            module: types.ModuleType = builtins.__import__(name, globals, locals, fromlist, 0)
            return module

        return {**vars(builtins), "__import__": import_allowed}

    def _controller(self, scope: dict[str, Any], source: str | None, allowed: frozenset[str]) -> type | None:
        if source is not None:
            scope = self._execute(source, allowed, False)
        controllers = [
            value
            for value in scope.values()
            if isinstance(value, type)
            and value.__module__ == "environment"
            and hasattr(value, "get_parameter_list")
            and hasattr(value, "update")
        ]
        if source is not None and not controllers:
            raise BadResult("the controller file has no class with update() and get_parameter_list()")
        return controllers[-1] if controllers else None

    def _environment_class(self, scope: dict[str, Any]) -> type:
        classes = [
            value
            for value in scope.values()
            if isinstance(value, type)
            and value.__module__ == "environment"
            and all(callable(getattr(value, method, None)) for method in METHODS)
        ]
        # A base class of the chosen one may sit in the same file: take what nothing else derives from.
        leaves = [cls for cls in classes if not any(other is not cls and issubclass(other, cls) for other in classes)]
        if len(set(leaves)) != 1:
            raise BadResult(f"found {len(set(leaves))} environment classes, expected one")
        return leaves[0]

    # ----------------------------------------------------------------- running

    def _stage(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BaseException as error:
            with contextlib.suppress(BaseException):  # a class of its own may refuse: then only the stage is lost
                error.evoenv_stage = name  # type: ignore[attr-defined]
            raise

    def _generate(self, seed: int, difficulty: int, shared: bool) -> tuple[Any, Any]:
        assert self.adapter is not None, "load comes first"
        if shared:
            self._shared_task = None
        environment = self.shared if shared else self._stage("__init__", self.adapter.new)
        return environment, self._stage("_generate", self.adapter.generate, environment, seed, difficulty)

    def _on_shared(self, seed: int, difficulty: int) -> Any:
        """Return the instance as the long-lived object holds it; make it anew only when another one is asked for."""
        key = (seed, difficulty)
        if self._shared_task is None or self._shared_task[0] != key:
            task = self._generate(seed, difficulty, True)[1]
            self._shared_task = (key, task)
        return self._shared_task[1]

    def _task(self, seed: int, difficulty: int) -> Any:
        """Return an untouched copy of the instance, generated at most once while it is remembered."""
        assert self.adapter is not None, "load comes first"
        key = (seed, difficulty)
        thaw = self._tasks.get(key)
        if thaw is None:
            thaw = self._tasks[key] = self.adapter.freeze(self._generate(seed, difficulty, False)[1])
            if len(self._tasks) > TASKS_KEPT:
                self._tasks.popitem(last=False)
        return thaw()

    def _instance(self, item: list[int], args: dict[str, Any]) -> list[Any]:
        """Return [prompt, latent, reference, reference is a full answer]."""
        adapter = self.adapter
        assert adapter is not None, "load comes first"
        environment, task = self._generate(item[0], item[1], bool(args.get("shared")))
        thaw = None if args.get("shared") else adapter.freeze(task)
        # Encoded before rendering: a renderer that changes the instance must not hide it.
        latent = codec.encode(adapter.latent(task))
        reference = codec.encode(adapter.reference(task))
        full = adapter.has_reference(task)
        prompt = self._stage("_prompt_generate", adapter.prompt, environment, task)
        codec.encode(prompt)
        if thaw is not None:
            self._tasks[item[0], item[1]] = thaw
            if len(self._tasks) > TASKS_KEPT:
                self._tasks.popitem(last=False)
        return [prompt, latent, reference, full]

    def _score(self, item: list[Any], args: dict[str, Any]) -> Any:
        seed, difficulty, text = item
        adapter = self.adapter
        assert adapter is not None, "load comes first"
        if args.get("shared"):
            task = self._on_shared(seed, difficulty)
            return self._stage("scorer", adapter.score, self.shared, task, text)
        task = self._task(seed, difficulty)
        return self._stage("scorer", adapter.score, adapter.new(), task, text)

    def _parse(self, item: list[Any], args: dict[str, Any]) -> Any:
        """Parse a text with `_process` on the shared object, after it has generated the named instance."""
        seed, difficulty, text = item
        adapter = self.adapter
        assert adapter is not None, "load comes first"
        task = self._on_shared(seed, difficulty)
        parsed = self._stage("_process", adapter.parse, self.shared, task, text)
        try:
            return ["value", codec.encode(parsed)]
        except codec.NotSerialisable:
            return ["opaque", type(parsed).__name__]

    def _swapped(self, item: list[Any], args: dict[str, Any]) -> Any:
        """Score a text on one instance with the reference of another."""
        (seed, difficulty), (other_seed, other_difficulty), text = item
        adapter = self.adapter
        assert adapter is not None, "load comes first"
        task = adapter.with_reference_of(self._task(seed, difficulty), self._task(other_seed, other_difficulty))
        return self._stage("scorer", adapter.score, adapter.new(), task, text)

    def _roundtrip(self, item: list[Any], args: dict[str, Any]) -> list[Any]:
        """Return [renders alike before, prompt kept, score before, score after] around one trip through the codec."""
        seed, difficulty, text = item
        adapter = self.adapter
        assert adapter is not None, "load comes first"
        environment, task = self._generate(seed, difficulty, False)
        if adapter.dialect != "functional":  # nothing travels: the object is made anew from the seed
            return [True, True, 0.0, 0.0]
        thaw = adapter.freeze(task)
        stored = (codec.decode(codec.encode(task[0])), codec.decode(codec.encode(task[1])))
        render, score = adapter.prompt, adapter.score
        copies = {render(adapter.new(), thaw()) for _ in range(RENDERINGS)}
        kept = self._stage("_prompt_generate", render, adapter.new(), stored)
        before = self._stage("scorer", score, adapter.new(), thaw(), text)
        after = self._stage("scorer", score, adapter.new(), stored, text)
        # The instance itself comes last: only it still shares objects with the module that made it.
        original = render(environment, task)
        return [len(copies) == 1, copies == {original} and kept == original, before, after]

    # ----------------------------------------------------------------- counterfactuals

    def _draws(self, item: list[int], args: dict[str, Any]) -> list[Any]:
        """Count an instance's random draws and the places that read seed or difficulty; also return the first draws."""
        tracing.TRACE.reset()
        self._generate(item[0], item[1], False)
        return [tracing.TRACE.draws, tracing.TRACE.sites, tracing.TRACE.first]

    def _perturbed(self, item: list[int], args: dict[str, Any]) -> list[Any]:
        """Return [prompt, reference] with one draw (or one use of seed or difficulty) changed."""
        adapter = self.adapter
        assert adapter is not None, "load comes first"
        seed, difficulty, draw, site, shift = item
        tracing.TRACE.reset(draw, site, shift)
        try:
            environment, task = self._generate(seed, difficulty, False)
            reference = codec.encode(adapter.reference(task))
            tracing.TRACE.reset()
            return [self._stage("_prompt_generate", adapter.prompt, environment, task), reference]
        finally:
            tracing.TRACE.reset()
