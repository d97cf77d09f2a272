import logging
import os
import tempfile
import threading
import unittest

from attribution_service import Attribution
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
