import logging
import os
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from attribution_service import Attribution, _sender
from attribution_service._spool import Spool
from service import Service


class Sending(unittest.TestCase):
    def setUp(self):
        self.lines = []
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(record.getMessage())
        logger = logging.getLogger("attribution_service")
        logger.addHandler(handler)
        logger.propagate = False
        self.addCleanup(logger.removeHandler, handler)

    def attribution(self, service, **options):
        attribution = Attribution(service if isinstance(service, str) else service.url, "k", **options)
        self.addCleanup(attribution.close)
        return attribution

    def test_calls_are_sent_again_until_they_are_answered(self):
        service = Service([503, 401, 429])
        attribution = self.attribution(service)
        attribution.record("openai", "gpt-4o", input_tokens=1)

        self.assertEqual(len(service.wait_for(1)), 1)
        self.assertTrue(attribution.flush())
        self.assertEqual(attribution.counts, (1, 1, 0, 0))
        self.assertEqual(len(self.lines), 1)

    def test_a_call_that_the_service_refuses_takes_no_other_with_it(self):
        def refuses_one(events):
            return 422 if any(event["requested_model"] == "bad" for event in events) else 202

        problems = []
        service = Service([refuses_one] * 50)
        attribution = self.attribution(service, flush_seconds=60, on_problem=lambda *problem: problems.append(problem))
        for index in range(20):
            attribution.record("openai", "bad" if index == 7 else "gpt-4o")

        self.assertTrue(attribution.flush())
        self.assertEqual((len(service.events), attribution.counts), (19, (20, 19, 1, 0)))
        self.assertEqual([lost for _, lost in problems], [1])

    def test_memory_is_bounded_while_the_service_is_away(self):
        attribution = self.attribution("http://127.0.0.1:9", queue_max=100, close_seconds=0.1)
        for _ in range(1000):
            attribution.record("openai", "gpt-4o")
        self.assertEqual(attribution.counts, (1000, 0, 900, 100))
        attribution.close()
        attribution.record("openai", "gpt-4o")
        self.assertEqual(attribution.counts, (1001, 0, 1001, 0))
        self.assertLessEqual(len(self.lines), 1)

    def test_lost_calls_are_one_line_of_log_in_an_hour(self):
        attribution = self.attribution(Service())
        attribution.close()
        counts = []
        for elapsed in (0, 1, 3599, 3600, 7199, 7200):
            with mock.patch.object(_sender, "time", types.SimpleNamespace(monotonic=lambda: elapsed)):
                for _ in range(3):
                    attribution.record("openai", "gpt-4o")
            counts.append(len(self.lines))

        self.assertEqual(counts, [1, 1, 1, 2, 2, 3])
        self.assertIn("16 lost", self.lines[-1])

    def test_calls_outlive_an_absent_service_in_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            spool = os.path.join(folder, "calls")
            away = self.attribution("http://127.0.0.1:9", queue_max=100, close_seconds=0.1, spool_folder=spool)
            for count in range(60):
                away.record("openai", "gpt-4o", input_tokens=count)
            away.close()
            self.assertEqual(away.counts.lost, 0)

            service = Service([503])
            attribution = self.attribution(service, spool_folder=spool)
            attribution.record("openai", "gpt-4o", input_tokens=60)
            counts = sorted(event["input_tokens"] for event in service.wait_for(61))
            self.assertEqual(counts, list(range(61)))
            attribution.close()
            self.assertEqual((attribution.counts, os.listdir(spool)), ((61, 61, 0, 0), []))

    def test_more_calls_than_memory_holds_are_kept_in_the_folder(self):
        with tempfile.TemporaryDirectory() as spool:
            service = Service([503] * 3)
            attribution = self.attribution(service, flush_seconds=0.01, queue_max=2000, spool_folder=spool)
            recorded = 0
            while service.requests < 4:
                if attribution.counts.waiting < 1900:
                    attribution.record("openai", "gpt-4o")
                    recorded += 1
            self.assertEqual(len(service.wait_for(recorded)), recorded)
            self.assertEqual(attribution.counts.lost, 0)

    def test_the_folder_is_the_users_own_and_holds_no_files_that_nobody_finishes(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "calls")
            spool = Spool(folder)
            self.assertEqual(spool.keep([b"{}"]), 1)
            path, _ = spool.first()
            self.assertEqual([os.stat(each).st_mode & 0o777 for each in (folder, path)], [0o700, 0o600])

            with mock.patch.object(os, "replace", side_effect=OSError):
                self.assertEqual(spool.keep([b"{}"]), 0)
            abandoned, fresh = [path.partition(".")[0][:-1] + end for end in "01"]
            for name, age in ((os.path.join(folder, "others"), 7200), (abandoned, 7200), (fresh, 0)):
                with open(name, "x"):
                    os.utime(name, (time.time() - age,) * 2)
            self.assertEqual(spool.keep([b"{}"]), 1)
            left = {os.path.join(folder, name) for name in os.listdir(folder) if not name.endswith(".ndjson")}
            self.assertEqual(left, {os.path.join(folder, "others"), fresh})

    def test_a_burst_is_kept_in_the_folder_while_nothing_is_tried(self):
        pauses_long = types.SimpleNamespace(random=lambda: 1000)
        with tempfile.TemporaryDirectory() as spool, mock.patch.object(_sender, "random", pauses_long):
            attribution = self.attribution(
                "http://127.0.0.1:9", flush_seconds=0.01, close_seconds=0, queue_max=2000, spool_folder=spool
            )
            recorded, ends_at = 0, time.monotonic() + 20
            while recorded < 5000 and time.monotonic() < ends_at:
                if attribution.counts.waiting < 1900:
                    attribution.record("openai", "gpt-4o")
                    recorded += 1
            self.assertEqual((recorded, attribution.counts.lost), (5000, 0))

    def test_calls_of_a_file_are_not_kept_again(self):
        with tempfile.TemporaryDirectory() as spool:
            away = self.attribution("http://127.0.0.1:9", close_seconds=0, spool_folder=spool)
            for _ in range(3):
                away.record("openai", "gpt-4o")
            away.close()

            asked = threading.Event()
            service = Service([202, lambda _: asked.set() or 503, *[503] * 99])
            attribution = self.attribution(service, flush_seconds=0.01, close_seconds=0, spool_folder=spool)
            attribution.record("openai", "gpt-4o")
            self.assertTrue(asked.wait(20))
            attribution.close()
            self.assertEqual((attribution.counts, len(os.listdir(spool))), ((1, 1, 0, 0), 1))

    def test_a_handler_may_want_a_lock_that_a_caller_holds(self):
        lock, is_told, is_done = threading.Lock(), threading.Event(), threading.Event()

        def on_problem(*_):
            is_told.set()
            with lock:
                is_done.set()

        attribution = self.attribution(Service([422]), flush_seconds=0.01, on_problem=on_problem)
        with lock:
            attribution.record("openai", "bad")
            self.assertTrue(is_told.wait(20))
            caller = threading.Thread(target=attribution.record, args=("openai", "gpt-4o"), daemon=True)
            caller.start()
            caller.join(10)
            self.assertFalse(caller.is_alive())
        self.assertTrue(is_done.wait(20))

    def test_a_folder_that_cannot_be_written_keeps_nothing(self):
        attribution = self.attribution("http://127.0.0.1:9", close_seconds=0.1, spool_folder="/proc/none")
        attribution.record("openai", "gpt-4o")
        attribution.close()
        self.assertEqual(attribution.counts, (1, 0, 1, 0))

    def test_nothing_is_raised_into_the_caller(self):
        def fails(*_):
            raise RuntimeError("of the application")

        attribution = self.attribution("http://127.0.0.1:9", on_problem=fails, close_seconds=0.1)
        attribution.record("openai", "gpt-4o", tags=object())
        attribution.record("openai", object())
        attribution.close()
        self.assertEqual(attribution.counts.lost, 2)

    def test_threads_lose_nothing(self):
        service = Service()
        attribution = self.attribution(service)

        def record():
            for _ in range(500):
                attribution.record("openai", "gpt-4o")

        threads = [threading.Thread(target=record) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        self.assertTrue(attribution.flush())
        self.assertEqual(len({event["event_id"] for event in service.events}), 4000)
        self.assertEqual(attribution.counts, (4000, 4000, 0, 0))


if __name__ == "__main__":
    unittest.main()
