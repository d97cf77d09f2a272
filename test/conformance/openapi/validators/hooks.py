"""As standards have it, an Idempotency-Key is one request's: each has a fresh one, where it has one of the right form."""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.headers and len(str(case.headers.get("Idempotency-Key"))) == 36:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
