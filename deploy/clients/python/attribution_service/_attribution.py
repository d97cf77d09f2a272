import atexit
import functools
import json
import logging
import os
import signal
import sys
import threading
import time
import types
import uuid
import weakref
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Mapping, Optional, TypeVar

from . import _context
from ._call import Call, Origin
from ._http import notice_leaving, observed
from ._sockets import observe_sockets
from ._spool import Spool
from ._sender import Counts, OnProblem, Sender

_log = logging.getLogger("attribution_service")
T = TypeVar("T")
Fields = Mapping[str, Any]


class Attribution:
    """Sends calls in the background. Further arguments are who and what causes all of them, as in `context`.

    `spool_folder`: for what does not fit in memory while the service cannot be reached, and for what waits at the end.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        flush_seconds: float = 1.0,
        close_seconds: float = 5.0,
        queue_max: int = 10_000,
        on_problem: Optional[OnProblem] = None,
        asks_for_usage: bool = True,
        spool_folder: Optional[str] = None,
        **context: Any,
    ) -> None:
        spool = None if spool_folder is None else Spool(spool_folder)
        self._sender = Sender(base_url, api_key, flush_seconds, queue_max, on_problem, spool)
        self._close_seconds = close_seconds
        self._asks_for_usage = asks_for_usage
        self._context = _context.fields_of(**context)
        self._open_calls: Dict[int, Call] = {}
        _open.add(self)
        _close_at_end()

    context = staticmethod(_context.context)

    def record(self, provider: str, requested_model: str, **fields: Any) -> None:
        """Takes a call and returns at once. `fields` are those of the event; `None` is the same as absent."""
        try:
            _close_at_end_of_worker()
            trace = _context.current_trace()
            stated = {**fields, "provider": provider, "requested_model": requested_model}
            self._sender.add(_line(trace, self._context, _context.current(), stated))
        except Exception:
            self._sender.refuse()

    def wrap(self, client: T, *, provider: Optional[str] = None, **context: Any) -> T:
        """Records every call of a client of OpenAI, Anthropic, Google or another one that sends with httpx.

        Returns a copy of a client of httpx itself, for SDKs that take one as `http_client`; any other one is the same.
        `provider`: who serves the calls, where neither host nor answer tell.
        """
        return self._wrap(client, None, provider, context)

    def wrap_openai(self, client: T, provider: Optional[str] = None, **context: Any) -> T:
        """As `wrap`. What neither host, answer nor model tells is OpenAI's."""
        return self._wrap(client, "openai", provider, context)

    def wrap_anthropic(self, client: T, provider: Optional[str] = None, **context: Any) -> T:
        """As `wrap`. What neither host, answer nor model tells is Anthropic's."""
        return self._wrap(client, "anthropic", provider, context)

    def flush(self, seconds: float = 10.0) -> bool:
        """Sends what waits, and waits for it. Returns whether all of it was answered in time."""
        return self._sender.flush(seconds)

    def close(self) -> None:
        """Records the streams that are still open, sends what waits, for `close_seconds` at most, and takes no more."""
        self._end_open_calls()
        self._sender.close(self._close_seconds)

    def _save(self) -> None:
        self._end_open_calls()
        self._sender.save(self._close_seconds)

    def _end_open_calls(self) -> None:
        for call in list(self._open_calls.values()):
            _quietly(call.end, "cancelled")

    @property
    def counts(self) -> Counts:
        return self._sender.counts

    def _wrap(self, client: T, api: Optional[str], provider: Optional[str], context: Fields) -> T:
        """An unknown client works as before."""
        try:
            if isinstance(client, types.ModuleType):
                # `openai` itself, with the client that its functions share.
                self._wrap(client._load_client(), api, provider, context)
                return client
            fields = _context.fields_of(**context)
            api = api or _APIS.get(_package_of(client))

            def record(facts: Callable[[], Fields], around: Fields) -> object:
                return self._sender.add(lambda: _line(facts(), self._context, fields, around))

            origin = Origin(record, self._sender.withdraw, self._open_calls, api, provider)

            def begin(request: Any) -> Call:
                _close_at_end_of_worker()
                return Call(origin, request, _context.merged(_context.current_trace(), _context.current()))

            if hasattr(client, "send") and hasattr(client, "build_request"):
                same: T = observed(client, begin, self._asks_for_usage)
                return same
            return self._attach(client, begin)
        except Exception as error:
            _log.warning("a %s is not recorded: %r", type(client).__name__, error)
        return client

    def _attach(self, client: T, begin: Any) -> T:
        """For a client and its copies. The last `wrap` sets their context."""
        if not self._observe(client, begin):
            _log.warning("a %s sends with nothing that can be observed: it is not recorded", type(client).__name__)
            return client
        observe_sockets(client, begin)
        notice_leaving(sys.modules.get(_package_of(client)))
        for name in ("copy", "with_options"):
            copied = getattr(client, name, None)
            if copied is not None:
                original = getattr(copied, "_attributed", copied)
                setattr(client, name, _wrapping(original, lambda copy: self._attach(copy, begin)))
        return client

    def _observe(self, client: Any, begin: Any) -> bool:
        """Whether there is a client of httpx, or two."""
        is_observed = False
        owner = getattr(client, "_api_client", client)
        if hasattr(owner, "_use_aiohttp") and not getattr(owner._http_options, "aiohttp_client", None):
            # Google's client sends with aiohttp where that is installed, and as well with httpx.
            owner._use_aiohttp = lambda: False
        for name in ("_client", "_httpx_client", "_async_httpx_client"):
            http = getattr(owner, name, None)
            if hasattr(http, "build_request"):
                setattr(owner, name, observed(http, begin, self._asks_for_usage))
                is_observed = True
        return is_observed


def _line(*scopes: Fields) -> bytes:
    """An event, as it is sent."""
    event = {"ingestion_layer": "application", **_context.merged(*scopes)}
    event["event_id"] = event.get("event_id") or str(uuid.uuid4())
    at = event.get("ingestion_timestamp") or time.time()
    if isinstance(at, float):
        at = datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    event["ingestion_timestamp"] = at
    return _encode({name: value for name, value in event.items() if value is not None}).encode()


_encode = json.JSONEncoder(separators=(",", ":")).encode

# Whose API a client speaks, where nothing else tells who serves it.
_APIS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}


def _package_of(client: Any) -> str:
    return type(client).__module__.partition(".")[0]


def _wrapping(copied: Any, attach: Any) -> Any:
    @functools.wraps(copied)
    def copy(*arguments: Any, **options: Any) -> Any:
        made = copied(*arguments, **options)
        _quietly(attach, made)
        return made

    copy._attributed = copied  # type: ignore[attr-defined]
    return copy


def _quietly(task: Any, *arguments: Any) -> Any:
    try:
        return task(*arguments)
    except Exception:
        return None


# The end of the process

_open: "weakref.WeakSet[Attribution]" = weakref.WeakSet()
_is_closing_at_end = False
_worker: Optional[int] = None


def _close_at_end() -> None:
    global _is_closing_at_end
    if _is_closing_at_end:
        return
    _is_closing_at_end = True
    atexit.register(_close_all)
    try:
        # Without a handler, the signal ends the process at once, and what `atexit` knows is not run.
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_sigterm)
    except ValueError:
        pass  # Only the main thread may.


def _close_at_end_of_worker() -> None:
    """A process of `multiprocessing` ends without running what `atexit` knows."""
    global _worker
    if _worker == os.getpid():
        return
    _worker = os.getpid()
    processes, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if processes is not None and util is not None and processes.parent_process() is not None:
        util.Finalize(None, _close_all, exitpriority=10)
        _quietly(_watch_sigterm)


_is_ending = threading.Event()


def _watch_sigterm() -> None:
    """
    A worker that waits for a lock of its pool may run no handler any more, while `Pool.terminate` waits for its end: a
    thread then does what the handler would have done.
    """
    monkey = sys.modules.get("gevent.monkey")
    if signal.getsignal(signal.SIGTERM) is not _on_sigterm or (monkey and monkey.is_module_patched("threading")):
        # A thread that is a greenlet would wait for the pipe in place of all others.
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before != -1:
        # Somebody else's, such as an event loop.
        signal.set_wakeup_fd(before)
        return
    threading.Thread(target=_end_by_signal, args=(reader,), daemon=True).start()


def _end_by_signal(reader: int) -> None:
    while signal.SIGTERM not in os.read(reader, 64):
        pass
    if not _is_ending.wait(0.5):
        _close_all()
        os.kill(os.getpid(), signal.SIGKILL)


def _on_sigterm(number: int, _frame: Any) -> None:
    gevent = sys.modules.get("gevent")
    if gevent is not None and gevent.getcurrent() is gevent.get_hub():
        # All greenlets wait, and their loop runs the handler: it must not wait itself.
        gevent.spawn(_end, number)
    else:
        _end(number)


def _end(number: int) -> None:
    if os.getpid() == 1:
        # The first process of a container goes on, as without a handler, until it is killed.
        for each in list(_open):
            _quietly(each._save)
        return
    _is_ending.set()
    signal.signal(number, signal.SIG_DFL)
    _close_all()
    os.kill(os.getpid(), number)


def _close_all() -> None:
    for each in list(_open):
        _quietly(each.close)
