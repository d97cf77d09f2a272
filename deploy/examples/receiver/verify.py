"""Verifies what the Attribution Service delivers to a webhook endpoint. Python 3.8 or newer, no dependency.

The header ``Service-Signature`` is ``t=<unix seconds>,v1=<hex>``, where ``v1`` is the HMAC-SHA256 of ``<t>.<body>`` keyed
by the endpoint's signing secret, the whole text with ``whsec_``. While a secret is being rotated there are two ``v1``,
one a secret; one that matches is enough.

As a program it verifies its standard input: ``verify.py '<header>' <secret>... < body``; it exits with 0 when the body
is signed, else with 1.
"""

import hashlib
import hmac
import re
import sys
import time
from typing import Iterable, Optional

TOLERANCE_SECONDS = 300


def is_signed(body: bytes, header: str, secrets: Iterable[str], now: Optional[float] = None) -> bool:
    """Whether the service has signed these exact bytes, a short while ago, with one of these secrets."""
    parts = [part.partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    signatures = [value for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not re.fullmatch(r"[0-9]{1,12}", times[0]):
        return False
    if abs((time.time() if now is None else now) - int(times[0])) > TOLERANCE_SECONDS:
        return False
    found = False
    for secret in secrets:
        expected = hmac.new(secret.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
        for signature in signatures:
            # Every pair is compared, each in constant time.
            if hmac.compare_digest(expected.encode(), signature.encode()):
                found = True
    return found


if __name__ == "__main__":
    sys.exit(0 if is_signed(sys.stdin.buffer.read(), sys.argv[1], sys.argv[2:]) else 1)
