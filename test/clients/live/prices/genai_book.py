"""Writes the data of genai-prices in its published form, and what it says of each model and call.

usage: genai_book.py calls.json answers.json

calls.json: {"times": [ISO text], "calls": [{"usage": {...}, "context": {...} or null}]}
answers.json: {"providers": [...], "answers": [[provider, name, time, call, model id, USD] or [provider, name]]}
A name that no model has is answered by itself.
"""

import dataclasses
import json
import sys
from datetime import date, datetime, time
from decimal import Decimal

from genai_prices import Usage, calc_price, data, types

KEYS = {'or_': 'or', 'and_': 'and'}


def published(value):
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [published(each) for each in value]
    if isinstance(value, dict):
        return {key: published(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value) or isinstance(value, types.ModelPrice):
        fields = value.__dict__.items()
        return {KEYS.get(k, k): published(v) for k, v in fields if v is not None and not k.startswith('_')}
    return value


def answers(wanted):
    for provider in data.providers:
        for model in provider.models:
            yield from answers_of(provider.id, model.id, wanted['times'], wanted['calls'])
            for name in (model.id.upper(), f'{model.id}-20251211'):
                yield from answers_of(provider.id, name, wanted['times'][:1], wanted['calls'])


def answers_of(provider, name, times, calls):
    for at, instant in enumerate(times):
        for number, call in enumerate(calls):
            try:
                said = calc_price(
                    Usage(**call['usage']),
                    name,
                    provider_id=provider,
                    genai_request_timestamp=datetime.fromisoformat(instant),
                    price_context=call['context'],
                )
            except LookupError:
                yield [provider, name]
                return
            yield [provider, name, at, number, said.model.id, float(said.total_price)]


with open(sys.argv[1]) as file:
    asked = json.load(file)
with open(sys.argv[2], 'w') as file:
    json.dump({'providers': published(data.providers), 'answers': list(answers(asked))}, file)
