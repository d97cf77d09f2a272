"""Who serves a request, by its host or by the form of a model's name: as `hosts.ts` and `model-forms.ts` have it."""

import re
from typing import Optional, Tuple

_TWO_LETTERS = r"^([a-z]{2})$"

# A host, which all below it belong to; its provider, none for a gateway; and where its region stands before it.
HOSTS = {
    "api.openai.com": ("openai", _TWO_LETTERS),
    "openai.azure.com": ("azure", None),
    "openai.azure.us": ("azure", None),
    "cognitiveservices.azure.com": ("azure", None),
    "services.ai.azure.com": ("azure_ai", None),
    "models.ai.azure.com": ("azure_ai", None),
    "inference.ai.azure.com": ("azure_ai", None),
    "api.anthropic.com": ("anthropic", None),
    "generativelanguage.googleapis.com": ("gemini", None),
    "api.mistral.ai": ("mistral", None),
    "codestral.mistral.ai": ("mistral", None),
    "api.deepseek.com": ("deepseek", None),
    "api.x.ai": ("xai", r"^([a-z]{2}|[a-z]{2}-[a-z]+-\d)$"),
    "api.groq.com": ("groq", None),
    "api.cohere.com": ("cohere", None),
    "api.cohere.ai": ("cohere", None),
    "openrouter.ai": ("openrouter", _TWO_LETTERS),
    "api.together.xyz": ("together_ai", None),
    "api.together.ai": ("together_ai", None),
    "api.fireworks.ai": ("fireworks_ai", None),
    "api.perplexity.ai": ("perplexity", None),
    "api.cerebras.ai": ("cerebras", None),
    "api.deepinfra.com": ("deepinfra", None),
    "api.moonshot.ai": ("moonshot", None),
    "api.moonshot.cn": ("moonshot", None),
    "api.minimax.io": ("minimax", None),
    "api.minimaxi.com": ("minimax", None),
    "dashscope.aliyuncs.com": ("dashscope", None),
    "dashscope-intl.aliyuncs.com": ("dashscope", None),
    "dashscope-us.aliyuncs.com": ("dashscope", None),
    "api.z.ai": ("zai", None),
    "open.bigmodel.cn": ("zai", None),
    "api.sambanova.ai": ("sambanova", None),
    "api.ai21.com": ("ai21", None),
    "api.voyageai.com": ("voyage", None),
    "api.nova.amazon.com": ("amazon_nova", None),
    "router.huggingface.co": ("huggingface", None),
    "api-inference.huggingface.co": ("huggingface", None),
    "api.inference.wandb.ai": ("wandb", None),
    "ml.cloud.ibm.com": ("watsonx", r"^([a-z]{2,}(?:-[a-z]+)*-[a-z]+\d*(?:-\d+)?)$"),
    "ai-gateway.vercel.sh": (None, None),
    "api.portkey.ai": (None, None),
}

# Hosts whose region is a part of a label, or stands after it.
PATTERNS = (
    (r"(?:^|\.)bedrock-[a-z-]+\.([a-z-]+-\d)\.(?:(?:vpce\.)?amazonaws\.com(?:\.cn)?|api\.aws)$", "bedrock"),
    (r"^(?:([a-z]+-[a-z]+\d+)-)?aiplatform\.googleapis\.com$", "vertex_ai"),
    (r"^aiplatform\.([a-z]+)\.rep\.googleapis\.com$", "vertex_ai"),
)

# Forms that only one provider gives to names of models, the more specific first.
MODEL_FORMS = (
    (r"^(?:arn:aws[a-z-]*:bedrock:)", "bedrock"),
    (
        r"^(?:(?:us-gov|us|eu|apac|ap|au|jp|ca|in|global)\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|luma|meta"
        r"|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\.[a-z]",
        "bedrock",
    ),
    (r"^(?:projects/[^/]+/locations/|publishers/)", "vertex_ai"),
    (r"^(?:claude-[a-z0-9-]+@)", "vertex_ai"),
    (r"^(?:claude-)", "anthropic"),
    (r"^(?:gpt-35-)", "azure"),
    (
        r"^(?:(?:ft:)?gpt-(?:\d|audio|image|realtime)|(?:ft:)?o[134](?:-|$)|chatgpt-|codex-mini"
        r"|text-embedding-(?:3-|ada-)|dall-e-|whisper-1$|tts-1|sora-|omni-moderation-"
        r"|computer-use-preview|(?:davinci|babbage)-002)",
        "openai",
    ),
    (r"^(?:(?:models/)?gemini-)", "gemini"),
    (
        r"^(?:(?:mistral-(?:large|medium|small)|(?:magistral|devstral)-(?:small|medium))-(?:latest|\d{4})$"
        r"|(?:ministral-\d+b|codestral|pixtral-large)-(?:latest|\d{4})$)",
        "mistral",
    ),
    (r"^(?:deepseek-(?:chat|reasoner)$)", "deepseek"),
    (r"^(?:grok-\d)", "xai"),
    (r"^(?:command-|(?:rerank|embed)-(?:v\d|english|multilingual))", "cohere"),
    (r"^(?:sonar(?:-|$))", "perplexity"),
    (r"^(?:voyage-)", "voyage"),
    (r"^(?:qwen-(?:max|plus|turbo|flash))", "dashscope"),
)

PROVIDERS = {provider for provider, _ in HOSTS.values()} | {provider for _, provider in PATTERNS}
_PATTERNS = [(re.compile(form), provider) for form, provider in PATTERNS]
_MODEL_FORMS = [(re.compile(form), provider) for form, provider in MODEL_FORMS]


def site_of(host: str) -> Tuple[Optional[str], Optional[str]]:
    """The provider behind a host, and its region."""
    for form, provider in _PATTERNS:
        found = form.search(host)
        if found:
            return provider, found[1]
    labels = host.split(".")
    for at in range(len(labels) - 1):
        row = HOSTS.get(".".join(labels[at:]))
        if row:
            provider_of_row, region = row
            found = re.match(region, ".".join(labels[:at])) if region else None
            return provider_of_row, found[1] if found else None
    return None, None


def provider_of_model(model: str) -> Optional[str]:
    """By the whole name, the part before a slash (`azure/gpt-4o`), or the part after it."""
    name = model.strip().lower()
    first, _, last = name.partition("/")
    return _by_form(name) or (first if last and first in PROVIDERS else None) or _by_form(name.rpartition("/")[2])


def _by_form(name: str) -> Optional[str]:
    return next((provider for form, provider in _MODEL_FORMS if form.match(name)), None)
