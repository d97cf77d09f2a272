"""One call of a model: from its request to whatever ends it."""

import os
import re
import time
import uuid
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._answer import Answer, decimal_text
from ._names import provider_of_model, site_of
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

# Names of Bedrock have a colon; of others, the method stands behind it.
_MODEL_IN_PATH = re.compile(r"/(?:model/([^/]+)|(?:models|deployments)/([^/:]+))")
_MODEL_IN_FORM = re.compile(rb'name="model"\r\n\r\n([^\r]{1,256})\r\n')
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,256})"')
# Members of the body of whatever lets a model answer.
_ASKS = re.compile(rb'"(?:messages|input|prompt|contents|query)"\s*:')
# They cost nothing.
_FREE = re.compile(r"(?:count_?tokens|compute_?tokens|input_tokens|moderations|batches)$", re.I)
# Errors of httpx after it has begun to send: the provider may bill what it was asked.
_SENT = {"ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "CloseError", "RemoteProtocolError"}
_NAMESPACE = uuid.UUID("6f1d6d5e-6a0e-4c7e-9d2c-2b3f6a3c8e11")


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
        self._is_ended = False
        self.answer = Answer()
        # Each answer of several in one body is a call of its own.
        self._are_many = False
        self._entry: Optional[object] = None
        origin.open_calls[id(self)] = self

    def answered(self, response: Any) -> Optional[Callable[[bytes], None]]:
        """Takes what the headers say. Returns what reads the body; nothing for one that has no usage."""
        self._headers = {name.lower(): value for name, value in response.headers.raw if name.lower() in _HEADERS}
        if response.status_code >= 400:
            self._forget()
            return None
        kind = self._header("content-type") or ""
        self._are_many = "jsonl" in kind or "ndjson" in kind or self._request.url.path.endswith("/results")
        if kind.startswith("application/vnd.amazon.eventstream"):
            return AmazonEvents(Scanner(self._see).feed).feed
        is_stream = "event-stream" in kind
        return Scanner(self._see, is_stream).feed if is_stream or "json" in kind or self._are_many else None

    def failed(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            self.end("cancelled")
        elif any(kind.__name__ in _SENT for kind in type(error).__mro__):
            self.end("error")
        else:
            self._forget()

    def end(self, outcome: str) -> None:
        # A forked child has copies of its parent's calls, which the parent records.
        if self._is_ended or self._process != os.getpid():
            return
        self._is_ended = True
        self._origin.open_calls.pop(id(self), None)
        if not self._are_many:
            self._entry = self._record(self.answer, outcome)

    def _forget(self) -> None:
        """It cost nothing."""
        self._is_ended = True
        self._origin.open_calls.pop(id(self), None)

    def leave(self) -> None:
        """Its reader has left, and may come back."""
        self.end("cancelled")

    def resume(self) -> None:
        if self._entry is not None and self._origin.withdraw(self._entry):
            self._is_ended = False
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
        """Decides whether this is a call. The rest is for the thread that sends it; nothing keeps the request."""
        request = self._request
        path = request.url.path
        body = _body(request)
        model = _model_of(body, request)
        is_post = request.method == "POST" and not _FREE.search(path)
        has_input = body[:1] != b"{" or _ASKS.search(body) is not None
        if answer.has_usage:
            # What is read again later was paid for once.
            is_new = is_post and (model is not None or (has_input and body != b""))
            is_recorded = is_new or self._are_many or (answer.is_deferred and not answer.is_unfinished)
        else:
            is_recorded = is_post and model is not None and has_input and not answer.is_deferred
        if not is_recorded:
            return None
        host, latency = request.url.host, time.monotonic() - self._begun
        return self._origin.record(lambda: self._fields(answer, outcome, host, model, latency), self._context)

    def _fields(self, answer: Answer, outcome: str, host: str, model: Optional[str], latency: float) -> Dict[str, Any]:
        requested = model or answer.model or "unknown"
        provider, region = self._served_by(answer, requested, host)
        # What several requests answer is one call, which the service then takes once.
        is_again = answer.id is not None and (self._are_many or answer.is_deferred)
        is_hit = (self._header(*_CACHES) or "").lower().startswith("hit")
        fields = answer.fields()
        return {
            **fields,
            "event_id": str(uuid.uuid5(_NAMESPACE, "%s:%s" % (provider, answer.id)) if is_again else uuid.uuid4()),
            "ingestion_timestamp": self._at,
            "provider": provider,
            "requested_model": requested,
            "region": fields["region"] or region,
            "latency_ms": round(latency * 1000),
            "request_id": self._header(*_REQUEST_IDS),
            "estimated_cost_usd": fields["estimated_cost_usd"] or decimal_text(self._header(*_COSTS)),
            "served_from_cache": True if is_hit or self._header(_LITELLM_CACHE) else None,
            "outcome": "error" if answer.is_failed else outcome,
        }

    def _served_by(self, answer: Answer, requested: str, host: str) -> Tuple[str, Optional[str]]:
        """By the host; behind a gateway by what it says; else by the models, since many speak OpenAI's API."""
        provider, region = site_of(host)
        if self._origin.provider or provider:
            return self._origin.provider or str(provider), region
        stated = self._header(*_PROVIDERS) or answer.stated.get("provider") or ""
        url = re.match(r"\w+://([^/:]+)", stated)
        provider = site_of(url[1])[0] if url else stated.lower().replace(" ", "_")
        by_model = provider_of_model(answer.model or "") or provider_of_model(requested)
        return provider or by_model or answer.api or self._origin.api or "unknown", region

    def _header(self, *names: str) -> Optional[str]:
        for name in names:
            value = self._headers.get(name.encode())
            if value and len(value) <= 256:
                return value.decode(errors="replace")
        return None


def _body(request: Any) -> bytes:
    try:
        return bytes(request.content)
    except Exception:
        return b""  # A form with a file: it is read while it is sent.


def _model_of(body: bytes, request: Any) -> Optional[str]:
    found: List[bytes] = _MODEL.findall(body) if body[:1] == b"{" else _MODEL_IN_FORM.findall(body)
    if len(found) == 1:
        return found[0].decode(errors="replace")
    if found:
        # Another one may stand in an argument of a tool.
        answer = Answer()
        Scanner(answer.see).feed(body)
        return answer.model or found[0].decode(errors="replace")
    in_path = _MODEL_IN_PATH.search(str(request.url.path))
    if in_path:
        return in_path[1] or in_path[2]
    for field in getattr(request.stream, "fields", ()):
        if getattr(field, "name", None) == "model":
            return str(field.value)
    return None
