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
import re
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
            self._wrap(client, path, dialect, {**_region_of_host(client), **context})
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
        more = {name: value for name, value in dialect.part_facts(part).items() if value is not None}
        usage = {**facts.get("provider_usage", {}), **more.get("provider_usage", {})}
        facts.update(more, **({"provider_usage": usage} if usage else {}))
    except Exception:
        pass


# What answers say of themselves: counts and names, never what was said


def _openai_facts(answer):
    return {
        "served_model": _text(answer, "model"),
        "provider_usage": _numbers(_get(answer, "usage")),
        "service_tier": _tier(answer),
        "response_id": _text(answer, "id"),
    }


def _openai_part_facts(part):
    return _openai_facts(_get(part, "response") or part)


def _anthropic_facts(message):
    usage = _get(message, "usage")
    return {
        "served_model": _text(message, "model"),
        "provider_usage": _numbers(usage),
        "service_tier": _tier(usage),
        "speed": "fast" if _text(usage, "speed") == "fast" else None,
        "region": _geography(usage),
        "response_id": _text(message, "id"),
    }


def _anthropic_part_facts(event):
    """`message_start` has the message, `message_delta` has counts up to now."""
    message = _get(event, "message")
    return {"provider_usage": _numbers(_get(event, "usage"))} if message is None else _anthropic_facts(message)


def _geography(usage):
    """Where Anthropic processed the call, which it charges for; `global` and `not_available` name no place."""
    geography = _text(usage, "inference_geo")
    return geography if geography and re.fullmatch("[a-z]{2}", geography) else None


def _region_of_host(client):
    """The region of a client for `https://eu.api.openai.com/v1`: OpenAI charges more there."""
    found = re.match(r"https://([a-z]{2})\.api\.openai\.com(?:[:/]|$)", str(getattr(client, "base_url", "")))
    return {"region": found[1]} if found else {}


# As the service takes them.
_DEPTH_MAX = 3
_MEMBERS_MAX = 32
_LIST_MAX = 256


def _numbers(usage, depth=1):
    """The numbers of a usage object, by their names: how they are counted is for the service to know."""
    if depth > _DEPTH_MAX:
        return None
    numbers = {}
    for name, value in _members(usage):
        if isinstance(value, (list, tuple)):
            found = [_numbers(each, 2) or {} for each in value[:_LIST_MAX]] if depth == 1 else None
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found = value if 0 <= value < 2**53 else None
        else:
            found = _numbers(value, depth + 1)
        if found not in (None, []) and len(numbers) < _MEMBERS_MAX:
            numbers[name] = found
    return numbers or None


def _members(value):
    """Of a dictionary, or of an object of a client, which has what it does not know apart."""
    if isinstance(value, dict):
        members = value
    else:
        members = {**getattr(value, "__dict__", {}), **(getattr(value, "model_extra", None) or {})}
    return [(name, each) for name, each in members.items() if isinstance(name, str) and not name.startswith("_")]


def _get(value, name):
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _text(value, name):
    found = _get(value, name)
    return found if isinstance(found, str) and found else None


def _tier(value):
    return _SERVICE_TIERS.get(_text(value, "service_tier"))


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
