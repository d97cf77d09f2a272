"""Calls over a WebSocket: OpenAI's Realtime and Responses API, Gemini's Live API. Each answer is a call of its own."""

import contextlib
import functools
import inspect
import json
import re
from types import SimpleNamespace
from typing import Any, AsyncIterator, Callable, Dict, Optional

from ._call import Call
from ._scan import Scanner

Begin = Callable[[Any], Call]

# What the events of a session say of the model that writes down what is heard, and who counts that.
_TRANSCRIBES = re.compile(rb'"(?:input_audio_)?transcription"\s*:\s*\{[^{}]*?"model"\s*:\s*"([^"\\]{1,256})"')
_TRANSCRIBED = "conversation.item.input_audio_transcription.completed"


class _Answers:
    """Reads what arrives on one connection."""

    def __init__(self, begin: Begin, host: str, model: Any) -> None:
        self._begin = begin
        self._host = host
        self._model = model
        self._transcriber: Optional[str] = None
        self._call: Optional[Call] = None
        self._scanner = Scanner(self._see)

    def feed(self, message: Any) -> None:
        try:
            data = message if isinstance(message, bytes) else str(message).encode()
            found = _TRANSCRIBES.search(data) if b'transcription"' in data else None
            if found:
                self._transcriber = found[1].decode(errors="replace")
            self._scanner.feed(data)
        except Exception:
            self._scanner = Scanner(self._see)

    def end(self, outcome: str) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.end(outcome)

    def _see(self, stated: Dict[str, str], usage: Optional[bytes]) -> None:
        if stated.get("type") == "response.created":
            self._call = self._begin(self._asked(self._model))
        if usage is not None:
            if stated.get("type") == _TRANSCRIBED:
                call = self._begin(self._asked(self._transcriber))
            else:
                call, self._call = self._call or self._begin(self._asked(self._model)), None
            call.answer.see(stated, usage)
            call.end("success")

    def _asked(self, model: Any) -> Any:
        body = {"model": model, "input": 0} if isinstance(model, str) else {"input": 0}
        url = SimpleNamespace(host=self._host, path="/realtime")
        return SimpleNamespace(
            method="POST", url=url, content=json.dumps(body).encode(), headers=SimpleNamespace(raw=()), stream=None
        )


def observe_sockets(client: Any, begin: Begin) -> None:
    """For all connections that a client opens from now on."""
    live = getattr(getattr(client, "aio", None), "live", None)
    if live is not None:
        live.connect = _gemini_connect(_original(live.connect), begin, _host_of(client))
        return
    client._attribution_connect = lambda connect: _openai_connect(_original(connect), begin, _host_of(client))
    for name in ("realtime", "responses"):
        for kind in type(client).__mro__:
            _notice(kind, name)
        # One that was used before.
        if name in vars(client):
            _observe_part(client, vars(client)[name])


def _original(connect: Any) -> Any:
    """The last `wrap` sets their context."""
    return getattr(connect, "_attributed", connect)


def _host_of(client: Any) -> str:
    options = getattr(getattr(client, "_api_client", client), "_http_options", client)
    text = str(getattr(client, "websocket_base_url", None) or getattr(options, "base_url", ""))
    return text.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]


def _notice(kind: Any, name: str) -> None:
    """An SDK imports these of its parts, which takes a while, when they are first used: then they are observed, too."""
    original = kind.__dict__.get(name)
    if not isinstance(original, functools.cached_property) or hasattr(original, "_attributed"):
        return

    class Noticing(functools.cached_property):  # type: ignore[type-arg]
        def __get__(self, client: Any, owner: Any = None) -> Any:
            part = super().__get__(client, owner)
            _observe_part(client, part)
            return part

    noticing = Noticing(original.func)
    noticing._attributed = original  # type: ignore[attr-defined]
    noticing.__set_name__(kind, name)
    setattr(kind, name, noticing)


def _observe_part(client: Any, part: Any) -> None:
    connect = getattr(part, "connect", None)
    observe = getattr(client, "_attribution_connect", None)
    if connect is not None and observe is not None:
        part.connect = observe(connect)


def _openai_connect(connect: Any, begin: Begin, host: str) -> Any:
    @functools.wraps(connect)
    def connecting(*arguments: Any, **options: Any) -> Any:
        manager = connect(*arguments, **options)
        with contextlib.suppress(Exception):
            answers = _Answers(begin, host, options.get("model"))
            manager.__class__ = _entering(type(manager), answers)
        return manager

    connecting._attributed = connect  # type: ignore[attr-defined]
    return connecting


def _entering(kind: Any, answers: _Answers) -> Any:
    """The class of a manager, whose connection is observed."""

    def enter(self: Any) -> Any:
        connection = kind.__enter__(self)
        _observe_method(connection, "recv_bytes", answers)
        return connection

    async def aenter(self: Any) -> Any:
        connection = await kind.__aenter__(self)
        _observe_method(connection, "recv_bytes", answers)
        return connection

    entry = (
        {"__aenter__": aenter, "enter": aenter} if hasattr(kind, "__aenter__") else {"__enter__": enter, "enter": enter}
    )
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__, **entry})


def _gemini_connect(connect: Any, begin: Begin, host: str) -> Any:
    @functools.wraps(connect)
    @contextlib.asynccontextmanager
    async def connecting(*arguments: Any, **options: Any) -> AsyncIterator[Any]:
        async with connect(*arguments, **options) as session:
            answers = _Answers(begin, host, options.get("model"))
            with contextlib.suppress(Exception):
                _observe_method(session._ws, "recv", answers)
            yield session

    connecting._attributed = connect  # type: ignore[attr-defined]
    return connecting


def _observe_method(owner: Any, name: str, answers: _Answers) -> None:
    receive = getattr(owner, name)
    if inspect.iscoroutinefunction(receive):

        async def receiving_later(*arguments: Any, **options: Any) -> Any:
            try:
                message = await receive(*arguments, **options)
            except BaseException as error:
                answers.end("error" if isinstance(error, Exception) else "cancelled")
                raise
            answers.feed(message)
            return message

        setattr(owner, name, functools.wraps(receive)(receiving_later))
        return

    def receiving(*arguments: Any, **options: Any) -> Any:
        try:
            message = receive(*arguments, **options)
        except BaseException as error:
            answers.end("error" if isinstance(error, Exception) else "cancelled")
            raise
        answers.feed(message)
        return message

    setattr(owner, name, functools.wraps(receive)(receiving))
