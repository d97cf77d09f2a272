"""Our own client around the SDKs; nothing else is set up."""

import os

from anthropic import Anthropic
from attribution_service import Attribution
from calls import MESSAGES, PROVIDER, call_anthropic, call_openai, drain
from google import genai
from google.genai import types
from openai import OpenAI

attribution = Attribution(
    os.environ["ATTRIBUTION_URL"], os.environ["ATTRIBUTION_API_KEY"], service=os.environ["OTEL_SERVICE_NAME"]
)
openai = attribution.wrap(OpenAI(base_url=f"{PROVIDER}/v1", api_key="sk-x", max_retries=0))
anthropic = attribution.wrap(Anthropic(base_url=PROVIDER, api_key="sk-x", max_retries=0))
call_openai(openai)
call_anthropic(anthropic)

chat = {"model": "gpt-4o-mini", "messages": MESSAGES}
openai.chat.completions.parse(**chat)
openai.with_options(timeout=60).chat.completions.create(**chat)
openai.copy().chat.completions.with_raw_response.create(**chat).parse()
with openai.chat.completions.with_streaming_response.create(**chat) as response:
    response.parse()
with openai.chat.completions.stream(**chat) as stream:
    drain(stream)
with openai.responses.stream(model="gpt-5-mini", input="hi") as stream:
    drain(stream)
anthropic.with_options(timeout=60).beta.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=MESSAGES)

gemini = attribution.wrap(genai.Client(api_key="x", http_options=types.HttpOptions(base_url=PROVIDER)))
gemini.models.generate_content(model="gemini-2.5-flash", contents="hi")
drain(gemini.models.generate_content_stream(model="gemini-2.5-flash", contents="hi"))
