from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.instrumentation.openai import OpenAIInstrumentor

from calls import call_anthropic, call_openai
from telemetry import tracing

provider = tracing()
OpenAIInstrumentor().instrument()
AnthropicInstrumentor().instrument()
call_openai()
call_anthropic()
provider.shutdown()
