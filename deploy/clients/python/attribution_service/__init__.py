"""Records the calls of clients of OpenAI, Anthropic, Google and their like, or any others, at the Attribution Service.

    attribution = Attribution("https://attribution.example.com", API_KEY, service="search")
    client = attribution.wrap(OpenAI())

Calls are sent by a background thread, in batches, and sent again until the service answers. Prompts and completions are
neither read nor sent. Nothing here raises into the caller.
"""

from ._attribution import Attribution
from ._context import context
from ._sender import Counts
from ._webhooks import SIGNATURE_TOLERANCE_SECONDS, is_signed

__all__ = ["Attribution", "Counts", "SIGNATURE_TOLERANCE_SECONDS", "context", "is_signed"]
__version__ = "0.3.0"
