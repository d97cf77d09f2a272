"""Calls of OpenAI and Anthropic through the client library, as their SDKs send them."""

import asyncio
import json
import os

import stub_httpx as httpx
from attribution_service import Attribution

USAGE = {
    "prompt_tokens": 1200,
    "completion_tokens": 300,
    "prompt_tokens_details": {"cached_tokens": 1000},
    "completion_tokens_details": {"reasoning_tokens": 128},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "model": "claude-sonnet-4-6",
    "usage": {
        "input_tokens": 100,
        "output_tokens": 1,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 500,
        "service_tier": "standard",
        "inference_geo": "us",
    },
}


def provider(request, kind):
    body = json.loads(request.content)
    if request.url.path.endswith("/messages"):
        if not body.get("stream"):
            return httpx.json_answer(MESSAGE)(request, kind)
        last = {"type": "message_delta", "usage": {"output_tokens": 250}}
        return httpx.event_stream(httpx.events({"type": "message_start", "message": MESSAGE}, last, done=False))(
            request, kind
        )
    if body["model"] == "broken":
        return httpx.json_answer({"error": {}}, status=400)(request, kind)
    chat = {"model": body["model"], "service_tier": "default", "choices": [{"message": "a-completion"}]}
    if not body.get("stream"):
        return httpx.json_answer({**chat, "usage": USAGE})(request, kind)
    is_asked = body.get("stream_options", {}).get("include_usage")
    return httpx.event_stream(httpx.events(chat, *([{**chat, "choices": [], "usage": USAGE}] if is_asked else [])))(
        request, kind
    )


attribution = Attribution(os.environ["BASE_URL"], os.environ["API_KEY"], service="python-search", tags={"team": "core"})
client = attribution.wrap(httpx.Client(provider), identity="ann")
asynchronous = attribution.wrap(httpx.AsyncClient(provider))
OPENAI = "https://api.openai.com/v1/chat/completions"
ASKED = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "a-secret-prompt"}]}


def events_of(body):
    return client.send(httpx.post(OPENAI, {**ASKED, "stream": True, **body}), stream=True).read().count(b"data: {")


client.send(httpx.post(OPENAI, ASKED))
assert events_of({}) == 1
assert events_of({"stream_options": {"include_usage": True}}) == 2
assert client.send(httpx.post(OPENAI, {**ASKED, "model": "broken"})).status_code == 400


async def in_japan():
    url = "https://jp.api.openai.com/v1/chat/completions"
    regional = {**ASKED, "model": "gpt-5.4-mini"}
    await asynchronous.send(httpx.post(url, regional))
    await (await asynchronous.send(httpx.post(url, {**regional, "stream": True}), stream=True)).aread()


asyncio.run(in_japan())
for is_streamed in (False, True):
    body = {"model": "claude-sonnet-4-6", "messages": [], "stream": is_streamed}
    client.send(httpx.post("https://api.anthropic.com/v1/messages", body), stream=is_streamed).read()
attribution.record("openai", "gpt-4o-mini", input_tokens=10, output_tokens=1)
# What waits at the end of the program is sent before it ends.
print(json.dumps({"recorded": attribution.counts.recorded}))
