"""Sends events in the background, in batches, again until the service answers."""

import collections
import contextlib

# Of host names: a child that is forked while a thread imports it would know it never, and lose all calls.
import encodings.idna  # noqa: F401
import json
import logging
import os
import random
import threading
import time
import urllib.error
import urllib.request
import uuid
import weakref
from typing import Any, Callable, Deque, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._spool import Spool

OnProblem = Callable[[str, int], Any]
# An event, or what makes one: later, so that no caller waits for it.
Line = Union[bytes, Callable[[], bytes]]

_BATCH_MAX = 500
_LINES_AT_ONCE = 16
_REQUEST_SECONDS_MAX = 10
_RETRY_SECONDS_MAX = 30.0
_LOG_SECONDS = 3600.0
_log = logging.getLogger("attribution_service")


class Counts(NamedTuple):
    """Calls since the process began: `recorded` is what was sent, lost, or waits."""

    recorded: int
    sent: int
    lost: int
    waiting: int


class Sender:
    def __init__(
        self,
        base_url: str,
        api_key: str,
        flush_seconds: float,
        queue_max: int,
        on_problem: Optional[OnProblem],
        spool: Optional[Spool],
    ) -> None:
        self._url = base_url.rstrip("/") + "/api/v1/invocations"
        self._api_key = api_key
        self._flush_seconds = flush_seconds
        self._queue_max = queue_max
        self._on_problem = on_problem
        self._spool = spool
        self._opener: Optional[urllib.request.OpenerDirector] = None
        self._logged_at = -_LOG_SECONDS
        self._start_empty()
        _senders.add(self)

    def _start_empty(self) -> None:
        """In a forked child, too: its parent sends what waited, and no thread survives a fork."""
        self._changed = threading.Condition()
        self._queue: Deque[Line] = collections.deque()
        self._recorded = self._sent = self._lost = 0
        self._thread: Optional[threading.Thread] = None
        self._is_closed = False
        self._flushing = 0
        # Taken out of the queue to be sent; empty while a loss among them is told.
        self._sending: Optional[Sequence[Line]] = None
        self._is_from_file = False

    @property
    def counts(self) -> Counts:
        with self._changed:
            return Counts(self._recorded, self._sent, self._lost, self._waiting())

    def add(self, line: Line) -> Optional[object]:
        """Takes an event, or what makes one, and returns at once; with what `withdraw` takes, if it was taken."""
        with self._changed:
            self._recorded += 1
            if not self._is_closed and self._waiting() < self._queue_max:
                self._queue.append(line)
                if self._thread is None:
                    self._start_thread()
                elif len(self._queue) in (1, _BATCH_MAX, self._queue_max // 2 + 1):
                    self._changed.notify_all()
                return line
            self._lost += 1
            why = "the client is closed" if self._is_closed else "too many calls wait to be sent"
        self._tell(1, why)
        return None

    def withdraw(self, line: Any) -> bool:
        """Takes an event back, unless it is being sent."""
        with self._changed:
            try:
                self._queue.remove(line)
            except ValueError:
                return False
            self._recorded -= 1
            return True

    def refuse(self) -> None:
        with self._changed:
            self._recorded += 1
            self._lost += 1
        self._tell(1, "the call could not be recorded")

    def flush(self, seconds: float) -> bool:
        """Sends what waits, and waits for it. Returns whether all of it was answered in time."""
        ends_at = time.monotonic() + seconds
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            try:
                while self._is_busy() and time.monotonic() < ends_at:
                    if self._thread is not None and self._thread.is_alive():
                        self._changed.wait(max(0.0, ends_at - time.monotonic()))
                    # No thread can be started once the interpreter ends.
                    elif not self._send_first(ends_at):
                        break
            finally:
                self._flushing -= 1
            return not self._is_busy()

    def close(self, seconds: float) -> None:
        """Sends what waits, and takes no further events."""
        if self._is_closed:
            return
        self.flush(seconds)
        with self._changed:
            self._is_closed = True
            left = self._take_all()
            # What is from a file stays in it.
            self._recorded -= len(self._sending or ())
            self._sending = None
            self._changed.notify_all()
        self._keep(left, "the client was closed before the service answered")

    def save(self, seconds: float) -> None:
        """Sends what waits, or keeps it in the folder, and goes on."""
        if self.flush(seconds) or self._spool is None:
            return
        with self._changed:
            left = self._take_all()
        self._keep(left, "the folder takes no more")

    def _waiting(self) -> int:
        return len(self._queue) + len(self._sending or ())

    def _take_all(self) -> List[Line]:
        left = list(self._queue)
        self._queue.clear()
        if self._sending is not None and not self._is_from_file:
            left = [*self._sending, *left]
            self._sending = None
        return left

    def _is_busy(self) -> bool:
        return bool(self._queue) or self._sending is not None or self._is_from_file

    # The background thread

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="attribution", daemon=True)
        try:
            thread.start()
            self._thread = thread
        except RuntimeError:
            pass  # The interpreter ends.

    def _run(self) -> None:
        with self._changed:
            while not self._is_closed:
                if not self._queue:
                    if not self._send_kept() and not self._queue and not self._is_closed:
                        self._changed.wait()
                    continue
                if len(self._queue) < _BATCH_MAX and not self._flushing:
                    self._changed.wait(self._flush_seconds)
                if self._queue:
                    self._send_first(None)

    def _send_first(self, ends_at: Optional[float]) -> bool:
        """Returns whether anything was answered in time."""
        batch = self._first()
        left = self._send_batch(batch, ends_at)
        self._queue.extendleft(reversed(left))
        return len(left) < len(batch)

    def _first(self) -> List[Line]:
        return [self._queue.popleft() for _ in range(min(_BATCH_MAX, len(self._queue)))]

    @contextlib.contextmanager
    def _released(self) -> Iterator[None]:
        """For what takes time, or is the application's own: no caller waits for it."""
        self._changed.release()
        try:
            yield
        finally:
            self._changed.acquire()

    def _send_batch(self, batch: Sequence[Line], ends_at: Optional[float]) -> List[bytes]:
        """Returns what was not answered in time, or stands behind what the service refused."""
        self._sending = batch
        with self._released():
            lines = _made(batch)
            answered, refused, why = self._send(lines, ends_at) if lines else (0, 0, "")
        # A forked child has a queue of its own, and what is closed has counted these.
        if batch is not self._sending:
            return []
        left = self._sending = lines[answered:]
        unmade = len(batch) - len(lines)
        self._sent += answered - refused
        self._lost += refused + unmade
        with self._released():
            self._tell(refused, why)
            self._tell(unmade, "the call could not be recorded")
        if left is not self._sending:
            return []
        self._sending = None
        self._changed.notify_all()
        return left

    def _keep(self, left: Sequence[Line], why: str) -> None:
        """In the folder for another process, or nowhere."""
        kept = 0 if self._spool is None or not left else self._spool.keep(_made(left))
        with self._changed:
            self._recorded -= kept
            self._lost += len(left) - kept
        self._tell(len(left) - kept, why)

    def _has_excess(self) -> bool:
        return self._spool is not None and len(self._queue) > self._queue_max // 2

    def _keep_excess(self) -> None:
        """Makes room for the calls of the next pause."""
        while True:
            with self._changed:
                left = self._first() if self._has_excess() else []
            if not left:
                return
            self._keep(left, "too many calls wait to be sent")

    def _send_kept(self) -> bool:
        """Sends a file of this process or of an earlier one. Returns whether there was one."""
        with self._released():
            file = None if self._spool is None else self._spool.first()
        if file is None or self._spool is None:
            return False
        path, lines = file
        self._is_from_file = True
        for at in range(0, len(lines), _BATCH_MAX):
            left = lines[at : at + _BATCH_MAX]
            while left and not self._is_closed:
                self._recorded += len(left)
                left = self._send_batch(left, None)
                self._recorded -= len(left)
            if self._is_closed:
                break
        else:
            with self._released():
                self._spool.remove(path)
        self._is_from_file = False
        self._changed.notify_all()
        return True

    def _send(self, lines: List[bytes], ends_at: Optional[float]) -> Tuple[int, int, str]:
        """Tries until the service answers. Returns how many events it answered, refused, and why."""
        # The same over all attempts, as the events' ids are: a repeated request changes nothing.
        key = str(uuid.uuid4())
        attempt = 0
        while not self._is_closed:
            status, text, retry_after = self._request(lines, key)
            if status == 202:
                return len(lines), _rejected_in(text), "the service rejected calls: %s" % text[:300]
            if status in (400, 413, 415, 422):
                # One of them may be the cause for all.
                if len(lines) > 1:
                    return self._send(lines[: len(lines) // 2], ends_at)
                return 1, 1, "the service refused calls (%d): %s" % (status, text[:300])
            self._log("calls wait: the service answers %s" % (status or "nothing"))
            # A wrong key or address is mended while calls wait.
            backoff = random.random() * min(0.25 * 2**attempt, _RETRY_SECONDS_MAX)
            attempt = min(attempt + 1, 16)
            pause = max(backoff, retry_after)
            if ends_at is not None and time.monotonic() + pause >= ends_at:
                break
            self._pause(time.monotonic() + pause)
        return 0, 0, ""

    def _pause(self, until: float) -> None:
        """Ends early for who waits that calls are sent; the calls of a burst go to the folder meanwhile."""
        while not self._is_closed:
            self._keep_excess()
            with self._changed:
                seconds = until - time.monotonic()
                if seconds > 0 and not self._is_closed and not self._has_excess():
                    self._changed.wait(seconds)
                if seconds <= 0 or self._flushing or not self._has_excess():
                    return

    def _request(self, lines: List[bytes], key: str) -> Tuple[int, str, float]:
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key, "X-API-Key": self._api_key}
        try:
            # Reading the system's certificates takes milliseconds: once.
            if self._opener is None:
                self._opener = urllib.request.build_opener()
            request = urllib.request.Request(self._url, data=b"\n".join(lines), headers=headers, method="POST")
            with self._opener.open(request, timeout=_REQUEST_SECONDS_MAX) as response:
                return response.status, response.read().decode(errors="replace"), 0.0
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace"), _seconds(error.headers.get("Retry-After"))
        except Exception:
            return 0, "", 0.0

    def _tell(self, lost: int, message: str) -> None:
        """Without the lock: the application may hold one that its handler wants."""
        if lost <= 0:
            return
        self._log("calls were lost: " + message)
        try:
            if self._on_problem is not None:
                self._on_problem(message, lost)
        except Exception:
            pass  # The application's own handler must not stop the sending.

    def _log(self, message: str) -> None:
        """A line in an hour, whatever happens."""
        now = time.monotonic()
        if now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            _log.warning("%s (%d recorded, %d sent, %d lost)", message, self._recorded, self._sent, self._lost)


def _made(lines: Sequence[Line]) -> List[bytes]:
    made = []
    for index, line in enumerate(lines):
        try:
            made.append(line if isinstance(line, bytes) else line())
        except Exception:
            continue
        if index % _LINES_AT_ONCE == 0:
            time.sleep(0)  # Threads of the application go first.
    return made


_senders: "weakref.WeakSet[Sender]" = weakref.WeakSet()


def _after_fork() -> None:
    for sender in list(_senders):
        sender._start_empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _rejected_in(text: str) -> int:
    try:
        return max(int(json.loads(text).get("rejected", 0)), 0)
    except Exception:
        return 0


def _seconds(text: Optional[str]) -> float:
    try:
        return min(max(float(text or 0), 0.0), _RETRY_SECONDS_MAX)
    except ValueError:
        return 0.0
