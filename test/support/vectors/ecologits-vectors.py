"""Writes ecologits-vectors.data.json: energy and carbon of calls as EcoLogits itself computes them.

Every model and alias of the package, with 50, 400 and 2,500 output tokens and once with a latency, at the operator's
own zone. Needs the pinned package: pip install ecologits==0.11.3. Run from the repository root:
python3 test/support/vectors/ecologits-vectors.py
"""
import json
import logging
from importlib.metadata import version
from pathlib import Path

logging.disable(logging.CRITICAL)
import ecologits
from ecologits.tracers.utils import llm_impacts

VERSION = "0.11.3"
# EcoLogits' provider ids and ours.
PROVIDERS = {
    "anthropic": "anthropic",
    "cohere": "cohere",
    "google_genai": "gemini",
    "huggingface_hub": "huggingface",
    "mistralai": "mistral",
    "openai": "openai",
}
# Output tokens and latency in seconds; the longest latency is longer than any modelled one.
CALLS = [(50, None), (400, None), (2500, None), (400, 1.5)]


def bounds(value):
    """kWh or kg as [lower, upper] in Wh or g, to 12 significant digits."""
    low, high = (value.min, value.max) if hasattr(value, "min") else (value, value)
    return [float(f"{1000 * low:.12g}"), float(f"{1000 * high:.12g}")]


def vectors():
    folder = Path(ecologits.__file__).parent
    listed = json.loads((folder / "data" / "models.json").read_text())
    for row in listed["models"] + listed["aliases"]:
        for tokens, latency in CALLS:
            impacts = llm_impacts(row["provider"], row["name"], tokens, 1e9 if latency is None else latency)
            assert not impacts.errors, row
            yield {
                "provider": PROVIDERS[row["provider"]],
                "model": row["name"],
                "output_tokens": tokens,
                **({} if latency is None else {"latency_ms": round(latency * 1000)}),
                "wh": bounds(impacts.energy.value),
                "gco2e": bounds(impacts.gwp.value),
            }


def main():
    assert version("ecologits") == VERSION
    lines = ",\n".join(json.dumps(vector) for vector in vectors())
    text = f'{{"made_by": "test/support/vectors/ecologits-vectors.py (EcoLogits {VERSION} itself)", "vectors": [\n{lines}\n]}}\n'
    Path("test/support/vectors/ecologits-vectors.data.json").write_text(text)


main()
