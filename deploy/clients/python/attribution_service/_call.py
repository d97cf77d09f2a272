"""One call of a model: from its request to whatever ends it."""

import os
import re
import time
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ._answer import Answer, decimal_text
from ._context import trace_of
from ._names import PROVIDERS, provider_of_model, site_of
from ._scan import AmazonEvents, Scanner

# The first names the request to those who record it, too: a gateway's before the provider's.
_REQUEST_IDS = (
    "x-litellm-call-id",
    "x-portkey-trace-id",
    "x-generation-id",
    "apim-request-id",
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
)
# LiteLLM states where a deployment is, Portkey whom it asked.
_PROVIDERS = ("x-portkey-provider", "x-litellm-model-api-base")
# Answered by a gateway's cache: nothing was bought.
_CACHES = ("x-portkey-cache-status", "cf-aig-cache-status", "helicone-cache")
_COSTS = ("x-litellm-response-cost",)
_LITELLM_CACHE = "x-litellm-cache-key"
_HEADERS = {name.encode() for name in ("content-type", _LITELLM_CACHE, *_REQUEST_IDS, *_PROVIDERS, *_CACHES, *_COSTS)}
_ASKED = {b"x-portkey-provider", b"x-stainless-retry-count", b"traceparent"}

# Names of Bedrock have a colon; of others, the method stands behind it.
_MODEL_IN_PATH = re.compile(r"/(?:model/([^/]+)|(?:models|deployments)/([^/:]+))")
_MODEL_IN_FORM = re.compile(rb'name="model"\r\n\r\n([^\r]{1,256})\r\n')
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,256})"')
# Members of the body of whatever lets a model answer.
_ASKS = re.compile(rb'"(?:messages?|inputs?|prompt|contents|query|texts)"\s*:')
# They cost nothing.
_FREE = re.compile(r"(?:count_?tokens|compute_?tokens|input_tokens|moderations|batches)$", re.I)
# Errors of httpx after it has begun to send: the provider may bill what it was asked.
_SENT = {"ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "CloseError", "RemoteProtocolError"}


class Origin:
    """Whose calls these are: the same for all of a wrapped client."""

    def __init__(
        self,
        record: Callable[[Callable[[], Dict[str, Any]], Any], object],
        withdraw: Callable[[object], bool],
        open_calls: "Dict[int, Call]",
        api: Optional[str],
        provider: Optional[str],
    ) -> None:
        self.record = record
        self.withdraw = withdraw
        self.open_calls = open_calls
        self.api = api
        self.provider = provider


class Call:
    """Records itself once, when it ends."""

    def __init__(self, origin: Origin, request: Any, context: Dict[str, Any]) -> None:
        self._origin = origin
        self._request = request
        self._context = context
        self._headers: Dict[bytes, bytes] = {}
        self._begun = time.monotonic()
        self._at = time.time()
        self._process = os.getpid()
        self.answer = Answer()
        # Each answer of several in one body is a call of its own.
        self._are_many = False
        self._is_stream = False
        self._asked: Optional[_Asked] = None
        self._entry: Optional[object] = None
        origin.open_calls[id(self)] = self

    def answered(self, response: Any) -> Optional[Callable[[bytes], None]]:
        """Takes what the headers say. Returns what reads the body; nothing for one that has no usage."""
        self._headers = {name.lower(): value for name, value in response.headers.raw if name.lower() in _HEADERS}
        if response.status_code >= 400:
            self.forget()
            return None
        kind = self._header("content-type") or ""
        self._are_many = "jsonl" in kind or "ndjson" in kind
        if "json" not in kind and "event-stream" not in kind:
            self._are_many = self._request.url.path.endswith("/results")
        if kind.startswith("application/vnd.amazon.eventstream"):
            self._is_stream = True
            return AmazonEvents(Scanner(self._see).feed).feed
        self._is_stream = "event-stream" in kind
        is_read = self._is_stream or "json" in kind or self._are_many
        return Scanner(self._see, self._is_stream).feed if is_read else None

    def failed(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            self.end("cancelled")
        elif any(kind.__name__ in _SENT for kind in type(error).__mro__):
            self.end("error")
        else:
            self.forget()

    def end(self, outcome: str) -> None:
        # A forked child has copies of its parent's calls, which the parent records. Of two threads that end a call at
        # once, such as its reader and the end of the program, one takes it out.
        if self._process != os.getpid() or self._origin.open_calls.pop(id(self), None) is None:
            return
        if not self._are_many:
            self._entry = self._record(self.answer, outcome)
        # What was asked is not kept until the call is sent.
        self._request = None

    def forget(self) -> None:
        """It cost nothing."""
        self._origin.open_calls.pop(id(self), None)

    def leave(self) -> None:
        """Its reader has left, and may come back."""
        self.end("cancelled")

    def resume(self) -> None:
        if self._entry is not None and self._origin.withdraw(self._entry):
            self._origin.open_calls[id(self)] = self
        self._entry = None

    def _see(self, stated: Dict[str, str], usage: Optional[bytes]) -> None:
        if not self._are_many:
            return self.answer.see(stated, usage)
        if usage is not None:
            answer = Answer()
            answer.see(stated, usage)
            self._record(answer, "success")

    def _record(self, answer: Answer, outcome: str) -> Optional[object]:
        """Decides whether this is a call. The rest is for the thread that sends it."""
        asked = self._asked = self._asked or _read_request(self._request)
        if answer.has_usage:
            # What is read again later was paid for once.
            is_new = asked.is_post and (asked.model is not None or asked.has_input)
            is_recorded = is_new or self._are_many or (answer.is_deferred and not answer.is_unfinished)
        else:
            # What came whole and states no usage has none.
            is_cut = (outcome != "success" or self._is_stream) and not answer.is_deferred
            is_recorded = is_cut and asked.is_post and asked.model is not None and asked.has_input
        if not is_recorded:
            return None
        seconds = time.monotonic() - self._begun
        return self._origin.record(lambda: self._fields(answer, outcome, asked, seconds), self._context)

    def _fields(self, answer: Answer, outcome: str, asked: "_Asked", seconds: float) -> Dict[str, Any]:
        requested = asked.model or answer.model or "unknown"
        provider, region = self._served_by(answer, requested, asked)
        # What several requests answer is one call, which the service then takes once.
        is_again = self._are_many or answer.is_deferred
        cost = self._header(*_COSTS)
        # LiteLLM names the entry of its cache also where it has written it.
        is_hit = self._header(_LITELLM_CACHE) is not None and _is_zero(cost)
        is_hit = is_hit or (self._header(*_CACHES) or "").lower().startswith("hit")
        fields = answer.fields()
        return {
            **asked.trace,
            **fields,
            "event_id": derived_id(answer.id) if is_again and answer.id else str(uuid.uuid4()),
            "ingestion_timestamp": self._at,
            "provider": provider,
            "requested_model": requested,
            "region": fields["region"] or region,
            "latency_ms": round(seconds * 1000),
            "attempt": asked.attempt if asked.attempt > 1 else None,
            "request_id": self._header(*_REQUEST_IDS),
            "estimated_cost_usd": decimal_text(cost) or (answer.cost() if provider == "openrouter" else None),
            "served_from_cache": True if is_hit else None,
            "outcome": "error" if answer.is_failed else outcome,
        }

    def _served_by(self, answer: Answer, requested: str, asked: "_Asked") -> Tuple[str, Optional[str]]:
        """By the host; behind a gateway by what it says; else by the models, since many speak OpenAI's API."""
        provider, region = site_of(asked.host)
        if self._origin.provider or provider:
            return self._origin.provider or str(provider), region
        stated = self._header(*_PROVIDERS) or asked.provider or ""
        url = re.match(r"\w+://([^/:]+)", stated)
        provider = site_of(url[1])[0] if url else stated.lower()
        said = answer.stated.get("provider", "").lower()
        provider = provider or (said if said in PROVIDERS else None)
        by_model = provider_of_model(answer.model or "") or provider_of_model(requested)
        return provider or by_model or answer.api or self._origin.api or "unknown", region

    def _header(self, *names: str) -> Optional[str]:
        for name in names:
            value = self._headers.get(name.encode())
            if value and len(value) <= 256:
                return value.decode(errors="replace")
        return None


class _Asked(NamedTuple):
    """What is known of a call by its request."""

    host: str
    model: Optional[str]
    is_post: bool
    has_input: bool
    provider: Optional[str]
    attempt: int
    trace: Dict[str, str]


def _read_request(request: Any) -> _Asked:
    body = _body(request)
    url = request.url
    path = url.path
    headers = {name.lower(): value.decode() for name, value in request.headers.raw if name.lower() in _ASKED}
    return _Asked(
        host=url.host,
        model=_model_of(body, path, request),
        is_post=request.method == "POST" and not _FREE.search(path),
        # A form with a file is read while it is sent.
        has_input=body is None or (body[:1] != b"{" and body != b"") or _ASKS.search(body) is not None,
        # As a gateway is asked for it, and as SDKs count.
        provider=headers.get(b"x-portkey-provider"),
        attempt=int(headers.get(b"x-stainless-retry-count", 0)) + 1,
        trace=trace_of(headers.get(b"traceparent")),
    )


def derived_id(text: str) -> str:
    """A UUID that is the same for the same text, in other languages, too (`derived-id.ts`)."""
    words = "".join("%08x" % _hash(text, seed) for seed in (0x811C9DC5, 0x9E3779B9, 0x85EBCA6B, 0xC2B2AE35))
    # Version 8 and variant of RFC 9562: made of something else than time or chance.
    return str(uuid.UUID(words[:12] + "8" + words[13:16] + "8" + words[17:]))


def _hash(text: str, seed: int) -> int:
    """FNV-1a, with the mixing of MurmurHash at its end."""
    value = seed
    units = text.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (value ^ int.from_bytes(units[at : at + 2], "little")) * 0x01000193 & 0xFFFFFFFF
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    return value ^ value >> 13


def _is_zero(cost: Optional[str]) -> bool:
    try:
        return float(cost or 1) == 0
    except ValueError:
        return False


def _body(request: Any) -> Optional[bytes]:
    try:
        return bytes(request.content)
    except Exception:
        return None


def _model_of(body: Optional[bytes], path: str, request: Any) -> Optional[str]:
    found: List[bytes] = (_MODEL if (body or b"")[:1] == b"{" else _MODEL_IN_FORM).findall(body or b"")
    if len(found) == 1:
        return found[0].decode(errors="replace")
    if found:
        # An argument of a tool may have another one.
        answer = Answer()
        Scanner(answer.see).feed(body or b"")
        return answer.model or found[0].decode(errors="replace")
    in_path = _MODEL_IN_PATH.search(path)
    if in_path:
        return in_path[1] or in_path[2]
    for field in getattr(request.stream, "fields", ()):
        if getattr(field, "name", None) == "model":
            return str(field.value)
    return None
