"""Finds what an answer says about itself in its bytes as they pass.

JSON, lines of JSON, a list of answers, or the events of a stream. Everything else, what was said above all, is stepped
over and never becomes text: one match leads from a bracket to the next, over all texts and numbers between.
"""

import base64
import re
from typing import Callable, Dict, List, Optional

OnAnswer = Callable[[Dict[str, str], Optional[bytes]], None]

# Members that are read.
_TEXTS = (
    b"id",
    b"responseId",
    b"model",
    b"modelVersion",
    b"type",
    b"object",
    b"provider",
    b"service_tier",
    b"status",
    b"background",
)
_USAGES = (b"usage", b"usageMetadata", b"usage_info")
# Where an answer states no usage: Cohere's rerank, embeddings and first version, Groq's streams that are not asked for
# it, and what Bedrock counts itself.
_OTHERS = {b"meta": b'"billed_units"', b"x_groq": b'"usage"', b"amazon-bedrock-invocationMetrics": b"TokenCount"}
# Objects that hold the answer within an event of a stream, or within a line of a batch.
_HOLDERS = (b"response", b"message", b"interaction", b"result", b"delta")
_HOLDERS_DEEP = 3
_TEXT_MAX = 512
_USAGE_MAX = 65_536

_REST = rb'[^"\\]*(?:\\.[^"\\]*)*'
# The same with its quote, five times as fast over a text without escaped quotes. Only one of the two can match.
_END = rb'(?:[^"]*(?<!\\)"|(?=[^"]*\\")' + _REST + rb'")'
_WANTED = rb'(?:%s)"\s*:' % b"|".join(_TEXTS + _USAGES + tuple(_OTHERS) + _HOLDERS)
_NO_BRACKETS = rb'[^"{}\[\]]*'
_TEXT_REST = re.compile(_END, re.DOTALL)
# Over texts and numbers.
_OVER = re.compile(_NO_BRACKETS + rb'(?:"' + _END + _NO_BRACKETS + rb")*", re.DOTALL)
# The same, but for the last text, which may be a key.
_WHOLE = re.compile(rb"(?:" + _NO_BRACKETS + rb'"' + _END + rb"(?=" + _NO_BRACKETS + rb'"))*' + _NO_BRACKETS, re.DOTALL)
# Over all members that are not wanted, to the next that is, with its value; or to the next bracket.
_NEXT = re.compile(
    _NO_BRACKETS + rb'(?:"(?!' + _WANTED + rb")" + _END + _NO_BRACKETS + rb")*"
    rb'(?:"(?=' + _WANTED + rb")(" + _REST + rb')"\s*:\s*(?:"(' + _REST + rb')"|(true\b|[{\[]))?|([{}\[\]]))',
    re.DOTALL,
)
# Of streams that were asked for their usage, each part but the last has one.
_NULL_USAGES = (b'"usage":null', b'"usage": null')
_QUOTE = ord('"')
_OPENING = b"{["


# The payload of an event of Bedrock, which holds one of Anthropic.
_BYTES = re.compile(rb'"bytes":"([A-Za-z0-9+/=]*)"')


class AmazonEvents:
    """Bedrock's streams: frames around events in base64."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self._feed = feed
        self._rest = b""

    def feed(self, data: bytes) -> None:
        data = self._rest + data
        end = 0
        for found in _BYTES.finditer(data):
            end = found.end()
            self._feed(base64.b64decode(found[1]))
        self._rest = data[end:][-_USAGE_MAX:]


class Scanner:
    """Calls `on_answer` at the end of each answer, with the members that it states and the text of its usage."""

    def __init__(self, on_answer: OnAnswer, is_stream: bool = False) -> None:
        self._on_answer = on_answer
        self._is_stream = is_stream
        self._is_known = False
        self._depth = 0
        self._stated: Dict[str, str] = {}
        self._depths: Dict[str, int] = {}
        self._usage: Optional[bytes] = None
        # Brackets that are open within a member that is stepped over, and its bytes if it is a usage.
        self._inner = 0
        self._parts: Optional[List[bytes]] = None
        self._key = b""
        self._is_in_text = False
        self._held = b""

    def feed(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        at = begin = 0
        end = len(data)
        while at < end:
            if self._is_in_text:
                rest = _TEXT_REST.match(data, at)
                if rest is None:
                    # A backslash at the end belongs to what comes next.
                    at = end - (end - len(data.rstrip(b"\\"))) % 2
                    break
                self._is_in_text = False
                at = rest.end()
            elif self._inner:
                at = self._step_over(data, at, begin)
            elif self._depth == 0:
                at = self._next_answer(data, at)
            else:
                at = self._member(data, at)
                begin = at - 1
                if self._held:
                    return
        if self._parts is not None:
            self._take(data[begin:at])
        self._held = data[at:]

    def _next_answer(self, data: bytes, at: int) -> int:
        """Between answers there are names of events, `data:` and line ends, or the commas of a list."""
        at = data.find(b"{", at)
        if at < 0:
            return len(data)
        if self._is_stream and self._is_known:
            # Nearly all events of a stream are a line with a word of what is said.
            line_end = data.find(b"\n", at)
            usage = data.find(b'"usage', at, line_end)
            if usage >= 0 and data.startswith(_NULL_USAGES, usage):
                usage = data.find(b'"usage', usage + 1, line_end)
            is_word = usage < 0 and data.find(b'"error"', at, line_end) < 0
            if line_end >= 0 and is_word and data.find(b'"billed_units"', at, line_end) < 0:
                return line_end
        self._depth = 1
        return at + 1

    def _step_over(self, data: bytes, at: int, begin: int) -> int:
        inner, end, match = self._inner, len(data), _OVER.match
        while inner:
            over = match(data, at)
            at = over.end() if over else end
            if at == end:
                break
            byte = data[at]
            at += 1
            if byte == _QUOTE:
                self._is_in_text = True
                break
            inner += 1 if byte in _OPENING else -1
        self._inner = inner
        if inner == 0 and self._parts is not None:
            self._take(data[begin:at])
            parts, self._parts = self._parts, None
            self._state_usage(b"".join(parts))
        return at

    def _member(self, data: bytes, at: int) -> int:
        found = _NEXT.match(data, at)
        if found is None:
            return self._cut(data, at)
        key, text, begin, bracket = found.groups()
        end = found.end()
        if text is not None:
            if len(text) <= _TEXT_MAX:
                self._state(key, text)
        elif bracket == b"}":
            self._depth -= 1
            if self._depth == 0:
                self._end()
        elif begin == b"true":
            self._state(key, begin)
        elif begin == b"{" and key in _HOLDERS and self._depth < _HOLDERS_DEEP:
            self._depth += 1
        elif begin is not None or bracket is not None:
            self._inner = 1
            self._parts = [] if begin == b"{" and (key in _USAGES or key in _OTHERS) else None
            self._key = key
        elif data[end : end + 1] in (b'"', b""):
            return self._cut(data, found.start(1) - 1)
        return end

    def _cut(self, data: bytes, at: int) -> int:
        """The bytes end within a member: it is read as a whole with the next ones, unless it is what was said."""
        if len(data) - at > 2 * _TEXT_MAX:
            whole = _WHOLE.match(data, at)
            at = whole.end() if whole else at
            self._is_in_text = len(data) - at > _TEXT_MAX
        if not self._is_in_text:
            self._held = data[at:]
        return at + 1

    def _state(self, key: bytes, value: bytes) -> None:
        name = key.decode()
        # What an object further in says is of the answer; its outer one is an event.
        if self._depth >= self._depths.get(name, 0) and not (name == "type" and self._depth > 1):
            self._depths[name] = self._depth
            self._stated[name] = value.decode(errors="replace")

    def _state_usage(self, usage: bytes) -> None:
        if self._key in _OTHERS:
            if self._usage is None and _OTHERS[self._key] in usage:
                self._usage = b'{"%s":%s}' % (self._key, usage)
        elif self._depth >= self._depths.get("usage", 0):
            self._depths["usage"] = self._depth
            self._usage = usage or None

    def _take(self, part: bytes) -> None:
        if self._parts is not None and sum(map(len, self._parts)) + len(part) <= _USAGE_MAX:
            self._parts.append(part)

    def _end(self) -> None:
        stated, usage = self._stated, self._usage
        self._stated, self._depths, self._usage = {}, {}, None
        self._is_known = True
        self._on_answer(stated, usage)
