"""Writes cost-vectors.data.json: costs of chosen calls, worked out a second time.

A second implementation of the token price formula, independent of internal/valuation/cost: Python's decimal module,
plain functions, no caches, no steps of 1e-18. It shares only the price file. Covered: cache reads and writes of both
lifetimes, reasoning, audio, images, fees of tools, both sides of each threshold and band, batch, flex, priority, dated periods to the
millisecond, daily windows, factors of residency and speed. Run from the repository root:
python3 test/support/vectors/cost-vectors.py
"""
import json
import random
import re
from datetime import datetime, timezone
from decimal import Decimal, getcontext

getcontext().prec = 60
BOOK = json.load(open("internal/valuation/cost/prices.data.json"))
D = Decimal
PARTS = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning", "audio_input", "audio_output", "audio_cache_read",
         "image_input", "image_output", "image_cache_read")
TOOLS = {"web_search": "webSearchCalls", "file_search": "fileSearchCalls"}
ASSUMED = {"scale": "standard", "default": "standard", "flex_discount": "flex", "priority_on_demand": "priority"}
NOW = "2026-11-03T12:00:00.000"  # a Tuesday


def text(value):
    out = format(value, "f")
    out = out.rstrip("0").rstrip(".") if "." in out else out
    return out or "0"


def millis(stamp):
    """Of an instant, or of a day's begin."""
    stamp = stamp.removesuffix("Z") if "T" in stamp else stamp + "T00:00:00"
    return round(datetime.fromisoformat(stamp).replace(tzinfo=timezone.utc).timestamp() * 1000)


def histories_of(row):
    return [h for h in BOOK["history"] if h["provider"] == row["provider"] and row["model"] in h["models"] and h.get("region") == row.get("region")]


def price_in_force(row, at):
    """The row's rates, or those of the dated period and daily window that hold the instant."""
    for history in histories_of(row):
        period = history["periods"][0]
        for each in history["periods"]:
            if at >= millis(each["from"]):
                period = each
        if "to" in period and at >= millis(period["to"]):
            return None
        moment = datetime.fromtimestamp(at / 1000, timezone.utc)
        for window in period.get("windows", []):
            if moment.isoweekday() in window["days"] and window["from"] <= moment.strftime("%H:%M") < window["to"]:
                return window["price"]
        price = dict(period["price"])
        # Pages and the like: priced by unit.
        if "input" not in price:
            return None
        return merged(row, price)
    return row


def merged(row, price):
    """A period of the row's own price has the rates that it does not list from the row."""
    if price.get("input") == row.get("input") and price.get("output") == row.get("output"):
        for name in PARTS + ("batch", "flex", "priority"):
            if name in row and name not in price:
                price[name] = row[name]
        if "tiers" in price and "tiers" in row:
            price["tiers"] = [{**own, **tier} for own, tier in zip(row["tiers"], price["tiers"], strict=True)]
    return price


DATED = re.compile(r"[-@](20\d\d-\d\d-\d\d|20\d{6}|\d{4})(?=$|-v\d)")
UNDATED = {}
for each in BOOK["models"]:
    family = re.sub("-latest$", "", DATED.sub("", each["model"].lower()))
    UNDATED.setdefault((each["provider"], each.get("region"), family), []).append(each)


def relatives(row):
    """The sheets of the undated alias, then of the other snapshots, the last first: as listed, row before periods."""
    family = re.sub("-latest$", "", DATED.sub("", row["model"].lower()))
    is_dated = DATED.search(row["model"].lower()) is not None
    kin = UNDATED[row["provider"], row.get("region"), family]
    dated = sorted((r for r in kin if DATED.search(r["model"].lower()) and r is not row), key=lambda r: r["model"], reverse=True)
    others = [r for r in kin if is_dated and DATED.search(r["model"].lower()) is None] + dated
    for other in others:
        yield other
        for history in histories_of(other):
            for period in reversed(history["periods"]):
                yield merged(other, dict(period["price"]))


def rule_of(row):
    """Of each factor the first that is stated for the model."""
    found = {}
    for rule in BOOK["providers"][row["provider"]].get("rules", []):
        if any(part in row["model"].lower() for part in rule.get("not", [])):
            continue
        for pattern in rule["models"]:
            if row["model"].lower() == pattern or (pattern[-1] == "*" and row["model"].lower().startswith(pattern[:-1])):
                for name, factor in rule.items():
                    found.setdefault(name, factor)
    return found


def same(one, other):
    return one.get("input") == other.get("input") and one.get("output") == other.get("output")


def fill(table, rates):
    for part in PARTS:
        if part in rates:
            table.setdefault(part, rates[part])


CACHED = ("cache_read", "cache_write", "cache_write_1h", "audio_cache_read", "image_cache_read")


def times(rates, factor, of_cache):
    found = {part: D(rates[part]) * D(of_cache if part in CACHED else factor) for part in PARTS if part in rates}
    # Cached tokens never cost more than uncached ones.
    for part in PARTS:
        if part.endswith("cache_read") and part in found:
            found[part] = min(found[part], found.get(part.replace("cache_read", "input"), found["input"]))
    return {part: text(rate) for part, rate in found.items()}


def completed(row, price):
    """The sheet with what the provider's rule and the relatives of the same price give where it lists nothing."""
    if "input" not in price:
        return price
    rule, kin = rule_of(row), [each for each in relatives(row) if same(each, price)]
    sheet = dict(price)
    for part in ("cache_read", "cache_write", "cache_write_1h"):
        if part in rule and part not in sheet:
            sheet[part] = text(D(sheet["input"]) * D(rule[part]))
    for each in kin:
        fill(sheet, each)
    # A cliff that one of them no longer has was removed.
    if "tiers" not in sheet and "bands" not in sheet and kin and all("tiers" in each or "bands" in each for each in kin):
        sheet.update({name: kin[0][name] for name in ("tiers", "bands") if name in kin[0]})

    def tiers_beside(table, standard, position):
        for tier in ("batch", "flex", "priority", "scale", "priority_on_demand", "flex_discount"):
            own = dict(table.get(tier, {}))
            if tier in rule:
                surcharge = rule[tier] if D(rule[tier]) > 1 else "1"
                by_rule = times(standard, rule[tier], rule.get(tier + "_cache", surcharge))
                if own.get("input", by_rule["input"]) == by_rule["input"]:
                    fill(own, by_rule)
            for each in kin:
                other = position(each).get(tier)
                if other is not None and ("input" not in own or same(own, other)):
                    fill(own, other)
            if "input" in own:
                table[tier] = own

    tiers_beside(sheet, sheet, lambda each: each)
    for name in ("tiers", "bands"):
        cliffs = []
        for cliff in sheet.get(name, []):
            cliff = dict(cliff)
            for part in ("cache_read", "cache_write", "cache_write_1h"):
                if part in rule and "input" in cliff and D(sheet.get(part, -1)) == D(sheet["input"]) * D(rule[part]):
                    cliff.setdefault(part, text(D(cliff["input"]) * D(rule[part])))
            def there(each, cliff=cliff, name=name):
                edge = "above" if name == "tiers" else "over"
                return next((o for o in each.get(name, []) if o[edge] == cliff[edge] and same(o, cliff)), {})

            for each in kin:
                fill(cliff, there(each))
            standard = {**{p: sheet[p] for p in PARTS if p in sheet}, **{p: cliff[p] for p in PARTS if p in cliff}}
            if standard.get("reasoning") == sheet["output"] and "reasoning" not in cliff:
                del standard["reasoning"]
            if "cache_write" in cliff and "cache_write_1h" not in cliff:
                standard.pop("cache_write_1h", None)

            tiers_beside(cliff, standard, there)
            cliffs.append(cliff)
        if cliffs:
            sheet[name] = cliffs
    return sheet


def rates_for(row, at, total_input, tier):
    price = price_in_force(row, at)
    if price is None:
        return None
    price = completed(row, price)
    rates = {part: price[part] for part in PARTS if part in price}
    if rates.get("reasoning") == rates["output"]:
        del rates["reasoning"]
    inclusive = BOOK["providers"][row["provider"]].get("tier_rule") == "at_or_above"
    beyond = None
    for cliff in price.get("tiers", []):
        if total_input > cliff["above"] or (inclusive and total_input == cliff["above"]):
            beyond = cliff
    for band in price.get("bands", []):
        if band["over"] < total_input <= band["up_to"]:
            beyond = band
    if tier != "standard":
        nested = (beyond or {}).get(tier) or price.get(tier)
        return None if nested is None or "output" not in nested else {p: nested[p] for p in PARTS if p in nested}
    if beyond is not None:
        rates.update({part: beyond[part] for part in PARTS if part in beyond})
    return rates


def cost(row, event):
    rates = rates_for(row, event["eventTimeMs"], event["inputTokens"], ASSUMED.get(event.get("serviceTier"), event.get("serviceTier", "standard")))
    if rates is None:
        return None

    def rate(part, *otherwise):
        for name in (part,) + otherwise:
            value = rates.get(name)
            if value is not None and not (name.startswith("cache_write") and D(value) == 0):
                return D(value)
        raise KeyError(part)

    short, long = event.get("cacheWrite5mTokens", 0), event.get("cacheWrite1hTokens", 0)
    read, write = event.get("cachedInputTokens", 0), event.get("cacheWriteTokens", short + long)
    image_in, image_out = event.get("imageInputTokens", 0), event.get("imageOutputTokens", 0)
    audio_in, audio_out = event.get("audioInputTokens", 0), event.get("audioOutputTokens", 0)
    thoughts = event.get("reasoningTokens", 0)
    uncached = event["inputTokens"] - read - write
    short_rate, long_rate = rate("cache_write", "input"), rate("cache_write_1h", "cache_write", "input")
    write_rate = short_rate
    if event.get("cacheWriteTtlSeconds", 0) >= 3600:
        write_rate = long_rate
    total = (
        (uncached - audio_in - image_in) * rate("input")
        + image_in * rate("image_input", "input")
        + image_out * rate("image_output", "output")
        + short * short_rate
        + long * long_rate
        + audio_in * rate("audio_input", "input")
        + read * rate("cache_read", "input")
        + (write - short - long) * write_rate
        + (event["outputTokens"] - thoughts - audio_out - image_out) * rate("output")
        + thoughts * rate("reasoning", "output")
        + audio_out * rate("audio_output", "output")
    ) / D(1000000)
    factors = {**row.get("residency_multiplier", {}), **row.get("multipliers", {})}
    fast = factors.pop("fast", "1") if event.get("speed") == "fast" else "1"
    region = event.get("region", "global")
    residency = factors.get(region, "1" if region == "global" else factors.get("regional", "1"))
    fees = sum(event.get(count, 0) * D(row["fees"][tool]) for tool, count in TOOLS.items() if event.get(count, 0) > 0)
    return total * D(residency) * D(fast) + fees


def main():
    pick = random.Random(20261102)
    rows = [r for r in BOOK["models"] if "region" not in r and r["mode"] in ("chat", "responses", "realtime", "image")]
    vectors = []

    def add(why, row, **event):
        event = {"provider": row["provider"], "requestedModel": row["model"], **event}
        if "region" in row:
            event["region"] = row["region"]
        at = event.setdefault("eventTimeMs", millis(NOW))
        assert at == int(at)
        value = cost(row, event)
        if value is not None:
            vectors.append({"why": why, "event": event, "cost_usd": text(value)})

    for row in pick.sample(rows, 90):
        total = pick.randint(0, 60000)
        read = pick.randint(0, total)
        write = pick.randint(0, total - read)
        output = pick.randint(0, 9000)
        add("plain", row, inputTokens=total, outputTokens=output)
        add("cache", row, inputTokens=total, outputTokens=output, cachedInputTokens=read, cacheWriteTokens=write)
        add("long cache writes", row, inputTokens=total, outputTokens=output, cachedInputTokens=read,
            cacheWriteTokens=write, cacheWriteTtlSeconds=pick.choice([300, 3599, 3600, 86400]))
    for row in [r for r in rows if "reasoning" in r]:
        add("reasoning", row, inputTokens=1200, outputTokens=3456, reasoningTokens=3001)
    for row in pick.sample([r for r in rows if "audio_input" in r], 20):
        out = 700 if "audio_output" in row else 0
        add("audio", row, inputTokens=5000, outputTokens=900, audioInputTokens=1234, audioOutputTokens=out)
        add("audio and images", row, inputTokens=5000, outputTokens=900, audioInputTokens=1234, audioOutputTokens=out, imageInputTokens=2000)
    for row in [r for r in rows if "image_input" in r or "image_output" in r]:
        add("images", row, inputTokens=5000, outputTokens=900, imageInputTokens=4321, imageOutputTokens=800, cachedInputTokens=300)
    for row in pick.sample([r for r in rows if "cache_write_1h" in r], 80):
        add("writes of two lifetimes", row, inputTokens=9000, outputTokens=77, cacheWrite5mTokens=1001, cacheWrite1hTokens=2003)
        add("writes of two lifetimes and others", row, inputTokens=9000, outputTokens=77, cacheWriteTokens=4000,
            cacheWrite5mTokens=1001, cacheWrite1hTokens=2003, cacheWriteTtlSeconds=3600)
    for row in pick.sample([r for r in rows if "fees" in r], 60):
        counts = {count: pick.randint(1, 40) for tool, count in TOOLS.items() if tool in row["fees"]}
        regional = {r["region"] for r in BOOK["models"] if (r["provider"], r["model"]) == (row["provider"], row["model"]) and "region" in r}
        for region in sorted({"", "us", "eu"} - regional):
            add("fees", row, inputTokens=5003, outputTokens=401, **counts, **({"region": region} if region else {}))
    for tier in ("scale", "default"):
        for row in pick.sample(rows, 5):
            add(tier, row, inputTokens=8001, outputTokens=503, cachedInputTokens=2000, serviceTier=tier)
    for tier, base in (("flex_discount", "flex"), ("priority_on_demand", "priority")):
        for row in pick.sample([r for r in rows if "output" in r.get(base, {})], 10):
            add(tier, row, inputTokens=8001, outputTokens=503, cachedInputTokens=2000, serviceTier=tier)
    for row in pick.sample([r for r in rows if "tiers" in r], 100):
        edge = row["tiers"][0]["above"]
        for total in (edge - 1, edge, edge + 1):
            add("threshold", row, inputTokens=total, outputTokens=101, cachedInputTokens=777)
    for row in [r for r in rows if "bands" in r]:
        for band in row["bands"][:-1]:
            for total in (band["up_to"] - 1, band["up_to"], band["up_to"] + 1):
                add("band", row, inputTokens=total, outputTokens=101, reasoningTokens=50)
    for tier in ("batch", "flex", "priority"):
        for row in pick.sample([r for r in rows if "output" in r.get(tier, {})], 25):
            add(tier, row, inputTokens=8001, outputTokens=503, cachedInputTokens=2000, serviceTier=tier)
            if "tiers" in row:
                add(f"{tier} beyond a threshold", row, inputTokens=300001, outputTokens=503, serviceTier=tier)
    # Prices of resellers change often; a sample of them has every form.
    resold = [h for h in BOOK["history"] if h["provider"] in ("openrouter", "deepinfra")]
    for history in [h for h in BOOK["history"] if h not in resold] + pick.sample(resold, 20):
        for name in history["models"]:
            row = next(r for r in BOOK["models"] if (r["provider"], r["model"], r.get("region")) == (history["provider"], name, history.get("region")))
            for period in history["periods"]:
                start = millis(period["from"])
                for at in (start - 1, start, start + 12 * 3600 * 1000):
                    add("period", row, inputTokens=300007, outputTokens=1009, cachedInputTokens=100003, eventTimeMs=at)
                    add("period, batch", row, inputTokens=1007, outputTokens=1009, serviceTier="batch", eventTimeMs=at)
    for row in [r for r in rows if r["model"].startswith(("deepseek-v4", "deepseek-flash")) and r["provider"] == "deepseek"]:
        for day in ("2026-08-16", "2026-08-22", "2026-08-23", "2026-08-24", "2026-09-10", "2026-11-06", "2026-11-07"):
            for clock in ("00:59:59.999", "01:00:00.000", "03:59:59.999", "04:00:00.000", "06:00:00.000", "10:00:00.000"):
                add("window", row, inputTokens=5003, outputTokens=401, cachedInputTokens=1009, eventTimeMs=millis(f"{day}T{clock}"))
    for row in pick.sample([r for r in rows if "residency_multiplier" in r or "us" in r.get("multipliers", {})], 40):
        for region in ("us", "eu", "jp", "us-east-1"):
            add("residency", row, inputTokens=5003, outputTokens=401, cachedInputTokens=1009, region=region)
    for row in [r for r in rows if "regional" in r.get("multipliers", {})]:
        for region in ("europe-west1", "eu", "global"):
            add("regional endpoint", row, inputTokens=5003, outputTokens=401, cachedInputTokens=1009, region=region)
    for row in [r for r in rows if "fast" in r.get("multipliers", {})]:
        for region in ("us", "global"):
            add("fast", row, inputTokens=5003, outputTokens=401, cachedInputTokens=1009, cacheWrite1hTokens=7, region=region, speed="fast")
            add("not fast", row, inputTokens=5003, outputTokens=401, cachedInputTokens=1009, region=region, speed="standard")
    for row in pick.sample([r for r in BOOK["models"] if "region" in r and r["mode"] == "chat"], 25):
        add("regional row", row, inputTokens=5003, outputTokens=401)
    json.dump(
        {"made_by": "test/support/vectors/cost-vectors.py (Python decimal, 60 digits)", "vectors": vectors},
        open("test/support/vectors/cost-vectors.data.json", "w"),
        indent=None,
        separators=(",", ":"),
    )
    print(len(vectors))


main()
