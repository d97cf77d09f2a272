from openinference.instrumentation.langchain import LangChainInstrumentor

from langchain_calls import call_langchain
from telemetry import tracing

provider = tracing()
LangChainInstrumentor().instrument()
call_langchain()
provider.shutdown()
