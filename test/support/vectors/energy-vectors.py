"""Writes energy-vectors.data.json: energy and carbon of chosen calls, worked out a second time.

A second implementation of the EcoLogits 0.11 closed form, independent of internal/valuation/energy: Python's
decimal module with 60 digits, formula by formula as the methodology writes it, nothing precomputed. It shares
only the two data files. Run from the repository root: python3 test/support/vectors/energy-vectors.py
"""
import json
import random
from decimal import ROUND_HALF_EVEN, Decimal, getcontext

getcontext().prec = 60
ENERGY = json.load(open("internal/valuation/energy/energy.data.json"))
GRID = json.load(open("internal/valuation/energy/grid.data.json"))
PLACES = Decimal("0.000000000001")
D = Decimal


def text(value):
    value = value.quantize(PLACES, rounding=ROUND_HALF_EVEN)
    out = format(value, "f")
    out = out.rstrip("0").rstrip(".") if "." in out else out
    return out or "0"


def gpus_for(total):
    needed = (D("1.2") * total * 16 / 8 / 80).to_integral_value(rounding="ROUND_CEILING")
    count = 1
    while count < needed:
        count *= 2
    return count


def bound(row, pue, tokens, latency_s, g, which):
    active, total = D(row["active"][which]), D(row["total"][which])
    gpus = gpus_for(total)
    gpu_wh = tokens * (D("0.000000569413887073411954668524434215") * active + D("0.00004052928146734005"))
    if "tps" in row:
        per_token = 1 / D(row["tps"])
    else:
        per_token = D("0.0006785088094353663") * active + D("0.0394373035742782446")
    seconds = tokens * per_token + D(row.get("ttft", "0"))
    if latency_s is not None and latency_s < seconds:
        seconds = latency_s
    server_wh = seconds / 3600 * 1200 * gpus / 8 / 64
    energy = D(pue[which]) * (server_wh + gpus * gpu_wh)
    usage = energy * g / 1000
    embodied = seconds / (64 * D(94608000)) * (D(gpus) / 8 * 5700 + gpus * D(273)) * 1000
    return energy, usage, embodied, usage + embodied


def vector(provider, model, row, tokens, latency_ms, region, zone, year):
    operator = ENERGY["providers"].get(provider, ENERGY["provider_default"])
    zone = zone or operator["zone"]
    factors = GRID["zones"][zone]
    g = D(factors.get("g_2024", factors["g"]) if year <= 2025 else factors["g"])
    latency = None if latency_ms is None else D(latency_ms) / 1000
    low, high = (bound(row, operator["pue"], D(tokens), latency, g, which) for which in (0, 1))
    return {
        "event": {
            "provider": provider,
            "requestedModel": model,
            "eventTimeMs": 1000 * (1700000000 if year == 2023 else 1730000000 if year == 2024 else 1790000000),
            "outputTokens": tokens,
            **({} if latency_ms is None else {"latencyMs": latency_ms}),
            **({} if region is None else {"region": region}),
        },
        "energy_wh": text((low[0] + high[0]) / 2),
        "energy_min_wh": text(low[0]),
        "energy_max_wh": text(high[0]),
        "outer_min_wh": text(low[0] * D("0.4")),
        "outer_max_wh": text(high[0] * D("2.7")),
        "carbon_gco2e": text((low[3] + high[3]) / 2),
        "carbon_min_gco2e": text(low[3]),
        "carbon_max_gco2e": text(high[3]),
        "embodied_gco2e": text((low[2] + high[2]) / 2),
    }


def main():
    pick = random.Random(20261101)
    not_text = ("tts", "transcribe", "image", "realtime", "audio", "embed")
    rows = [r for r in ENERGY["models"] if not any(word in r["model"].lower() for word in not_text)]
    regions = [(r["region"], r["zone"]) for r in GRID["regions"]] + [(z, z) for z in GRID["zones"]]
    vectors = [vector("openai", "gpt-4o", next(r for r in rows if r["model"] == "gpt-4o"), 250, None, None, None, 2026)]
    for index in range(260):
        row = pick.choice(rows)
        tokens = pick.choice([1, 2, 17, 99, 250, 1000, pick.randint(1, 4000), pick.randint(4000, 200000)])
        latency = pick.choice([None, 0, 1, pick.randint(1, 5000), pick.randint(5000, 100000)])
        region, zone = (None, None) if index % 3 == 0 else pick.choice(regions)
        vectors.append(vector(row["provider"], row["model"], row, tokens, latency, region, zone, pick.choice([2023, 2024, 2026])))
    for name, family in (("llama-3.1-8b-instruct", "Llama 3.1 8B"), ("gpt-oss-120b", "gpt-oss 120B"), ("qwen3-32b", "Qwen3 32B")):
        row = next((f for f in ENERGY["families"] if f["name"] == family), None)
        if row is None:
            continue
        for tokens in (1, 100, 12345):
            vectors.append(vector("deepinfra", f"org/{name}", row, tokens, None, None, None, 2026))
    json.dump(
        {"made_by": "test/support/vectors/energy-vectors.py (Python decimal, 60 digits)", "vectors": vectors},
        open("test/support/vectors/energy-vectors.data.json", "w"),
        indent=1,
    )
    print(len(vectors))


main()
