"""One chat completion from an OpenAI-compatible server, with retries, and errors that say what to do.

What may pass (a busy or restarting server, a cut connection, a garbled reply) is tried again after a growing,
jittered pause, or after the pause the server asks for. What will not pass (a wrong key, a wrong model, a refused
request) is an error at once. Answers are read as a stream, so that a slow server is not taken for a silent one.
"""

from __future__ import annotations

import email.utils
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evoenv.engines.endpoint.stream import BrokenStream, collect_stream, lines_of
from evoenv.errors import EndpointError, InputError
from evoenv.records import FinishReason, Request, derive_seed

try:
    import httpx
except ImportError as error:
    raise EndpointError("a served policy needs httpx; install with: pip install 'evoenv[endpoint]'") from error

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_RETRY_AFTER_S = 0.5, 30.0, 300.0
_PASSING_STATUS = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_MAX_STOPS = 4
"""More are refused by some servers; the rest are applied to the text here."""


class RequestRefused(EndpointError):
    """The server understood and said no to this one request (too long, filtered): others may still pass."""


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int


class _Passing(Exception):
    """Worth another try, after `pause` seconds if the server named them."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


class ChatApi:
    """Thread-safe; `key` goes into one header and nowhere else."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | None,
        key_name: str = "OPENAI_API_KEY",
        timeout_s: float,
        retries: int,
        connections: int,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise InputError(
                f"model.base_url = {base_url!r}; expected http:// or https://, as in http://localhost:8000/v1"
            )
        key = (key or "").strip() or None
        if key and not (key.isascii() and key.isprintable()):
            raise InputError(f"{key_name} holds characters that no API key has; set it again")
        if not model:
            raise InputError("a served policy needs model.name: the name under which the server knows the model")
        self.base_url = base_url.rstrip("/")
        self.model = model
        self._key = key
        self._key_name = key_name
        self._retries = retries
        self._timeout_s = timeout_s
        self._first_pause_s = first_pause_s
        try:
            self._client = httpx.Client(
                base_url=self.base_url + "/",
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 20.0), pool=None),
                limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            )
        except httpx.InvalidURL as error:
            raise InputError(f"model.base_url = {self.base_url!r} is not a URL: {error}") from error
        self._length_name = "max_tokens"
        self._sends_seed = True
        self._asks_usage = True
        self._jitter = random.Random()

    def __repr__(self) -> str:
        return f"ChatApi({self.base_url!r}, model={self.model!r})"

    def close(self) -> None:
        self._client.close()

    # ------------------------------------------------------------------ calls

    def models(self) -> list[str]:
        """List the names of the models that the server serves; empty if it lists none. Raises if it cannot be used."""
        try:
            reply = self._client.get("models", timeout=min(self._timeout_s, 20.0))
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if reply.status_code in (401, 403):
            raise self._refused_key(reply)
        try:
            return [str(entry["id"]) for entry in reply.json()["data"]] if reply.is_success else []
        except (ValueError, KeyError, TypeError):
            return []

    def complete(
        self,
        request: Request,
        index: int,
        stop: threading.Event,
        heard: Callable[[int], None] = lambda parts: None,
        retrying: Callable[[], None] = lambda: None,
    ) -> Completion:
        """Ask for one answer. `stop` cuts pauses between tries short.

        `heard` is told how many parts of the answer, about a token each, have arrived; `retrying` that a try failed
        and another follows.
        """
        failures: list[str] = []
        pause = self._first_pause_s
        while True:
            try:
                return self._try(request, index, heard)
            except _Passing as error:
                failures.append(str(error))
                if len(failures) > self._retries or stop.is_set():
                    raise EndpointError(
                        f"{self.base_url} failed {len(failures)} times for request {request.id!r}, "
                        f"last: {failures[-1]}; check that the server is up, or raise endpoint.retries "
                        "or endpoint.timeout_seconds"
                    ) from error
                wait = pause * self._jitter.uniform(0.5, 1.5) if error.pause is None else error.pause
                retrying()
                log.warning(
                    "%s: request %s: %s; trying again in %.1f s (try %d of %d)",
                    self.base_url, request.id, error, wait, len(failures) + 1, self._retries + 1,
                )  # fmt: skip
                stop.wait(wait)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _try(self, request: Request, index: int, heard: Callable[[int], None]) -> Completion:
        parts = 0

        def count(number: int) -> None:
            nonlocal parts
            parts = number
            heard(number)

        body = self._body(request, index)
        try:
            with self._client.stream("POST", "chat/completions", json=body) as reply:
                if reply.is_success and reply.headers.get("content-type", "").startswith("text/event-stream"):
                    return self._read(collect_stream(lines_of(reply.iter_text()), count), request)
                reply.read()  # an error, or a server that does not stream
        except BrokenStream as error:
            raise _Passing(str(error)) from error
        except httpx.TimeoutException as error:
            after = f" after {parts} parts of the answer" if parts else ""
            raise _Passing(f"silent for {self._timeout_s:g} s{after} ({type(error).__name__})") from error
        except httpx.ConnectError as error:
            raise _Passing(f"cannot connect ({error})") from error
        except httpx.TransportError as error:
            raise _Passing(f"the connection broke ({type(error).__name__}: {error})") from error
        if reply.is_success:
            return self._read(self._document(reply), request)
        if self._adapt(reply, body):
            return self._try(request, index, heard)
        raise self._classify(reply, request)

    def _body(self, request: Request, index: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.speaker, "content": message.content} for message in request.messages],
            "temperature": request.temperature,
            "top_p": request.top_p,
            self._length_name: request.max_tokens,
            "stream": True,
        }
        if self._asks_usage:
            body["stream_options"] = {"include_usage": True}
        if request.stop:
            body["stop"] = list(request.stop[:_MAX_STOPS])
        if self._sends_seed:
            body["seed"] = derive_seed("endpoint", request.seed, index) % 2**31
        return body

    # ------------------------------------------------------------------ replies

    def _document(self, reply: httpx.Response) -> Any:
        try:
            return reply.json()
        except ValueError as error:
            raise _Passing(f"a reply that is no chat completion ({type(error).__name__}: {error})") from error

    def _read(self, document: Any, request: Request) -> Completion:
        try:
            choice = document["choices"][0]
            message = choice["message"]
            content = message.get("content") or ""
            reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
            if not isinstance(content, str) or not isinstance(reasoning, str):
                raise TypeError("message content is not text")
            usage = document.get("usage") or {}
            counts = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise _Passing(f"a reply that is no chat completion ({type(error).__name__}: {error})") from error
        # Servers with a reasoning parser cut the thinking out; put it back where the model wrote it.
        text = f"<think>\n{reasoning}\n</think>\n\n{content}" if reasoning else content
        cuts = [at for stop in request.stop if (at := text.find(stop)) >= 0]
        if not usage:  # nothing reported: four characters per token, so that budgets still end
            prompt = sum(len(message.content) for message in request.messages)
            counts = prompt // 4 + 1, len(text) // 4 + 1
        reasons: Mapping[str, FinishReason] = {"length": "length", "content_filter": "error"}
        finish_reason = "stop" if cuts else reasons.get(str(choice.get("finish_reason")), "stop")
        return Completion(text[: min(cuts)] if cuts else text, finish_reason, *counts)

    def _adapt(self, reply: httpx.Response, body: Mapping[str, Any]) -> bool:
        """Learn a server's dialect: newer models rename the limit, some servers know no seed or no usage in streams.

        Return True if it is worth asking again. What was asked counts, not what is known by now: other requests, sent
        at the same time, may have been told first.
        """
        if reply.status_code not in (400, 422):
            return False
        words = self._server_words(reply)
        if "max_tokens" in body and "max_completion_tokens" in words:
            self._length_name = "max_completion_tokens"
            return True
        if "stream_options" in body and ("stream_options" in words or "include_usage" in words):
            self._asks_usage = False
            return True
        if "seed" in body and "seed" in words:
            self._sends_seed = False
            return True
        return False

    def _classify(self, reply: httpx.Response, request: Request) -> Exception:
        status, words = reply.status_code, self._server_words(reply)
        if status in (401, 403):
            return self._refused_key(reply)
        if status == 404:
            return self.unknown_model(words)
        if status == 429 and "insufficient_quota" in words:
            return EndpointError(f"{self.base_url}: the account has no credit left (429: {words})")
        if status in _PASSING_STATUS:
            return _Passing(f"HTTP {status}: {words}", _retry_after(reply))
        if status in (400, 413, 422):
            if "model" in words.lower() and any(
                hint in words.lower() for hint in ("not found", "does not exist", "unknown")
            ):
                return self.unknown_model(words)
            return RequestRefused(f"{self.base_url} refused request {request.id!r} (HTTP {status}: {words})")
        return EndpointError(f"{self.base_url} answered HTTP {status}: {words}; is this an OpenAI-compatible server?")

    def _refused_key(self, reply: httpx.Response) -> EndpointError:
        got = "the API key was refused" if self._key else "an API key is needed and none was given"
        return EndpointError(
            f"{self.base_url}: {got} (HTTP {reply.status_code}: {self._server_words(reply)}); set {self._key_name}"
        )

    def unknown_model(self, words: str) -> EndpointError:
        """Make the error for a model that the server does not serve, with the names that it does."""
        try:
            names = self.models()
        except EndpointError:
            names = []
        known = f"it serves {', '.join(names[:10])}" if names else "it lists no models"
        path = "" if self.base_url.endswith("/v1") else "; most servers want a base_url that ends in /v1"
        return EndpointError(f"{self.base_url} does not know model {self.model!r} ({words}); {known}{path}")

    def _unreachable(self, error: Exception) -> EndpointError:
        return EndpointError(
            f"cannot reach {self.base_url} ({type(error).__name__}: {error}); "
            "check model.base_url and that the server is up"
        )

    def _server_words(self, reply: httpx.Response) -> str:
        """Return the server's own explanation in one short line, without the key, which some echo."""
        try:
            error = reply.json().get("error", reply.json())
            if isinstance(error, dict):
                parts = [error.get("message") or error.get("detail") or str(error), error.get("code")]
                words = " ".join(str(part) for part in parts if part)
            else:
                words = str(error)
        except (ValueError, AttributeError):
            words = reply.text
        words = " ".join(words.split())[:300] or reply.reason_phrase
        return words.replace(self._key, "***") if self._key else words


def _retry_after(reply: httpx.Response) -> float | None:
    """Read how many seconds the server asks to wait, given as a number or as a date."""
    value = reply.headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_S)
