"""Observes a client of httpx: every request of whatever SDK sends with it, whichever method made it.

An SDK's methods, types, streams and exceptions stay its own. The bytes of an answer are looked at as they pass to the
SDK. httpx is not imported here: what is given brings its own, under whichever name.
"""

import functools
import re
from typing import Any, AsyncIterator, Callable, Dict, Iterator, Optional, Set, Tuple

from ._call import Call

Begin = Callable[[Any], Call]

# Streams that state their usage only when asked, in a last part that has no choices.
_ASKABLE = re.compile(r"/(?:chat/)?completions$")
_IS_STREAM = re.compile(rb'"stream"\s*:\s*true\b')
_OPTIONS = re.compile(rb'"stream_options"\s*:\s*(?:null|\{\s*(\})?)')
# OpenRouter is asked in its own way.
_OWN_ASKING = re.compile(rb'"usage"\s*:\s*\{[^{}]*"include"\s*:')
_HAS_USAGE = re.compile(rb'"usage"\s*:\s*\{')
_HAS_NO_CHOICES = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_NULL_USAGE = re.compile(rb',\s*"usage"\s*:\s*null')
_END = re.compile(rb"^data: ?\[DONE\]|^event: ?message_stop", re.MULTILINE)
_END_BYTES = 256
_REFUSED_BYTES_MAX = 8_192


def observed(http: Any, begin: Begin, asks: bool) -> Any:
    """The same client, in a class of its own: both share all that they are, so others who use it are not observed."""
    if getattr(type(http), "_begin", None) is begin:
        return http
    http = getattr(http, "_attributed", http)
    kind = type(http)
    send = _async_send if hasattr(kind, "aclose") else _send
    refused: Set[Tuple[str, str]] = set()
    members = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "_attributed": http,
        "_begin": staticmethod(begin),
        "send": send(kind, begin, refused if asks else None),
    }
    same: Any = object.__new__(type(kind.__name__, (kind,), members))
    same.__dict__ = http.__dict__
    return same


def _send(kind: Any, begin: Begin, refused: Optional[Set[Tuple[str, str]]]) -> Any:
    @functools.wraps(kind.send)
    def send(self: Any, request: Any, *, stream: bool = False, **rest: Any) -> Any:
        call = _quietly(begin, request)
        if call is None:
            return kind.send(self, request, stream=stream, **rest)
        asking = _quietly(_asking, request, refused) if stream else None
        try:
            response = kind.send(self, asking or request, stream=stream, **rest)
            if asking is not None and response.status_code in (400, 422):
                response.read()
                if _quietly(_is_asking_refused, response, request, refused):
                    asking = None
                    response = kind.send(self, request, stream=stream, **rest)
        except BaseException as error:
            _quietly(call.failed, error)
            raise
        _observe(call, request, response, asking is not None)
        return response

    return send


def _async_send(kind: Any, begin: Begin, refused: Optional[Set[Tuple[str, str]]]) -> Any:
    @functools.wraps(kind.send)
    async def send(self: Any, request: Any, *, stream: bool = False, **rest: Any) -> Any:
        call = _quietly(begin, request)
        if call is None:
            return await kind.send(self, request, stream=stream, **rest)
        asking = _quietly(_asking, request, refused) if stream else None
        try:
            response = await kind.send(self, asking or request, stream=stream, **rest)
            if asking is not None and response.status_code in (400, 422):
                await response.aread()
                if _quietly(_is_asking_refused, response, request, refused):
                    asking = None
                    response = await kind.send(self, request, stream=stream, **rest)
        except BaseException as error:
            _quietly(call.failed, error)
            raise
        _observe(call, request, response, asking is not None)
        return response

    return send


def _quietly(task: Any, *arguments: Any) -> Any:
    """Whatever an unknown client does, its caller gets its answer."""
    try:
        return task(*arguments)
    except Exception:
        return None


# Asking for the usage


def _asking(request: Any, refused: Optional[Set[Tuple[str, str]]]) -> Any:
    """The request with `stream_options.include_usage`; nothing where it says so itself, or may not say so."""
    path = request.url.path
    if refused is None or request.method != "POST" or not _ASKABLE.search(path) or _place(request) in refused:
        return None
    body = request.content
    is_signed = request.headers.get("authorization", "").startswith("AWS4-")
    if is_signed or b'"include_usage"' in body or not _IS_STREAM.search(body) or body[-1:] != b"}":
        return None
    if _OWN_ASKING.search(body):
        return None
    if b'"stream_options"' in body:
        options = _OPTIONS.search(body)
        if options is None:
            return None
        # An empty object is whole; of another one, the rest follows.
        asked = b'"stream_options":{"include_usage":true'
        is_whole = options[0].endswith(b"null") or options[1] is not None
        body = body[: options.start()] + asked + (b"}" if is_whole else b",") + body[options.end() :]
    else:
        body = body[:-1] + b',"stream_options":{"include_usage":true}}'
    headers = request.headers.copy()
    headers["content-length"] = str(len(body))
    # Nothing can be taken out of what is compressed.
    headers["accept-encoding"] = "identity"
    return type(request)(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


def _is_asking_refused(response: Any, request: Any, refused: Set[Tuple[str, str]]) -> bool:
    if not re.search(rb"stream_options|include_usage", response.content[:_REFUSED_BYTES_MAX]):
        return False
    refused.add(_place(request))
    return True


def _place(request: Any) -> Tuple[str, str]:
    return request.url.host, request.url.path


class _WithoutUsage:
    """Takes out of a stream what was asked for: its last part, and the empty member of all others."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_taken_out = False

    def feed(self, part: bytes) -> bytes:
        data = self._rest + part
        end = data.rfind(b"\n") + 1
        lines, self._rest = data[:end], data[end:]
        # As OpenAI writes it in each part; within a text, the quotes would be escaped.
        lines = lines.replace(b',"usage":null', b"")
        if b'"usage"' not in lines and not self._is_taken_out:
            return lines
        return b"".join(map(self._line, lines.splitlines(keepends=True)))

    def _line(self, line: bytes) -> bytes:
        was_taken_out = self._is_taken_out
        self._is_taken_out = bool(_HAS_USAGE.search(line) and _HAS_NO_CHOICES.search(line))
        # An empty line ends each part.
        return b"" if self._is_taken_out or (was_taken_out and not line.strip()) else _NULL_USAGE.sub(b"", line)

    def end(self) -> bytes:
        rest, self._rest = self._rest, b""
        return rest


# Answers


def _observe(call: Call, request: Any, response: Any, is_asked: bool) -> None:
    try:
        # After a redirect, it is another one.
        if is_asked and not response.history:
            response.request = request
        feed = call.answered(response)
        if response.status_code >= 400:
            return
        if response.is_stream_consumed or response.is_closed:
            if feed is not None:
                feed(response.content)
            return call.end("success")
        decoder = _decoder_of(response)
        without = _WithoutUsage() if is_asked and decoder is None else None
        kind = _stream_class(_base_of(type(response.stream)))
        response.stream = kind(response.stream, call, feed, decoder, without)
    except Exception:
        call.forget()


def _decoder_of(response: Any) -> Any:
    """A second one: that of the response is the SDK's."""
    if response.headers.get("content-encoding", "identity") == "identity":
        return None
    return type(response)(200, headers=response.headers)._get_content_decoder()


class _Passing:
    """The bytes of an answer, on their way to the SDK."""

    def __init__(self, stream: Any, call: Call, feed: Any, decoder: Any, without: Optional[_WithoutUsage]) -> None:
        self._stream = stream
        self._call = call
        self._feed = feed
        self._decoder = decoder
        self._without = without
        self._last = b""
        self._is_left = False

    def _see(self, part: bytes) -> bytes:
        try:
            if self._is_left:
                self._is_left = False
                self._call.resume()
            plain = part
            if self._decoder is not None:
                decoded = self._decoder.decode(part)
                plain = decoded if isinstance(decoded, bytes) else b"".join(decoded)
            self._last = (self._last + plain)[-_END_BYTES:]
            if self._feed is not None:
                self._feed(plain)
            return part if self._without is None else self._without.feed(part)
        except Exception:
            self._feed = None
            return part

    def _rest(self) -> bytes:
        return b"" if self._without is None else self._without.end()

    def leave(self) -> None:
        self._is_left = True
        _quietly(self._call.leave)

    def _end(self, outcome: str) -> None:
        is_complete = outcome == "cancelled" and (self._call.answer.is_complete or _END.search(self._last))
        _quietly(self._call.end, "success" if is_complete else outcome)

    def __del__(self) -> None:
        # A stream that nobody has begun to read, or has closed.
        self._end("cancelled")


class _SyncPassing(_Passing):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for part in self._stream:
                seen = self._see(part)
                if seen:
                    yield seen
            rest = self._rest()
            if rest:
                yield rest
            self._end("success")
        except BaseException as error:
            self._end("error" if isinstance(error, Exception) else "cancelled")
            raise

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._end("cancelled")


class _AsyncPassing(_Passing):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                seen = self._see(part)
                if seen:
                    yield seen
            rest = self._rest()
            if rest:
                yield rest
            self._end("success")
        except BaseException as error:
            self._end("error" if isinstance(error, Exception) else "cancelled")
            raise

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._end("cancelled")


def _base_of(kind: Any) -> Any:
    """httpx's own class of streams: it takes no other."""
    return next(each for each in kind.__mro__ if each.__name__ in ("SyncByteStream", "AsyncByteStream"))


_classes: Dict[Any, Any] = {}


def _stream_class(base: Any) -> Any:
    if base not in _classes:
        passing = _SyncPassing if base.__name__ == "SyncByteStream" else _AsyncPassing
        _classes[base] = type("Passing", (passing, base), {})
    return _classes[base]


# Streams that are left


def notice_leaving(package: Any) -> None:
    """Lets an SDK's streams say when a loop over one is left by `break`: else that shows only when it is collected."""
    for name, method in (("Stream", "__iter__"), ("AsyncStream", "__aiter__")):
        kind = getattr(package, name, None)
        original = getattr(kind, method, None)
        if original is None or hasattr(original, "_attributed"):
            continue
        noticing = (_noticing if method == "__iter__" else _noticing_async)(original)
        noticing._attributed = True
        setattr(kind, method, noticing)


def _noticing(original: Any) -> Any:
    @functools.wraps(original)
    def __iter__(self: Any) -> Iterator[Any]:
        try:
            yield from original(self)
        except GeneratorExit:
            _quietly(_leave, self)
            raise

    return __iter__


def _noticing_async(original: Any) -> Any:
    @functools.wraps(original)
    async def __aiter__(self: Any) -> AsyncIterator[Any]:
        try:
            async for item in original(self):
                yield item
        except GeneratorExit:
            _quietly(_leave, self)
            raise

    return __aiter__


def _leave(stream: Any) -> None:
    passing = stream.response.stream
    if isinstance(passing, _Passing):
        passing.leave()
