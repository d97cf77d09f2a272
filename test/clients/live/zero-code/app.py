"""An application that knows nothing of OpenTelemetry."""

import os

from openai import OpenAI

client = OpenAI(base_url=f"{os.environ['PROVIDER']}/v1", api_key="sk-x", max_retries=0)
messages = [{"role": "user", "content": "hi"}]
client.chat.completions.create(model="gpt-4o", messages=messages)
for _ in client.chat.completions.create(
    model="gpt-4o-mini", messages=messages, stream=True, stream_options={"include_usage": True}
):
    pass
client.embeddings.create(model="text-embedding-3-small", input="hi")
