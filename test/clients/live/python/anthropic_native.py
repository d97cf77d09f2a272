from calls import call_anthropic
from telemetry import tracing

provider = tracing()
call_anthropic()
provider.shutdown()
