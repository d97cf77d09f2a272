"""Calls of LangChain: OpenAI's chat and responses, Anthropic, each whole and streamed."""

import os

PROVIDER = os.environ["PROVIDER"]


def call_langchain():
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    openai = {"base_url": f"{PROVIDER}/v1", "api_key": "sk-x", "max_retries": 0}
    anthropic = {"base_url": PROVIDER, "api_key": "sk-x", "max_retries": 0, "model": "claude-sonnet-4-5"}
    ChatOpenAI(model="gpt-4o", **openai).invoke("hi")
    drain(ChatOpenAI(model="gpt-4o-mini", stream_usage=True, **openai).stream("hi"))
    ChatOpenAI(model="gpt-5-mini", use_responses_api=True, **openai).invoke("hi")
    ChatAnthropic(**anthropic).invoke("hi")
    drain(ChatAnthropic(**anthropic).stream("hi"))


def drain(stream):
    for _ in stream:
        pass
