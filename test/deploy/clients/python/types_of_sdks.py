"""What a wrapped client takes and gives: as unwrapped. mypy checks these, which call nothing."""

from typing import AsyncIterator, Iterator

import anthropic
import openai
from anthropic import Anthropic, AnthropicBedrock, AsyncAnthropic
from anthropic.types import Message, ParsedMessage, RawMessageStreamEvent
from anthropic.types.messages import MessageBatch
from attribution_service import Attribution, Counts
from google import genai
from google.genai.types import GenerateContentResponse
from openai import AsyncAzureOpenAI, AsyncOpenAI, OpenAI
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam, ParsedChatCompletion
from openai.types.responses import ParsedResponse, Response
from pydantic import BaseModel
from typing_extensions import assert_type

attribution = Attribution("http://service.test", "k", service="search", tags={"team": "core"})


class City(BaseModel):
    name: str


def of_openai() -> None:
    client = attribution.wrap(OpenAI(), identity="ann")
    assert_type(client, OpenAI)
    assert_type(client.copy(), OpenAI)
    assert_type(client.with_options(timeout=1), OpenAI)
    chat = client.chat.completions
    said: "list[ChatCompletionMessageParam]" = [{"role": "user", "content": "hi"}]
    assert_type(chat.create(model="gpt-4o", messages=said), ChatCompletion)
    assert_type(chat.create(model="gpt-4o", messages=said, stream=True), openai.Stream[ChatCompletionChunk])
    assert_type(chat.parse(model="gpt-4o", messages=said, response_format=City), ParsedChatCompletion[City])
    raw = chat.with_raw_response.create(model="gpt-4o", messages=said)
    assert_type(raw.parse(), ChatCompletion)
    with chat.with_streaming_response.create(model="gpt-4o", messages=said) as response:
        assert_type(response.parse(), ChatCompletion)
    with chat.stream(model="gpt-4o", messages=said, response_format=City) as stream:
        assert_type(stream.get_final_completion(), ParsedChatCompletion[City])
    assert_type(client.responses.create(model="gpt-5", input="hi"), Response)
    assert_type(client.responses.parse(model="gpt-5", input="hi", text_format=City), ParsedResponse[City])
    with client.responses.stream(model="gpt-5", input="hi", text_format=City) as events:
        assert_type(events.get_final_response(), ParsedResponse[City])
    assert_type(client.embeddings.create(model="e", input="hi"), CreateEmbeddingResponse)
    chat.create(model="gpt-4o")  # type: ignore[call-overload]


async def of_async_openai() -> None:
    client = attribution.wrap(AsyncOpenAI())
    assert_type(client, AsyncOpenAI)
    said: "list[ChatCompletionMessageParam]" = [{"role": "user", "content": "hi"}]
    chat = client.with_options(timeout=1).chat.completions
    assert_type(await chat.create(model="gpt-4o", messages=said), ChatCompletion)
    assert_type(await chat.create(model="gpt-4o", messages=said, stream=True), openai.AsyncStream[ChatCompletionChunk])
    assert_type(await chat.parse(model="gpt-4o", messages=said, response_format=City), ParsedChatCompletion[City])
    raw = await chat.with_raw_response.create(model="gpt-4o", messages=said)
    assert_type(raw.parse(), ChatCompletion)
    async with chat.stream(model="gpt-4o", messages=said, response_format=City) as stream:
        assert_type(await stream.get_final_completion(), ParsedChatCompletion[City])
    assert_type(attribution.wrap_openai(AsyncAzureOpenAI()), AsyncAzureOpenAI)


def of_anthropic() -> None:
    client = attribution.wrap(Anthropic())
    assert_type(client, Anthropic)
    assert_type(client.with_options(timeout=1), Anthropic)
    messages = client.messages
    assert_type(messages.create(model="m", max_tokens=1, messages=[]), Message)
    assert_type(
        messages.create(model="m", max_tokens=1, messages=[], stream=True), anthropic.Stream[RawMessageStreamEvent]
    )
    with messages.stream(model="m", max_tokens=1, messages=[]) as stream:
        assert_type(stream.get_final_message(), ParsedMessage[None])
    raw = messages.with_raw_response.create(model="m", max_tokens=1, messages=[])
    assert_type(raw.parse(), Message)
    parsed = messages.parse(model="m", max_tokens=1, messages=[], output_format=City)
    assert_type(parsed, ParsedMessage[City])
    assert_type(messages.batches.create(requests=[]), MessageBatch)
    messages.create(model="m", messages=[])  # type: ignore[call-overload]
    assert_type(attribution.wrap_anthropic(AnthropicBedrock()), AnthropicBedrock)


async def of_async_anthropic() -> None:
    client = attribution.wrap(AsyncAnthropic())
    assert_type(client, AsyncAnthropic)
    messages = client.with_options(timeout=1).messages
    assert_type(await messages.create(model="m", max_tokens=1, messages=[]), Message)
    async with messages.stream(model="m", max_tokens=1, messages=[]) as stream:
        assert_type(await stream.get_final_message(), ParsedMessage[None])
    raw = await messages.with_raw_response.create(model="m", max_tokens=1, messages=[])
    assert_type(await raw.parse(), Message)


async def of_google() -> None:
    client = attribution.wrap(genai.Client())
    assert_type(client, genai.Client)
    assert_type(client.models.generate_content(model="m", contents="hi"), GenerateContentResponse)
    assert_type(client.models.generate_content_stream(model="m", contents="hi"), Iterator[GenerateContentResponse])
    assert_type(await client.aio.models.generate_content(model="m", contents="hi"), GenerateContentResponse)
    assert_type(
        await client.aio.models.generate_content_stream(model="m", contents="hi"),
        AsyncIterator[GenerateContentResponse],
    )
    client.models.generate_content(model="m")  # type: ignore[call-arg]


def of_ours() -> None:
    assert_type(attribution.counts, Counts)
    assert_type(attribution.flush(), bool)
    with attribution.context(identity="ann", tags={"a": "b"}, session="s"):
        attribution.record("openai", "gpt-4o", input_tokens=1)
    attribution.context(service=1)  # type: ignore[arg-type]
    Attribution("http://service.test")  # type: ignore[call-arg]
