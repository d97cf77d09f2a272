"""The same calls for each instrumentation of the SDKs: plain, streamed with and without usage, embedded, failed."""

import os

PROVIDER = os.environ["PROVIDER"]
MESSAGES = [{"role": "user", "content": "hi"}]


def call_openai(client=None):
    if client is None:
        from openai import OpenAI

        client = OpenAI(base_url=f"{PROVIDER}/v1", api_key="sk-x", max_retries=0)
    chat = client.chat.completions
    chat.create(model="gpt-4o", messages=MESSAGES)
    drain(chat.create(model="gpt-4o-mini", messages=MESSAGES, stream=True, stream_options={"include_usage": True}))
    drain(chat.create(model="gpt-4o-mini", messages=MESSAGES, stream=True))
    client.responses.create(model="gpt-5-mini", input="hi")
    drain(client.responses.create(model="gpt-5-mini", input="hi", stream=True))
    client.embeddings.create(model="text-embedding-3-small", input="hi")
    chat.create(model="gpt-5-mini", messages=MESSAGES, service_tier="flex")
    try:
        chat.create(model="gpt-4o", messages=[{"role": "user", "content": "FAIL500"}])
    except Exception:
        pass


def call_anthropic(client=None):
    if client is None:
        from anthropic import Anthropic

        client = Anthropic(base_url=PROVIDER, api_key="sk-x", max_retries=0)
    call = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": MESSAGES}
    client.messages.create(**call)
    drain(client.messages.create(**call, stream=True))
    with client.messages.stream(**call) as stream:
        drain(stream.text_stream)


def drain(stream):
    for _ in stream:
        pass
