"""Records the calls of an OpenAI or Anthropic client, or any others, at the Attribution Service.

    attribution = Attribution("https://attribution.example.com", API_KEY, attributed_service="search")
    client = attribution.wrap_openai(OpenAI())

Python 3.9 or newer, no dependencies: copy this file. Calls are sent by a background thread, in batches, and sent again
until the service answers. Prompts and completions are neither read nor sent. Nothing here raises into the caller.
"""

import atexit
import hashlib
import hmac
import inspect
import json
import random
import threading
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone

SIGNATURE_TOLERANCE_SECONDS = 300

_BATCH_MAX = 500
_REQUEST_SECONDS_MAX = 10
_RETRY_SECONDS_MAX = 30.0
_CLOSE_SECONDS_MAX = 10.0
# As the service names them; one that it does not know would refuse the event.
_SERVICE_TIERS = {
    "standard": "standard",
    "default": "standard",
    "batch": "batch",
    "flex": "flex",
    "priority": "priority",
}


class Attribution:
    """Sends calls in the background. Further arguments are fields of every event, such as `attributed_service`."""

    def __init__(self, base_url, api_key, *, flush_seconds=1.0, queue_max=10_000, on_problem=None, **context):
        self._url = base_url.rstrip("/") + "/api/v1/invocations"
        self._api_key = api_key
        self._flush_seconds = flush_seconds
        self._queue_max = queue_max
        self._on_problem = on_problem
        self._context = context
        self._queue = []
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_flushing = False
        self.recorded = self.sent = self.lost = 0
        self._thread = threading.Thread(target=self._run, name="attribution", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def record(self, provider, requested_model, **fields):
        """Takes a call and returns at once. `fields` are those of the event; `None` is the same as absent."""
        try:
            event = {
                "event_id": str(uuid.uuid4()),
                "ingestion_layer": "application",
                "ingestion_timestamp": _now(),
                **self._context,
                **fields,
                "provider": provider,
                "requested_model": requested_model,
            }
            line = json.dumps({name: value for name, value in event.items() if value is not None})
            with self._changed:
                self.recorded += 1
                if self._is_closed:
                    return self._lose(1, "the client is closed")
                if len(self._queue) >= self._queue_max:
                    return self._lose(1, "too many calls wait to be sent")
                self._queue.append(line)
                if len(self._queue) in (1, _BATCH_MAX):
                    self._changed.notify_all()
        except Exception:
            self._lose(1, "the call could not be recorded")

    def wrap_openai(self, client, provider="openai", **context):
        """Records every call of a client, synchronous or not. Returns the same client."""
        dialect = _Dialect(provider, _openai_facts, _openai_part_facts, asks_for_usage=True)
        for path in ("chat.completions.create", "responses.create", "embeddings.create", "completions.create"):
            self._wrap(client, path, dialect, context)
        return client

    def wrap_anthropic(self, client, provider="anthropic", **context):
        """Records every call of a client, synchronous or not. Returns the same client."""
        dialect = _Dialect(provider, _anthropic_facts, _anthropic_part_facts, asks_for_usage=False)
        for path in ("messages.create", "beta.messages.create"):
            self._wrap(client, path, dialect, context)
        return client

    def flush(self, seconds=_CLOSE_SECONDS_MAX):
        """Sends what waits, and waits for it. Returns whether all of it was answered in time."""
        ends_at = time.monotonic() + seconds
        with self._changed:
            self._is_flushing = True
            self._changed.notify_all()
            while self._queue and time.monotonic() < ends_at:
                self._changed.wait(max(0.0, ends_at - time.monotonic()))
            self._is_flushing = False
            return not self._queue

    def close(self):
        """Sends what waits, for ten seconds at most, and takes no further calls."""
        if self._is_closed:
            return
        self.flush()
        with self._changed:
            self._is_closed = True
            left, self._queue = len(self._queue), []
            if left > 0:
                self._lose(left, "the client was closed before the service answered")
            self._changed.notify_all()

    # The background thread

    def _run(self):
        while True:
            with self._changed:
                while not self._queue and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                if len(self._queue) < _BATCH_MAX and not self._is_flushing:
                    self._changed.wait(self._flush_seconds)
                # They stay in the queue until they are answered, and count against its limit.
                lines = self._queue[:_BATCH_MAX]
            if not lines:
                continue
            refused, why = self._send(lines)
            with self._changed:
                if self._is_closed:
                    return
                del self._queue[: len(lines)]
                self.sent += len(lines) - refused
                if refused > 0:
                    self._lose(refused, why)
                self._changed.notify_all()

    def _send(self, lines):
        """Tries until the service answers. Returns how many calls it refused, and why."""
        # The same over all attempts, as the events' ids are: a repeated request changes nothing.
        key = str(uuid.uuid4())
        attempt = 0
        while not self._is_closed:
            status, text, retry_after = self._request(lines, key)
            if status == 202:
                return _rejected_in(text), "the service rejected calls"
            if not (status in (0, 409, 429) or status >= 500):
                return len(lines), "the service refused calls (%d): %s" % (status, text[:300])
            backoff = random.random() * min(0.25 * 2**attempt, _RETRY_SECONDS_MAX)
            attempt = min(attempt + 1, 16)
            with self._changed:
                if not self._is_closed:
                    self._changed.wait(max(backoff, retry_after))
        return 0, ""

    def _request(self, lines, key):
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key, "X-API-Key": self._api_key}
        body = "\n".join(lines).encode()
        request = urllib.request.Request(self._url, data=body, headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS_MAX) as response:
                return response.status, response.read().decode(errors="replace"), 0.0
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace"), _seconds(error.headers.get("Retry-After"))
        except Exception:
            return 0, "", 0.0

    def _lose(self, lost, message):
        self.lost += lost
        try:
            if self._on_problem is not None:
                self._on_problem(message, lost)
        except Exception:
            pass  # The application's own handler must not stop the sending.

    # Clients

    def _wrap(self, client, path, dialect, context):
        *names, name = path.split(".")
        owner = client
        for each in names:
            owner = getattr(owner, each, None)
        original = getattr(owner, name, None)
        if not callable(original) or getattr(original, "_is_attributed", False):
            return

        def begin(arguments):
            is_asked = bool(arguments.get("stream")) and dialect.asks_for_usage and _ask_for_usage(arguments)
            return time.monotonic(), _now(), arguments.get("model"), is_asked

        def end(begun, facts):
            started_at, at, model, _ = begun
            latency = round((time.monotonic() - started_at) * 1000)
            self.record(
                dialect.provider,
                model if isinstance(model, str) and model else "unknown",
                **{"ingestion_timestamp": at, "latency_ms": latency, **context, **facts},
            )

        def observed(answer, begun):
            try:
                if hasattr(answer, "__aiter__") and hasattr(answer, "_iterator"):
                    answer._iterator = _observe_async(answer._iterator, dialect, begun, end)
                elif hasattr(answer, "__iter__") and hasattr(answer, "_iterator"):
                    answer._iterator = _observe(answer._iterator, dialect, begun, end)
                else:
                    end(begun, {**dialect.answer_facts(answer), "outcome": "success"})
            except Exception:
                pass  # Whatever an unknown client does, its caller gets its answer.
            return answer

        async def observed_later(answer, begun):
            return observed(await answer, begun)

        def wrapped(*args, **kwargs):
            begun = begin(kwargs)
            answer = original(*args, **kwargs)
            return observed_later(answer, begun) if inspect.isawaitable(answer) else observed(answer, begun)

        wrapped._is_attributed = True
        try:
            setattr(owner, name, wrapped)
        except Exception:
            pass


class _Dialect:
    """How a provider's client says what a call was."""

    def __init__(self, provider, answer_facts, part_facts, asks_for_usage):
        self.provider = provider
        self.answer_facts = answer_facts
        self.part_facts = part_facts
        self.asks_for_usage = asks_for_usage


def _ask_for_usage(arguments):
    """A streamed chat states its usage only when asked, in a last chunk without choices."""
    options = arguments.get("stream_options") or {}
    if ("messages" not in arguments and "prompt" not in arguments) or "include_usage" in options:
        return False
    arguments["stream_options"] = {**options, "include_usage": True}
    return True


def _is_usage_only(part):
    return _get(part, "choices") == [] and _get(part, "usage") is not None


def _observe(parts, dialect, begun, end):
    """Records once, when the stream ends or its reader leaves: with the counts that were seen until then."""
    facts = {"outcome": "cancelled"}
    try:
        for part in parts:
            _see(facts, dialect, part)
            if not (begun[3] and _is_usage_only(part)):
                yield part
        facts["outcome"] = "success"
    except Exception:
        facts["outcome"] = "error"
        raise
    finally:
        end(begun, facts)


async def _observe_async(parts, dialect, begun, end):
    facts = {"outcome": "cancelled"}
    try:
        async for part in parts:
            _see(facts, dialect, part)
            if not (begun[3] and _is_usage_only(part)):
                yield part
        facts["outcome"] = "success"
    except Exception:
        facts["outcome"] = "error"
        raise
    finally:
        end(begun, facts)


def _see(facts, dialect, part):
    try:
        facts.update({name: value for name, value in dialect.part_facts(part).items() if value is not None})
    except Exception:
        pass


# What answers say of themselves: counts and names, never what was said


def _openai_facts(answer):
    usage = _get(answer, "usage")
    inputs = _get(usage, "prompt_tokens_details") or _get(usage, "input_tokens_details")
    outputs = _get(usage, "completion_tokens_details") or _get(usage, "output_tokens_details")
    return {
        "served_model": _text(answer, "model"),
        "input_tokens": _first(_count(usage, "prompt_tokens"), _count(usage, "input_tokens")),
        "output_tokens": _first(_count(usage, "completion_tokens"), _count(usage, "output_tokens")),
        "cached_input_tokens": _count(inputs, "cached_tokens"),
        "reasoning_tokens": _count(outputs, "reasoning_tokens"),
        "audio_input_tokens": _count(inputs, "audio_tokens"),
        "audio_output_tokens": _count(outputs, "audio_tokens"),
        "service_tier": _tier(answer),
        "response_id": _text(answer, "id"),
    }


def _openai_part_facts(part):
    return _openai_facts(_get(part, "response") or part)


def _anthropic_facts(message):
    """Anthropic counts cache reads and writes apart from the rest of the input."""
    usage = _get(message, "usage")
    writes = _get(usage, "cache_creation")
    uncached = _count(usage, "input_tokens")
    read = _count(usage, "cache_read_input_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    return {
        "served_model": _text(message, "model"),
        "input_tokens": None if uncached is None else uncached + (read or 0) + (written or 0),
        "output_tokens": _count(usage, "output_tokens"),
        "cached_input_tokens": read,
        "cache_write_tokens": written,
        "cache_write_5m_tokens": _count(writes, "ephemeral_5m_input_tokens"),
        "cache_write_1h_tokens": _count(writes, "ephemeral_1h_input_tokens"),
        "web_search_calls": _count(_get(usage, "server_tool_use"), "web_search_requests"),
        "service_tier": _tier(usage),
        "response_id": _text(message, "id"),
    }


def _anthropic_part_facts(event):
    message = _get(event, "message")
    if message is not None:
        return _anthropic_facts(message)
    usage = _get(event, "usage")
    return {
        "output_tokens": _count(usage, "output_tokens"),
        "web_search_calls": _count(_get(usage, "server_tool_use"), "web_search_requests"),
    }


def _get(value, name):
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _count(value, name):
    found = _get(value, name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _text(value, name):
    found = _get(value, name)
    return found if isinstance(found, str) and found else None


def _tier(value):
    return _SERVICE_TIERS.get(_text(value, "service_tier"))


def _first(one, other):
    return other if one is None else one


def _now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rejected_in(text):
    try:
        return int(json.loads(text).get("rejected", 0))
    except Exception:
        return 0


def _seconds(text):
    try:
        return min(max(float(text), 0.0), _RETRY_SECONDS_MAX)
    except (TypeError, ValueError):
        return 0.0


# Webhooks


def is_signed(body, header, secrets, now_seconds=None):
    """Whether the service has signed a webhook delivery within the last five minutes.

    `body`: the exact bytes that arrived. `header`: `Service-Signature`. `secrets`: one, or two during a rotation.
    """
    parts = [part.split("=", 1) for part in (header or "").split(",") if "=" in part]
    times = [value for name, value in parts if name == "t"]
    signatures = [value for name, value in parts if name == "v1"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()) or len(times[0]) > 12:
        return False
    now = time.time() if now_seconds is None else now_seconds
    if abs(now - int(times[0])) > SIGNATURE_TOLERANCE_SECONDS:
        return False
    signed = times[0].encode() + b"." + body
    expected = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return any(hmac.compare_digest(one.encode(), given.encode()) for one in expected for given in signatures)
