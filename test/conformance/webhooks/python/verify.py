"""python verify.py <library> <file of deliveries>: what the library says of each, and of one with another body."""

import importlib
import json
import sys

library, path = sys.argv[1:]


def verify(body, headers, secret):
    if library == "stripe":
        import stripe

        stripe.Webhook.construct_event(body, headers["service-signature"], secret)
    else:
        module = importlib.import_module("svix.webhooks" if library == "svix" else library)
        module.Webhook(secret).verify(body, headers)


for delivery in json.load(open(path)):
    what, body, headers, secret = (delivery[name] for name in ("what", "body", "headers", "secret"))
    try:
        verify(body, headers, secret)
        print(f"ok {what}")
    except Exception as cause:
        print(f"not ok {what}: {type(cause).__name__} {cause}")
    try:
        verify(body + " ", headers, secret)
        print(f"not ok {what}, another body: it is taken")
    except Exception:
        print(f"ok {what}, another body")
