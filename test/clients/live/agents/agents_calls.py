"""Runs of the OpenAI Agents SDK: by responses and by chat completions, each whole and streamed."""

import asyncio
import os

PROVIDER = os.environ["PROVIDER"]


def call_agents():
    asyncio.run(run_agents())


async def run_agents():
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=f"{PROVIDER}/v1", api_key="sk-x", max_retries=0)
    models = [
        OpenAIResponsesModel("gpt-5-mini", client),
        OpenAIChatCompletionsModel("gpt-4o", client),
    ]
    for model in models:
        agent = Agent(name="Assistant", model=model, instructions="x")
        await Runner.run(agent, "hi")
        async for _ in Runner.run_streamed(agent, "hi").stream_events():
            pass
