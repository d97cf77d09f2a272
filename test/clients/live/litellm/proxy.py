"""LiteLLM's proxy between an application and the provider. Arguments: by which callbacks it reports calls, and settings."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PROVIDER = os.environ["PROVIDER"]
INTAKE = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
KEY = os.environ["ATTRIBUTION_GATEWAY_KEY"]
HERE = pathlib.Path(__file__).parent
CALLBACKS = sys.argv[1].split(",")
SETTINGS = dict(setting.split("=") for setting in sys.argv[2:])


def model(name, served, base):
    return {"model_name": name, "litellm_params": {"model": served, "api_base": base, "api_key": "sk-x"}}


def config():
    openai = f"{PROVIDER}/v1"
    return {
        "model_list": [
            *[model(name, f"openai/{name}", openai) for name in ("gpt-4o", "gpt-4o-mini", "gpt-5-mini")],
            model("text-embedding-3-small", "openai/text-embedding-3-small", openai),
            model("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", PROVIDER),
        ],
        "litellm_settings": {"callbacks": CALLBACKS, "turn_off_message_logging": True, "num_retries": 0},
        "callback_settings": {
            "attribution": {
                "callback_type": "generic_api",
                "endpoint": f"{INTAKE}/intake/litellm",
                "headers": {"X-API-Key": KEY},
            }
        },
        "general_settings": {"master_key": "sk-master", "custom_auth": "virtual_keys.user_api_key_auth"},
    }


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def started(folder, port):
    path = pathlib.Path(folder) / "config.yaml"
    path.write_text(json.dumps(config()))
    (path.parent / "virtual_keys.py").write_text((HERE / "virtual_keys.py").read_text())
    env = {
        **os.environ,
        **SETTINGS,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "DISABLE_ADMIN_UI": "True",
        "OTEL_EXPORTER": "otlp_http",
        "OTEL_ENDPOINT": f"{INTAKE}/v1/traces",
        "OTEL_HEADERS": f"x-api-key={KEY}",
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={KEY}",
    }
    # The script that starts it names the folder in which it was installed, which has another name since.
    program = [sys.executable, "-c", "from litellm import run_server; run_server()", "--config", path]
    proxy = subprocess.Popen([*program, "--port", str(port), "--host", "127.0.0.1"], env=env, cwd=folder)
    for _ in range(240):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2)
            return proxy
        except OSError:
            if proxy.poll() is not None:
                break
            time.sleep(0.5)
    proxy.kill()
    sys.exit("the proxy does not start")


def call(port):
    from openai import OpenAI

    client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-caller", max_retries=0)
    said = [{"role": "user", "content": "hi"}]
    chat = client.chat.completions
    chat.create(model="gpt-4o", messages=said)
    drain(chat.create(model="gpt-4o-mini", messages=said, stream=True, stream_options={"include_usage": True}))
    client.responses.create(model="gpt-5-mini", input="hi")
    client.embeddings.create(model="text-embedding-3-small", input="hi")
    chat.create(model="gpt-5-mini", messages=said, service_tier="flex")
    chat.create(model="claude-sonnet-4-5", messages=said)
    drain(chat.create(model="claude-sonnet-4-5", messages=said, stream=True))


def drain(stream):
    for _ in stream:
        pass


with tempfile.TemporaryDirectory() as folder:
    port = free_port()
    proxy = started(folder, port)
    try:
        call(port)
        # It sends every five seconds.
        time.sleep(12)
    finally:
        proxy.send_signal(signal.SIGTERM)
        try:
            proxy.wait(20)
        except subprocess.TimeoutExpired:
            proxy.kill()
