import asyncio
import contextlib
import functools
import json
import unittest

import stub_httpx as httpx
from attribution_service import Attribution
from service import Service

USAGE = {"input_tokens": 20, "output_tokens": 10}
CREATED = {"type": "response.created", "response": {"id": "resp_1", "usage": None}}
SAID = {"type": "response.output_text.delta", "delta": "a-word"}
DONE = {"type": "response.done", "response": {"id": "resp_1", "output": [{"text": "a-word"}], "usage": USAGE}}


class Connection:
    def __init__(self, messages):
        self._messages = iter(messages)

    def recv_bytes(self):
        return json.dumps(next(self._messages)).encode()


class Manager:
    def __init__(self, messages):
        self._messages = messages

    def __enter__(self):
        return Connection(self._messages)

    enter = __enter__

    def __exit__(self, *_):
        pass


class Realtime:
    def __init__(self, messages):
        self._messages = messages

    def connect(self, *, model):
        return Manager(self._messages)


class Sdk:
    imported = 0
    base_url = "https://api.openai.com/v1/"

    def __init__(self, messages):
        self._client = httpx.Client(None)
        self._messages = messages

    @functools.cached_property
    def realtime(self):
        Sdk.imported += 1
        return Realtime(self._messages)

    def copy(self):
        return Sdk(self._messages)


class Sockets(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.close)
        self.attribution = Attribution(self.service.url, "k")
        self.addCleanup(self.attribution.close)
        Sdk.imported = 0

    def events(self):
        self.attribution.flush()
        events, self.service.events = self.service.events, []
        self.assertNotIn("a-word", json.dumps(events))
        return events

    def test_each_answer_of_a_connection_is_a_call(self):
        sdk = self.attribution.wrap(Sdk([CREATED, SAID, DONE, CREATED, DONE]))
        self.assertEqual(Sdk.imported, 0)
        for client in (sdk, sdk.copy()):
            with client.realtime.connect(model="gpt-realtime") as connection:
                self.assertIs(type(connection), Connection)
                for _ in range(5):
                    connection.recv_bytes()

            first, second = self.events()
            self.assertEqual((first["provider"], first["requested_model"]), ("openai", "gpt-realtime"))
            self.assertEqual((second["provider_usage"], second["response_id"]), (USAGE, "resp_1"))

    def test_what_is_heard_is_counted_for_the_model_that_writes_it_down(self):
        transcription = {"language": "en", "model": "gpt-4o-transcribe"}
        older = {"type": "session.updated", "session": {"input_audio_transcription": {"model": "whisper-1"}}}
        newer = {"type": "session.updated", "session": {"audio": {"input": {"transcription": transcription}}}}
        heard = {
            "type": "conversation.item.input_audio_transcription.completed",
            "transcript": "a-word",
            "usage": {"type": "tokens", "total_tokens": 22},
        }
        messages = [heard, older, CREATED, heard, DONE, newer, heard]
        connection = self.attribution.wrap(Sdk(messages)).realtime.connect(model="gpt-realtime").enter()
        for _ in messages:
            connection.recv_bytes()
        self.assertEqual(
            [event["requested_model"] for event in self.events()],
            ["unknown", "whisper-1", "gpt-realtime", "gpt-4o-transcribe"],
        )

    def test_subclasses_and_connections_of_a_part_used_before_are_recorded(self):
        class Azure(Sdk):
            pass

        used = Sdk([DONE])
        self.assertIsNotNone(used.realtime)
        for client in (Azure([DONE]), used):
            for _ in range(2):
                self.attribution.wrap(client)
            client.realtime.connect(model="gpt-realtime").enter().recv_bytes()
            self.assertEqual([event["requested_model"] for event in self.events()], ["gpt-realtime"])

    def test_an_answer_that_breaks_off_is_recorded(self):
        connection = self.attribution.wrap(Sdk([CREATED, SAID])).realtime.connect(model="gpt-realtime").enter()
        with self.assertRaises(StopIteration):
            for _ in range(3):
                connection.recv_bytes()
        self.assertEqual([event["outcome"] for event in self.events()], ["error"])

    def test_clients_that_are_not_wrapped_are_not_recorded(self):
        self.attribution.wrap(Sdk([]))
        Sdk([DONE]).realtime.connect(model="gpt-realtime").enter().recv_bytes()
        self.assertEqual(self.events(), [])

    def test_sessions_of_gemini_are_recorded(self):
        class Socket:
            async def recv(self, **_):
                return json.dumps({"usageMetadata": {"totalTokenCount": 12}})

        class Live:
            @contextlib.asynccontextmanager
            async def connect(self, *, model):
                yield type("Session", (), {"_ws": Socket()})()

        gemini = type("Gemini", (), {})()
        gemini._api_client = type("Api", (), {})()
        gemini._api_client._httpx_client = httpx.Client(None)
        gemini._api_client._http_options = type(
            "Options", (), {"base_url": "https://generativelanguage.googleapis.com/"}
        )
        gemini.aio = type("Aio", (), {"live": Live()})()
        for _ in range(2):
            self.attribution.wrap(gemini)

        async def talk():
            async with gemini.aio.live.connect(model="gemini-live") as session:
                await session._ws.recv(decode=False)

        asyncio.run(talk())
        (event,) = self.events()
        self.assertEqual((event["provider"], event["requested_model"]), ("gemini", "gemini-live"))


if __name__ == "__main__":
    unittest.main()
