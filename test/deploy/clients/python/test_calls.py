import asyncio
import base64
import gc
import json
import os
import threading
import types
import unittest
import unittest.mock
import weakref
import zlib

import attribution_service
import stub_httpx as httpx
from attribution_service import Attribution, context
from service import Service

CHAT = "https://api.openai.com/v1/chat/completions"
MESSAGES = "https://api.anthropic.com/v1/messages"
ASKED = {"messages": [{"role": "user", "content": "a-secret-prompt"}], "model": "gpt-4o-mini"}
USAGE = {"prompt_tokens": 1200, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 1000}}
CHAT_ANSWER = {
    "id": "chatcmpl-1",
    "model": "gpt-4o-mini-2024-07-18",
    "service_tier": "default",
    "choices": [{"message": {"content": "a-completion"}}],
    "usage": USAGE,
}
CHUNK = {"id": "chatcmpl-1", "model": "gpt-4o-mini", "choices": [{"delta": {"content": "a-completion"}}]}
LAST = {"id": "chatcmpl-1", "model": "gpt-4o-mini", "choices": [], "usage": USAGE}
MESSAGE = {"id": "msg_1", "type": "message", "model": "claude-sonnet-4-6"}
COUNTS = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 2000}
STARTED = {**COUNTS, "inference_geo": "us"}


class Calls(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.attribution = Attribution(self.service.url, "k", service="search", tags={"team": "core"})

    def tearDown(self):
        self.attribution.close()
        self.service.close()

    def events(self):
        self.assertTrue(self.attribution.flush())
        events, self.service.events = self.service.events, []
        self.assertNotIn("a-completion", json.dumps(events))
        self.assertNotIn("a-secret-prompt", json.dumps(events))
        return events

    def event(self):
        (event,) = self.events()
        return event

    def send(self, answer, request, stream=False, **options):
        return self.attribution.wrap(httpx.Client(answer), **options).send(request, stream=stream)

    def asked(self, answer, url=CHAT, body=ASKED, headers=None, **options):
        """The event of one call."""
        self.send(answer, httpx.post(url, body, headers=headers), **options)
        return self.event()

    # What is recorded

    def test_an_answer_is_recorded_as_its_provider_states_it(self):
        event = self.asked(httpx.json_answer(CHAT_ANSWER, {"x-request-id": "req_1"}))

        self.assertEqual(event["provider_usage"], USAGE)
        self.assertEqual(
            {name: event[name] for name in ("provider", "requested_model", "served_model", "service_tier", "outcome")},
            {
                "provider": "openai",
                "requested_model": "gpt-4o-mini",
                "served_model": "gpt-4o-mini-2024-07-18",
                "service_tier": "standard",
                "outcome": "success",
            },
        )
        self.assertEqual((event["response_id"], event["request_id"]), ("chatcmpl-1", "req_1"))
        self.assertEqual((event["attributed_service"], event["tags"]), ("search", {"team": "core"}))

    def test_usage_keeps_what_the_service_takes(self):
        usage = {"a": 1, "b": {"c": {"d": 2, "e": {"f": 3}}}, "prompt": "no", "g": "x" * 65, "h": -1, "i": None}
        event = self.asked(
            httpx.json_answer(
                {**CHAT_ANSWER, "usage": {**usage, "j": [{"k": 1}, 2], "l": "x", "type": "AUDIO", "m": 0.5}}
            )
        )

        self.assertEqual(
            event["provider_usage"], {"a": 1, "b": {"c": {"d": 2}}, "j": [{"k": 1}, {}], "type": "AUDIO", "m": 0.5}
        )

    def test_what_is_no_call_is_none(self):
        nothing = [
            (httpx.json_answer({"error": {}}, status=400), httpx.post(CHAT, ASKED)),
            (httpx.json_answer({"input_tokens": 5}), httpx.post(MESSAGES + "/count_tokens", ASKED)),
            (httpx.json_answer({"data": []}), httpx.Request("GET", "https://api.openai.com/v1/models")),
            (httpx.json_answer(CHAT_ANSWER), httpx.Request("GET", CHAT + "/chatcmpl-1")),
            (httpx.json_answer(CHAT_ANSWER), httpx.post(CHAT + "/chatcmpl-1", {"metadata": {}})),
            (
                httpx.json_answer({"id": "b", "object": "batch"}),
                httpx.post("https://api.openai.com/v1/batches", {"input_file_id": "f"}),
            ),
            (httpx.json_answer({"id": "b"}), httpx.post(MESSAGES + "/batches", {"requests": [{"params": ASKED}]})),
            (
                httpx.json_answer({"id": "j"}),
                httpx.post("https://api.openai.com/v1/fine_tuning/jobs", {"model": "gpt-4o"}),
            ),
        ]
        for answer, request in nothing:
            self.send(answer, request)
        self.assertEqual(self.events(), [])

    def test_a_method_that_nobody_knows_is_recorded_by_the_usage_of_its_answer(self):
        event = self.asked(
            httpx.json_answer({"usage": {"n": 1}}), "https://api.openai.com/v9/dreams", {"model": "m", "wish": "x"}
        )
        self.assertEqual((event["requested_model"], event["provider_usage"]), ("m", {"n": 1}))

    def test_a_stream_without_usage_is_recorded_and_a_whole_answer_is_not(self):
        self.send(httpx.event_stream(httpx.events(CHUNK)), httpx.post(CHAT, ASKED), stream=True).read()
        self.send(httpx.json_answer({"data": []}), httpx.post(CHAT, {"model": "dall-e-3", "prompt": "x"}))
        self.assertNotIn("provider_usage", self.event())

    def test_nothing_of_a_request_is_kept_until_its_call_is_sent(self):
        request = httpx.post(CHAT, ASKED)
        kept = weakref.ref(request)
        self.send(httpx.json_answer(CHAT_ANSWER), request)
        del request
        gc.collect()
        self.assertEqual((self.attribution.counts.waiting, kept()), (1, None))

    def test_attempts_are_counted(self):
        event = self.asked(httpx.json_answer(CHAT_ANSWER), headers={"x-stainless-retry-count": "1"})
        self.assertEqual(event["attempt"], 2)

    def test_a_batch_is_one_call_however_often_it_is_read(self):
        batch = {"id": "batch_1", "object": "batch", "model": "gpt-4o", "usage": {"input_tokens": 5}}
        request = httpx.Request("GET", "https://api.openai.com/v1/batches/batch_1")
        for status in ("in_progress", "completed", "completed"):
            self.send(httpx.json_answer({**batch, "status": status}), request)

        first, second = self.events()
        self.assertEqual(first["event_id"], second["event_id"])
        self.assertEqual((first["service_tier"], first["requested_model"]), ("batch", "gpt-4o"))

    def test_an_answer_in_the_background_is_one_call(self):
        url = "https://api.openai.com/v1/responses"
        begun = {"id": "resp_1", "background": True, "status": "queued", "usage": None}
        self.send(httpx.json_answer(begun), httpx.post(url, {"model": "gpt-5", "input": "x", "background": True}))
        for _ in range(2):
            ended = {**begun, "status": "completed", "model": "gpt-5", "usage": {"input_tokens": 5}}
            self.send(httpx.json_answer(ended), httpx.Request("GET", url + "/resp_1"))

        first, second = self.events()
        self.assertEqual(first["event_id"], second["event_id"])
        self.assertEqual(first["provider_usage"], {"input_tokens": 5})

    def test_each_result_of_a_batch_is_a_call(self):
        usage = {"input_tokens": 5, "service_tier": "batch"}
        lines = [
            {"result": {"type": "succeeded", "message": {**MESSAGE, "id": "msg_%d" % n, "usage": usage}}}
            for n in (1, 2)
        ]
        body = b"\n".join(json.dumps(line).encode() for line in [*lines, {"result": {"type": "errored"}}])
        request = httpx.Request("GET", MESSAGES + "/batches/b/results")
        self.send(lambda _, kind: httpx.Response(200, {"content-type": "application/x-jsonl"}, kind([body])), request)

        self.assertEqual([event["response_id"] for event in self.events()], ["msg_1", "msg_2"])

    # Who served it

    def test_the_provider_is_the_hosts_headers_or_models(self):
        claude = {**CHAT_ANSWER, "model": "claude-sonnet-4-6"}
        gateway = "http://127.0.0.1:8787/v1/chat/completions"
        cases = [
            ("azure", "https://x.openai.azure.com/openai/deployments/d/chat/completions", CHAT_ANSWER, {}),
            ("openai", "https://eu.api.openai.com/v1/chat/completions", CHAT_ANSWER, {}),
            ("anthropic", gateway, claude, {}),
            ("bedrock", gateway, claude, {"x-portkey-provider": "bedrock"}),
            (
                "vertex_ai",
                gateway,
                claude,
                {"x-litellm-model-api-base": "https://europe-west1-aiplatform.googleapis.com/v1"},
            ),
            ("groq", gateway, {**CHAT_ANSWER, "provider": "Groq"}, {}),
            ("gemini", gateway, {"modelVersion": "x", "usageMetadata": {"totalTokenCount": 1}}, {}),
        ]
        for provider, url, answer, headers in cases:
            with self.subTest(provider):
                event = self.asked(httpx.json_answer(answer, headers), url, {**ASKED, "model": "mine"})
                self.assertEqual(event["provider"], provider)

    def test_a_stated_provider_and_region_hold(self):
        event = self.asked(httpx.json_answer(CHAT_ANSWER), "https://eu.api.openai.com/v1/chat/completions")
        self.assertEqual(event["region"], "eu")
        event = self.asked(httpx.json_answer(CHAT_ANSWER), provider="mine", region="fr")
        self.assertEqual((event["provider"], event["region"]), ("mine", "fr"))

    def test_gateways_say_ids_costs_and_caches(self):
        headers = {
            "x-litellm-call-id": "call",
            "x-request-id": "req",
            "x-litellm-response-cost": "0.00021779999999999998",
        }
        event = self.asked(httpx.json_answer(CHAT_ANSWER, headers))
        self.assertEqual((event["request_id"], event["estimated_cost_usd"]), ("call", "0.0002178"))
        charged = httpx.json_answer({**CHAT_ANSWER, "usage": {**USAGE, "cost": 0.0000125}})
        event = self.asked(charged, "https://openrouter.ai/api/v1/chat/completions")
        self.assertEqual((event["provider"], event["estimated_cost_usd"]), ("openrouter", "0.0000125"))
        hits = [{"x-portkey-cache-status": "HIT"}, {"x-litellm-cache-key": "k", "x-litellm-response-cost": "0.0"}]
        written = {"x-litellm-cache-key": "k", "x-litellm-response-cost": "0.1"}
        found = [self.asked(httpx.json_answer(CHAT_ANSWER, each)).get("served_from_cache") for each in [*hits, written]]
        self.assertEqual(found, [True, True, None])

    # Streams

    def answers_as_asked(self, request, kind):
        """Usage only for those who ask for it."""
        is_asked = json.loads(request.content).get("stream_options", {}).get("include_usage")
        parts = [{**CHUNK, "usage": None}, LAST] if is_asked else [CHUNK]
        return httpx.event_stream(httpx.events(*parts))(request, kind)

    def test_a_stream_is_asked_for_its_usage_out_of_the_callers_sight(self):
        plain = b"".join(httpx.events(CHUNK))
        for options in ({}, {"stream_options": {}}, {"stream_options": None}, {"stream_options": {"x": 1}}):
            request = httpx.post(CHAT, {**ASKED, "stream": True, **options})
            response = self.send(self.answers_as_asked, request, stream=True)
            self.assertEqual(response.read(), plain)
            self.assertIs(response.request, request)
            self.assertEqual(self.event()["provider_usage"], USAGE)

    def test_a_usage_that_is_null_is_taken_out_however_it_is_written(self):
        for nothing in (b',"usage":null', b', "usage": null'):
            part = b'data: {"choices":[{"delta":{"content":",\\"usage\\":null"}}]%s}\n\n'
            answer = httpx.event_stream([part % nothing, *httpx.events(LAST)])
            response = self.send(answer, httpx.post(CHAT, {**ASKED, "stream": True}), stream=True)
            self.assertEqual(response.read(), part % b"" + b"data: [DONE]\n\n")
            self.assertEqual(self.event()["provider_usage"], USAGE)

    def test_the_usage_that_the_caller_asks_for_is_the_callers(self):
        request = httpx.post(CHAT, {**ASKED, "stream": True, "stream_options": {"include_usage": True}})
        response = self.send(self.answers_as_asked, request, stream=True)
        self.assertEqual(response.read(), b"".join(httpx.events({**CHUNK, "usage": None}, LAST)))

    def test_a_usage_that_the_caller_asks_for_in_another_way_is_the_callers(self):
        def answer(request, kind):
            self.assertNotIn(b"stream_options", request.content)
            return httpx.event_stream(httpx.events(CHUNK, LAST))(request, kind)

        body = {**ASKED, "stream": True, "usage": {"include": True}}
        response = self.send(answer, httpx.post("https://openrouter.ai/api/v1/chat/completions", body), stream=True)
        self.assertEqual(response.read(), b"".join(httpx.events(CHUNK, LAST)))

    def test_a_redirected_answer_says_where_it_is_from(self):
        moved = httpx.Request("GET", "https://other.example.com/v1/models")

        def answer(request, kind):
            response = httpx.json_answer({})(request, kind)
            response.request, response.history = moved, [response]
            return response

        self.assertIs(self.send(answer, httpx.post(CHAT, ASKED)).request, moved)

    def test_who_refuses_to_be_asked_is_asked_once(self):
        asked = []

        def answer(request, kind):
            asked.append(b"include_usage" in request.content)
            if asked[-1]:
                return httpx.json_answer({"error": "stream_options: extra inputs"}, status=422)(request, kind)
            return httpx.event_stream(httpx.events(CHUNK))(request, kind)

        client = self.attribution.wrap(httpx.Client(answer))
        for _ in range(2):
            self.assertEqual(client.send(httpx.post(CHAT, {**ASKED, "stream": True}), stream=True).status_code, 200)
        self.assertEqual(asked, [True, False, False])

    def test_nobody_is_asked_where_the_setting_says_so(self):
        attribution = Attribution(self.service.url, "k", asks_for_usage=False)
        client = attribution.wrap(httpx.Client(self.answers_as_asked))
        client.send(httpx.post(CHAT, {**ASKED, "stream": True}), stream=True).read()
        attribution.close()
        self.assertNotIn("provider_usage", self.event())

    def test_what_is_compressed_is_read_and_stays_as_it_is(self):
        class Decoder:
            def __init__(self):
                self.decode = zlib.decompressobj(wbits=31).decompress

        class Compressed(httpx.Response):
            def _get_content_decoder(self):
                return Decoder()

        packer = zlib.compressobj(wbits=31)
        parts = [packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH) for part in httpx.events(CHUNK, LAST)]
        encodings = []

        def answer(request, kind):
            encodings.append(request.headers.get("accept-encoding"))
            return Compressed(200, {"content-type": "text/event-stream", "content-encoding": "gzip"}, kind(parts))

        response = self.send(answer, httpx.post(CHAT, {**ASKED, "stream": True}), stream=True)
        self.assertEqual(response.read(), b"".join(parts))
        self.assertEqual(self.event()["provider_usage"], USAGE)
        self.assertEqual(encodings, ["identity"])

    def test_counts_of_a_stream_add_up(self):
        parts = [
            {"type": "message_start", "message": {**MESSAGE, "usage": STARTED}},
            {"type": "message_delta", "usage": {"output_tokens": 250}},
        ]
        self.send(httpx.event_stream(httpx.events(*parts, done=False)), httpx.post(MESSAGES, ASKED), stream=True).read()
        event = self.event()
        self.assertEqual(event["provider_usage"], {**COUNTS, "output_tokens": 250})
        self.assertEqual((event["response_id"], event["region"], event["outcome"]), ("msg_1", "us", "success"))

    def test_the_last_event_of_cohere_states_the_usage(self):
        usage = {"billed_units": {"input_tokens": 3, "output_tokens": 6}, "tokens": {"input_tokens": 69}}
        parts = [
            {"id": "c1", "type": "message-start", "delta": {"message": {"role": "assistant"}}},
            {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "a-completion"}}}},
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": usage}},
        ]
        request = httpx.post("https://api.cohere.com/v2/chat", {**ASKED, "model": "command-a-03-2025"})
        response = self.send(httpx.event_stream(httpx.events(*parts, done=False)), request, stream=True)
        for _ in zip(parts, response.iter_bytes()):
            pass
        response.close()
        event = self.event()

        self.assertEqual(event["provider_usage"], usage)
        self.assertEqual((event["provider"], event["response_id"], event["outcome"]), ("cohere", "c1", "success"))

    def test_the_end_of_a_stream_of_coheres_first_version_has_what_it_bills(self):
        units = {"input_tokens": 3, "output_tokens": 6}
        parts = [
            {"event_type": "stream-start", "generation_id": "g1"},
            {"event_type": "text-generation", "text": "a-completion"},
            {"event_type": "stream-end", "response": {"text": "a-completion", "meta": {"billed_units": units}}},
        ]
        request = httpx.post("https://api.cohere.com/v1/chat", {"model": "command-r", "message": "a-prompt"})
        self.send(httpx.event_stream(httpx.events(*parts, done=False)), request, stream=True).read()
        self.assertEqual(self.event()["provider_usage"], {"billed_units": units})

    def test_cohere_bills_what_its_meta_says(self):
        units = {"input_tokens": 9}
        billed = {"api_version": {"version": "2"}, "billed_units": units}
        for meta, sent in ((billed, [{"billed_units": units}]), ({"warnings": []}, [])):
            answer = httpx.json_answer({"id": "e1", "embeddings": {"float": [[0.5]]}, "meta": meta})
            self.send(answer, httpx.post("https://api.cohere.com/v2/embed", {"model": "embed-v4.0", "texts": ["a"]}))
            self.assertEqual([event["provider_usage"] for event in self.events()], sent)

    def test_events_of_bedrock_are_read(self):
        started = {"type": "message_start", "message": {**MESSAGE, "usage": STARTED}}
        ended = {"type": "message_delta", "usage": {"output_tokens": 250}}
        frames = b"".join(
            b'\x00\x00\x01\x0b"{:event-type'
            + json.dumps(
                {"bytes": base64.b64encode(json.dumps(event).encode()).decode()}, separators=(",", ":")
            ).encode()
            + b"\xf3{["
            for event in (started, ended)
        )
        url = (
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-v1:0/invoke-with-response-stream"
        )
        kind = {"content-type": "application/vnd.amazon.eventstream"}
        parts = [frames[at : at + 7] for at in range(0, len(frames), 7)]
        self.send(
            lambda _, body: httpx.Response(200, kind, body(parts)), httpx.post(url, {"messages": []}), stream=True
        ).read()

        event = self.event()
        self.assertEqual(event["provider_usage"], {**COUNTS, "output_tokens": 250})
        self.assertEqual((event["provider"], event["requested_model"]), ("bedrock", "us.anthropic.claude-v1:0"))

    # Ends

    def open(self, parts=None, error=None):
        parts = httpx.events(CHUNK, CHUNK, done=False) if parts is None else parts
        return self.send(httpx.event_stream(parts, error), httpx.post(CHAT, ASKED), stream=True)

    def test_a_stream_that_is_closed_or_dropped_is_recorded_at_once(self):
        def closed(response):
            next(response.iter_bytes())
            response.close()

        def dropped(response):
            next(response.iter_bytes())

        for end in (closed, dropped, lambda response: None):
            response = self.open()
            end(response)
            del response
            gc.collect()
            self.assertEqual(self.attribution.counts.waiting, 1)
            self.assertEqual(self.event()["outcome"], "cancelled")

    def test_a_stream_closed_after_its_end_is_whole(self):
        response = self.open(httpx.events(CHUNK) + [b"data: more\n\n"])
        parts = response.iter_bytes()
        next(parts), next(parts)
        response.close()
        self.assertEqual(self.event()["outcome"], "success")

    def test_errors_are_the_callers_and_recorded(self):
        with self.assertRaises(httpx.ReadTimeout):
            self.open(error=httpx.ReadTimeout()).read()
        self.assertEqual(self.event()["outcome"], "error")

        for error, count in (
            (httpx.ReadTimeout(), 1),
            (KeyboardInterrupt(), 1),
            (httpx.ConnectError(), 0),
            (ValueError(), 0),
        ):

            def answer(request, kind):
                raise error

            with self.assertRaises(type(error)):
                self.send(answer, httpx.post(CHAT, ASKED))
            self.assertEqual(len(self.events()), count)

    def test_a_stream_that_fails_within_is_an_error(self):
        self.open(httpx.events(CHUNK, {"type": "error", "error": {}}, done=False)).read()
        self.assertEqual(self.event()["outcome"], "error")

    def test_a_loop_left_by_break_is_recorded_unless_its_reader_comes_back(self):
        class Stream:
            def __init__(self, response):
                self.response, self._iterator = response, response.iter_bytes()

            def __iter__(self):
                for part in self._iterator:
                    yield part

        package = type("package", (), {"Stream": Stream})
        attribution_service._http.notice_leaving(package)
        left = Stream(self.open())
        for _ in left:
            break
        self.assertEqual(self.event()["outcome"], "cancelled")

        peeked = Stream(self.open(httpx.events(CHUNK, LAST)))
        next(iter(peeked))
        self.assertEqual(len(list(peeked)), 2)
        self.assertEqual(self.event()["outcome"], "success")
        self.assertEqual(self.attribution.counts.recorded, 2)

    def test_open_streams_are_recorded_at_the_end(self):
        response = self.open()
        next(response.iter_bytes())
        self.attribution.close()
        self.assertEqual([event["outcome"] for event in self.service.events], ["cancelled"])

    def test_a_call_that_two_threads_end_at_once_is_one(self):
        response = self.open()

        def other_thread_first():
            switching.stop()
            other = threading.Thread(target=self.attribution.close)
            other.start()
            other.join()
            return os.getpid()

        switching = unittest.mock.patch("os.getpid", other_thread_first)
        switching.start()
        response.read()
        self.assertEqual(len(self.events()), 1)
        self.assertEqual(self.attribution.counts.recorded, 1)

    def test_threads_that_call_at_once_have_each_call_recorded_once(self):
        def answer(request, kind):
            is_stream = json.loads(request.content).get("stream")
            return (self.answers_as_asked if is_stream else httpx.json_answer(CHAT_ANSWER))(request, kind)

        client = self.attribution.wrap(httpx.Client(answer))
        streamed = httpx.post(CHAT, {**ASKED, "stream": True})

        def calls(thread):
            for number in range(50):
                with context(identity="%d.%d" % (thread, number)):
                    client.send(httpx.post(CHAT, ASKED))
                    client.send(streamed, stream=True).read()
                    left = client.send(streamed, stream=True)
                    next(left.iter_bytes())
                    left.close()

        threads = [threading.Thread(target=calls, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        found = [(event["attributed_identity"], event["outcome"]) for event in self.events()]
        each = ["success", "success", "cancelled"]
        made = [("%d.%d" % (thread, number), end) for thread in range(8) for number in range(50) for end in each]
        self.assertEqual(sorted(found), sorted(made))
        self.assertEqual(self.attribution.counts, (1200, 1200, 0, 0))

    def test_asynchronous_clients_are_the_same(self):
        async def run():
            client = self.attribution.wrap(httpx.AsyncClient(self.answers_as_asked))
            response = await client.send(httpx.post(CHAT, {**ASKED, "stream": True}), stream=True)
            self.assertEqual(await response.aread(), b"".join(httpx.events(CHUNK)))
            client = self.attribution.wrap(httpx.AsyncClient(httpx.json_answer(CHAT_ANSWER)))
            await client.send(httpx.post(CHAT, ASKED))

        asyncio.run(run())
        self.assertEqual([event["provider_usage"] for event in self.events()], [USAGE, USAGE])

    def test_a_cancelled_task_is_recorded_at_once(self):
        class Waiting(httpx.AsyncParts):
            async def __aiter__(self):
                yield httpx.events(CHUNK, done=False)[0]
                await asyncio.Event().wait()

        async def run():
            client = self.attribution.wrap(
                httpx.AsyncClient(lambda *_: httpx.Response(200, {"content-type": "text/event-stream"}, Waiting([])))
            )
            response = await client.send(httpx.post(CHAT, ASKED), stream=True)
            is_read = asyncio.Event()

            async def read():
                async for _ in response.aiter_bytes():
                    is_read.set()

            task = asyncio.ensure_future(read())
            await is_read.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.assertEqual(self.attribution.counts.waiting, 1)

        asyncio.run(run())
        self.assertEqual(self.event()["outcome"], "cancelled")

    # Clients

    def test_an_sdks_client_stays_itself_and_its_copies_are_recorded(self):
        class Sdk:
            def __init__(self, http):
                self._client = http

            def copy(self):
                return Sdk(self._client)

            with_options = copy

        http = httpx.Client(httpx.json_answer(CHAT_ANSWER))
        sdk = Sdk(http)
        self.assertIs(self.attribution.wrap_openai(sdk), sdk)
        self.attribution.wrap_openai(sdk)
        self.assertIsInstance(sdk._client, httpx.Client)
        for client in (sdk, sdk.copy(), sdk.with_options().copy()):
            client._client.send(httpx.post(CHAT, ASKED))
        self.assertEqual(len(self.events()), 3)
        # Others who share the client of httpx are not recorded.
        http.send(httpx.post(CHAT, ASKED))
        self.assertEqual(self.events(), [])

    def test_the_later_of_two_wraps_says_whose_calls_these_are(self):
        class Sdk:
            def __init__(self, http):
                self._client = http

            def copy(self):
                return Sdk(self._client)

        base = self.attribution.wrap(Sdk(httpx.Client(httpx.json_answer(CHAT_ANSWER))), service="search")
        chat = self.attribution.wrap(base.copy(), service="chat")
        for client in (base, base.copy(), chat, chat.copy()):
            client._client.send(httpx.post(CHAT, ASKED))
        self.assertEqual([event["attributed_service"] for event in self.events()], ["search", "search", "chat", "chat"])
        self.assertIs(type(chat.copy()._client), type(chat._client))

    def test_the_client_that_a_modules_functions_share_is_recorded(self):
        module = types.ModuleType("sdk")
        shared = type("Sdk", (), {"_client": httpx.Client(httpx.json_answer(CHAT_ANSWER))})()
        module._load_client = lambda: shared
        self.assertIs(self.attribution.wrap(module), module)
        shared._client.send(httpx.post(CHAT, ASKED))
        self.assertEqual(len(self.events()), 1)

    def test_an_unknown_client_works_as_before(self):
        client = object()
        self.assertIs(self.attribution.wrap(client), client)

    # Context

    def test_context_is_that_of_the_thread_or_task(self):
        client = self.attribution.wrap(httpx.Client(httpx.json_answer(CHAT_ANSWER)), identity="ann")
        with context(identity="bob", tags={"step": "1"}, session="s"):
            with self.attribution.context(service="other"):
                client.send(httpx.post(CHAT, ASKED))
            self.attribution.record("openai", "gpt-4o", input_tokens=1)
        client.send(httpx.post(CHAT, ASKED))

        inner, recorded, outer = self.events()
        tags = {"team": "core", "step": "1", "session_id": "s"}
        self.assertEqual(
            (inner["attributed_service"], inner["attributed_identity"], inner["tags"]), ("other", "bob", tags)
        )
        self.assertEqual((recorded["attributed_service"], recorded["attributed_identity"]), ("search", "bob"))
        self.assertEqual((outer["attributed_service"], outer["attributed_identity"]), ("search", "ann"))

    def test_a_request_says_its_trace(self):
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        event = self.asked(httpx.json_answer(CHAT_ANSWER), headers={"traceparent": parent})
        self.assertEqual((event["trace_id"], event["parent_span_id"]), (parent[3:35], parent[36:52]))


if __name__ == "__main__":
    unittest.main()
