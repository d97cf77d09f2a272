"""Who and what causes the calls that are made here and below, in the same thread or task."""

import contextlib
import contextvars
import re
import sys
from typing import Any, Dict, Iterator, Mapping, Optional

_fields: "contextvars.ContextVar[Mapping[str, Any]]" = contextvars.ContextVar("attribution_service", default={})
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


@contextlib.contextmanager
def context(
    *,
    service: Optional[str] = None,
    identity: Optional[str] = None,
    tags: Optional[Mapping[str, str]] = None,
    session: Optional[str] = None,
    **fields: Any,
) -> Iterator[None]:
    """`session` is the conversation or task: the tag `session_id`. `fields` are further ones of the event."""
    inner = fields_of(service=service, identity=identity, tags=tags, session=session, **fields)
    token = _fields.set(merged(_fields.get(), inner))
    try:
        yield
    finally:
        _fields.reset(token)


def fields_of(
    *,
    service: Optional[str] = None,
    identity: Optional[str] = None,
    tags: Optional[Mapping[str, str]] = None,
    session: Optional[str] = None,
    **fields: Any,
) -> Dict[str, Any]:
    """The fields of an event; `None` is the same as absent."""
    all_tags = {**(tags or {}), **({} if session is None else {"session_id": session})}
    stated = {"attributed_service": service, "attributed_identity": identity, "tags": all_tags or None}
    given = {name: value for name, value in fields.items() if value is not None}
    return {**{name: value for name, value in stated.items() if value is not None}, **given}


def merged(*scopes: Mapping[str, Any]) -> Dict[str, Any]:
    """A later one replaces what an earlier one says, but for tags, which add up."""
    fields: Dict[str, Any] = {}
    for scope in scopes:
        tags = {**(fields.get("tags") or {}), **(scope.get("tags") or {})}
        fields.update(scope)
        if tags:
            fields["tags"] = tags
    return fields


def current() -> Mapping[str, Any]:
    return _fields.get()


def current_trace() -> Dict[str, str]:
    """The active span of OpenTelemetry, where it is loaded: it makes the call."""
    trace = sys.modules.get("opentelemetry.trace")
    span = None if trace is None else trace.get_current_span().get_span_context()
    if span is None or not span.is_valid:
        return {}
    return {"trace_id": "%032x" % span.trace_id, "parent_span_id": "%016x" % span.span_id}


def trace_of(traceparent: Optional[str]) -> Dict[str, str]:
    """The same of a request."""
    found = _TRACEPARENT.match(traceparent or "")
    return {"trace_id": found[1], "parent_span_id": found[2]} if found else {}
