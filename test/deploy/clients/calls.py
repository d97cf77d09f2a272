"""Calls clients that look like those of OpenAI and Anthropic, through the Python client library."""

import asyncio
import importlib.util
import json
import os
import sys

spec = importlib.util.spec_from_file_location("attribution_service", sys.argv[1])
sys.dont_write_bytecode = True
library = importlib.util.module_from_spec(spec)
spec.loader.exec_module(library)


class Shape:
    def __init__(self, **members):
        self.__dict__.update(members)


USAGE = Shape(
    prompt_tokens=1200,
    completion_tokens=300,
    prompt_tokens_details=Shape(cached_tokens=1000, audio_tokens=None),
    completion_tokens_details=Shape(reasoning_tokens=128),
)
MESSAGE_USAGE = Shape(
    input_tokens=100, output_tokens=1, cache_read_input_tokens=2000, cache_creation_input_tokens=500, service_tier="standard",
    inference_geo="us",
)


def chat(model):
    return Shape(model=model, service_tier="default", choices=[Shape(message="a-completion")], usage=USAGE)


class Stream:
    """As the clients' own: both ways to read it use `_iterator`."""

    def __init__(self, parts):
        self._iterator = iter(parts)

    def __iter__(self):
        yield from self._iterator

    def __next__(self):
        return next(self._iterator)


class AsyncStream:
    def __init__(self, parts):
        async def read():
            for part in parts:
                yield part

        self._iterator = read()

    async def __aiter__(self):
        async for part in self._iterator:
            yield part


def chunks(arguments):
    parts = [Shape(model=arguments["model"], choices=[Shape(delta="a")], usage=None)]
    if arguments.get("stream_options", {}).get("include_usage"):
        parts.append(Shape(model=arguments["model"], choices=[], usage=USAGE))
    return parts


class Completions:
    def create(self, **arguments):
        if arguments["model"] == "broken":
            raise ValueError("refused by the provider")
        return Stream(chunks(arguments)) if arguments.get("stream") else chat("gpt-4o-mini")


class AsyncCompletions:
    def create(self, **arguments):
        async def answer():
            return AsyncStream(chunks(arguments)) if arguments.get("stream") else chat(arguments["model"])

        return answer()


class Messages:
    def create(self, **arguments):
        message = Shape(model="claude-sonnet-4-6", usage=MESSAGE_USAGE)
        if not arguments.get("stream"):
            return message
        return Stream([Shape(message=message), Shape(message=None, usage=Shape(output_tokens=250))])


attribution = library.Attribution(
    os.environ["BASE_URL"], os.environ["API_KEY"], attributed_service="python-search", tags={"team": "core"}
)
client = attribution.wrap_openai(Shape(chat=Shape(completions=Completions())), attributed_identity="ann")
attribution.wrap_openai(client)
asynchronous = attribution.wrap_openai(Shape(base_url="https://jp.api.openai.com/v1/", chat=Shape(completions=AsyncCompletions())))
anthropic = attribution.wrap_anthropic(Shape(messages=Messages()))
asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "a-secret-prompt"}]}

assert client.chat.completions.create(**asked).choices[0].message == "a-completion"
assert len(list(client.chat.completions.create(stream=True, **asked))) == 1
assert len(list(client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked))) == 2
try:
    client.chat.completions.create(**{**asked, "model": "broken"})
    raise AssertionError("it must fail as before")
except ValueError:
    pass


async def asynchronously():
    regional = {**asked, "model": "gpt-5.4-mini"}
    assert (await asynchronous.chat.completions.create(**regional)).model == "gpt-5.4-mini"
    parts = [part async for part in await asynchronous.chat.completions.create(stream=True, **regional)]
    assert len(parts) == 1


asyncio.run(asynchronously())
anthropic.messages.create(model="claude-sonnet-4-6")
assert len(list(anthropic.messages.create(model="claude-sonnet-4-6", stream=True))) == 2
attribution.record("openai", "gpt-4o-mini", input_tokens=10, output_tokens=1)
# What waits at the end of the program is sent before it ends.
print(json.dumps({"recorded": attribution.recorded}))
