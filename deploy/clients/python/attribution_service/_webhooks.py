import hashlib
import hmac
import time
from typing import Iterable, Optional

SIGNATURE_TOLERANCE_SECONDS = 300


def is_signed(body: bytes, header: Optional[str], secrets: Iterable[str], now_seconds: Optional[float] = None) -> bool:
    """Whether the service has signed a webhook delivery within the last five minutes.

    `body`: the exact bytes that arrived. `header`: `Service-Signature`. `secrets`: one, or two during a rotation.
    """
    parts = [part.split("=", 1) for part in (header or "").split(",") if "=" in part]
    times = [value for name, value in parts if name == "t"]
    signatures = [value for name, value in parts if name == "v1"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()) or len(times[0]) > 12:
        return False
    now = time.time() if now_seconds is None else now_seconds
    if abs(now - int(times[0])) > SIGNATURE_TOLERANCE_SECONDS:
        return False
    signed = times[0].encode() + b"." + body
    expected = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return any(hmac.compare_digest(one.encode(), given.encode()) for one in expected for given in signatures)
