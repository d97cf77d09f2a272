from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from agents_calls import call_agents
from telemetry import tracing

provider = tracing()
OpenAIAgentsInstrumentor().instrument()
call_agents()
provider.shutdown()
