"""As much of httpx as SDKs use of it, and a provider in the same process: no package is needed."""

import json


class SyncByteStream:
    pass


class AsyncByteStream:
    pass


class Parts(SyncByteStream):
    def __init__(self, parts, error=None):
        self._parts, self._error, self.is_closed = parts, error, False

    def __iter__(self):
        yield from self._parts
        if self._error:
            raise self._error

    def close(self):
        self.is_closed = True


class AsyncParts(AsyncByteStream):
    def __init__(self, parts, error=None):
        self._parts, self._error, self.is_closed = parts, error, False

    async def __aiter__(self):
        for part in self._parts:
            yield part
        if self._error:
            raise self._error

    async def aclose(self):
        self.is_closed = True


class ReadTimeout(Exception):
    pass


class ConnectError(Exception):
    pass


class Url:
    def __init__(self, text):
        rest = text.partition("://")[2]
        self.host, _, path = rest.partition("/")
        self.path = "/" + path


class Headers(dict):
    @property
    def raw(self):
        return [(name.encode(), value.encode()) for name, value in self.items()]

    def copy(self):
        return Headers(self)


class Request:
    def __init__(self, method, url, headers=None, content=b"", extensions=None):
        self.method, self.url = method, url if isinstance(url, Url) else Url(url)
        self.headers, self.content, self.extensions, self.stream = (
            Headers(headers or {}),
            content,
            extensions or {},
            None,
        )


class Response:
    def __init__(self, status_code, headers=None, stream=None):
        self.status_code, self.headers, self.stream = status_code, Headers(headers or {}), stream
        self.is_stream_consumed = self.is_closed = False
        self.request, self.history = None, []
        self.content = b""

    def read(self):
        if not self.is_stream_consumed:
            self.content = b"".join(self.iter_bytes())
        return self.content

    async def aread(self):
        if not self.is_stream_consumed:
            self.content = b"".join([part async for part in self.aiter_bytes()])
        return self.content

    def iter_bytes(self):
        self.is_stream_consumed = True
        yield from self.stream
        self.close()

    async def aiter_bytes(self):
        self.is_stream_consumed = True
        async for part in self.stream:
            yield part
        await self.aclose()

    def close(self):
        self.is_closed = True
        self.stream.close()

    async def aclose(self):
        self.is_closed = True
        await self.stream.aclose()


class Client:
    def __init__(self, answer):
        self._answer = answer

    def build_request(self, method, url, **rest):
        return Request(method, url, **rest)

    def send(self, request, *, stream=False):
        response = self._answer(request, Parts)
        response.request = response.request or request
        if not stream:
            response.read()
        return response


class AsyncClient(Client):
    async def send(self, request, *, stream=False):
        response = self._answer(request, AsyncParts)
        response.request = response.request or request
        if not stream:
            await response.aread()
        return response

    async def aclose(self):
        pass


def post(url, body, **rest):
    return Request("POST", url, content=json.dumps(body).encode(), **rest)


def json_answer(body, headers=None, status=200):
    content = json.dumps(body).encode()
    return lambda request, kind: Response(
        status, {"content-type": "application/json", **(headers or {})}, kind([content])
    )


def events(*parts, done=True):
    lines = [b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts]
    return lines + ([b"data: [DONE]\n\n"] if done else [])


def event_stream(parts, error=None):
    return lambda request, kind: Response(200, {"content-type": "text/event-stream"}, kind(parts, error))
