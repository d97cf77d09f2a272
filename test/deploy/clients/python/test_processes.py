import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from service import Service

BEGIN = """
import multiprocessing, os, signal, sys, threading, time
from attribution_service import Attribution
attribution = Attribution(sys.argv[1], "k", flush_seconds=60, close_seconds=5)
def record(name):
    attribution.record("openai", name)
    return name
"""


class Processes(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.close)

    def run_script(self, script, code=0, url=None):
        process = subprocess.run([sys.executable, "-c", BEGIN + script, url or self.service.url], timeout=60)
        self.assertEqual(process.returncode, code)
        return sorted(event["requested_model"] for event in self.service.events)

    def test_what_waits_is_sent_when_the_program_ends(self):
        for script, code in (
            ("record('a')", 0),
            ("record('a'); sys.exit(3)", 3),
            ("record('a'); raise SystemError", 1),
        ):
            self.service.events.clear()
            self.assertEqual(self.run_script(script, code), ["a"])

    def test_a_signal_sends_what_waits_and_ends_the_program_as_before(self):
        for script in ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)", "signal.raise_signal(signal.SIGTERM)"):
            self.service.events.clear()
            self.assertEqual(self.run_script("record('a')\n" + script, -signal.SIGTERM), ["a"])

    def test_a_handler_of_the_application_stays(self):
        script = (
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); record('a'); signal.raise_signal(signal.SIGTERM)"
        )
        self.assertEqual(self.run_script(script, 7), ["a"])

    def test_a_program_ends_in_time_without_the_service(self):
        self.run_script("attribution._close_seconds = 0.2; record('a')", url="http://127.0.0.1:9")

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_forked_child_sends_its_own_calls_and_only_those(self):
        script = """
record("waits")
child = os.fork()
if child == 0:
    record("child")
    sys.exit(0)
os.waitpid(child, 0)
record("parent")
"""
        self.assertEqual(self.run_script(script), ["child", "parent", "waits"])

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_child_is_forked_while_threads_record(self):
        script = """
threads = [threading.Thread(target=lambda: [record("parent") for _ in range(200)]) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        record("child"); attribution.flush(); os._exit(0)
    os.waitpid(child, 0)
for thread in threads: thread.join()
"""
        self.assertEqual(self.run_script(script), ["child"] * 5 + ["parent"] * 800)

    def test_workers_of_pools_send_theirs(self):
        script = """
if __name__ == "__main__":
    record("waits")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(record, list("abcd")); pool.close(); pool.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(record, list("efgh"))
"""
        self.assertEqual(self.run_script(script), [*"abcdefgh", "waits"])

    def test_workers_of_pools_keep_theirs_while_the_service_is_away(self):
        with tempfile.TemporaryDirectory() as folder:
            script = """
if __name__ == "__main__":
    attribution = Attribution(sys.argv[1], "k", flush_seconds=60, close_seconds=0.1, spool_folder=%r)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(record, list("ab")); pool.close(); pool.join()
"""
            self.run_script(script % folder, url="http://127.0.0.1:9")
            (name,) = os.listdir(folder)
            with open(os.path.join(folder, name)) as file:
                self.assertEqual([json.loads(line)["requested_model"] for line in file], ["a", "b"])

    def test_the_first_process_of_a_container_goes_on_after_a_signal(self):
        # The kernel takes no notice of a signal that it does not handle.
        script = """
os.getpid, os.kill = lambda: 1, lambda *_: None
for name in "ab":
    record(name)
    signal.raise_signal(signal.SIGTERM)
    assert attribution.counts == (ord(name) - 96, ord(name) - 96, 0, 0)
"""
        self.assertEqual(self.run_script(script), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
