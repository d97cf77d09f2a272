"""What is known of a call by the parts of its answer that have passed."""

import functools
import json
import re
from decimal import Context, Decimal
from typing import Any, Dict, List, Optional

# As the service names them; one that it does not know would refuse the event.
_SERVICE_TIERS = {
    "standard": "standard",
    "default": "standard",
    "on_demand": "standard",
    "batch": "batch",
    "flex": "flex",
    "priority": "priority",
    "scale": "scale",
    "priority_on_demand": "priority_on_demand",
    "flex_discount": "flex_discount",
}

# What one request creates and later ones answer: all of these say the same.
_DEFERRED = {"batch", "thread.run"}
_UNFINISHED = {"validating", "queued", "in_progress", "finalizing", "cancelling", "requires_action"}
# The steps of a run have a usage, too, which is a part of the run's.
_PARTS = {"thread.run.step"}

# Bounds of the service, which refuses an event beyond them.
_DEPTH_MAX = 3
_MEMBERS_MAX = 32
_LIST_MAX = 256
_NAME = re.compile(r"[\w.:/-]{1,64}\Z", re.ASCII)
# What a count is of.
_WORDS = {"modality", "ttl", "type"}
# Parts of a stream that each state all counts until then.
_USAGES_MAX = 8
# Names under which the service expects what was said.
_CONTENT_NAME = re.compile(
    r"(?:prompt|completion|message|content|input|output|choice|generation|instruction)s?\Z", re.I
)
# Amounts of others are doubles; beyond these digits stands their noise.
_DIGITS = Context(prec=15)


class Answer:
    def __init__(self) -> None:
        self.stated: Dict[str, str] = {}
        self._usages: List[bytes] = []

    def see(self, stated: Dict[str, str], usage: Optional[bytes]) -> None:
        """A later part replaces what an earlier one says."""
        if stated.get("object") in _PARTS:
            return
        self.stated.update(stated)
        if usage is not None:
            if len(self._usages) == _USAGES_MAX:
                del self._usages[1:-1]
            self._usages.append(usage)

    @property
    def has_usage(self) -> bool:
        return bool(self._usages)

    def usage(self) -> Dict[str, Any]:
        usage: Dict[str, Any] = {}
        for text in self._usages:
            stated = json.loads(text, parse_float=Decimal)
            usage.update((name, value) for name, value in stated.items() if value is not None)
        meta, groq = usage.pop("meta", None), usage.pop("x_groq", None)
        metrics = usage.pop("amazon-bedrock-invocationMetrics", None)
        billed = meta.get("billed_units") if isinstance(meta, dict) else None
        counts = groq.get("usage") if isinstance(groq, dict) else None
        return usage or counts or ({"billed_units": billed} if billed else metrics or {})

    @property
    def is_failed(self) -> bool:
        return self.stated.get("type") in ("error", "response.failed")

    @property
    def is_complete(self) -> bool:
        return self.stated.get("type") in ("message_stop", "message-end", "response.completed", "response.incomplete")

    @property
    def is_unfinished(self) -> bool:
        """A batch states counts before they are all."""
        return self.is_deferred and self.stated.get("status") in _UNFINISHED

    @property
    def is_deferred(self) -> bool:
        return self.stated.get("background") == "true" or self.stated.get("object") in _DEFERRED

    @property
    def id(self) -> Optional[str]:
        return self.stated.get("id") or self.stated.get("responseId")

    @property
    def model(self) -> Optional[str]:
        return self.stated.get("model") or self.stated.get("modelVersion")

    @property
    def api(self) -> Optional[str]:
        """Whose API this is, by its form."""
        if "modelVersion" in self.stated:
            return "gemini"
        return "anthropic" if (self.id or "").startswith("msg_") else None

    def cost(self) -> Optional[str]:
        """What OpenRouter charged, unless it only passed on what another bills."""
        usage = self.usage()
        return None if usage.get("is_byok") is True else decimal_text(usage.get("cost"))

    def fields(self) -> Dict[str, Any]:
        usage = self.usage()
        tier = "batch" if self.stated.get("object") == "batch" else usage.get("service_tier")
        geography = usage.get("inference_geo")
        return {
            "served_model": self.model,
            "provider_usage": _plain_members(usage, 1) or None,
            "service_tier": _SERVICE_TIERS.get(str(tier or self.stated.get("service_tier"))),
            "speed": "fast" if usage.get("speed") == "fast" else None,
            # Where Anthropic processed the call; `global` and `not_available` name no place.
            "region": geography if re.fullmatch("[a-z]{2}", str(geography)) else None,
            "response_id": self.id,
        }


def decimal_text(value: Any) -> Optional[str]:
    try:
        amount = _DIGITS.create_decimal(value)
        return format(amount.normalize(), "f") if 0 < amount < 10**12 and amount > Decimal("1e-18") else None
    except Exception:
        return None


def _plain_members(members: Dict[str, Any], depth: int) -> Dict[str, Any]:
    """Counts as the provider wrote them: how they are counted is for the service to know."""
    plain: Dict[str, Any] = {}
    for name, value in members.items():
        is_word = isinstance(value, str) and name in _WORDS and _NAME.match(value)
        found = value if is_word else _plain(value, depth) if _is_kept(name) else None
        if found is not None and len(plain) < _MEMBERS_MAX:
            plain[name] = found
    return plain


@functools.lru_cache(maxsize=1024)
def _is_kept(name: str) -> bool:
    return bool(_NAME.match(name)) and not _CONTENT_NAME.match(name)


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, Decimal)):
        number = value if isinstance(value, int) else float(value)
        return number if 0 <= number < 2**53 else None
    if isinstance(value, dict):
        return _plain_members(value, depth + 1) if depth < _DEPTH_MAX else None
    if isinstance(value, list) and depth == 1:
        return [_plain_members(each, 2) if isinstance(each, dict) else {} for each in value[:_LIST_MAX]]
    return None
