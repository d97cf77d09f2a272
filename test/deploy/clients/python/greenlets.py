"""The client where gevent makes greenlets of threads, and OpenAI's client waits in them. PROVIDER answers."""

import os
import signal
import subprocess
import sys
import unittest

from service import Service

BEGIN = """
from gevent import monkey
monkey.patch_all()
import gevent, multiprocessing, os, signal, sys
from attribution_service import Attribution
from openai import OpenAI
attribution = Attribution(sys.argv[1], "k", flush_seconds=60, close_seconds=5)
client = attribution.wrap(OpenAI(base_url=os.environ["PROVIDER"], api_key="k", max_retries=0))
def call(name, model="gpt-4o", **options):
    with attribution.context(identity=name):
        return client.chat.completions.create(model=model, messages=[{"role": "user", "content": "hi"}], **options)
def stream(name):
    for part in call(name, stream=True):
        gevent.sleep(0)
def run(*greenlets):
    gevent.joinall(greenlets, raise_error=True)
run(*(gevent.spawn(task, name) for task, name in zip([call, stream] * 5, "abcdefghij")))
"""
CALLED = [(name, "success") for name in "abcdefghij"]


class Greenlets(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.close)

    def run_script(self, script, code=0, url=None):
        process = subprocess.run([sys.executable, "-c", BEGIN + script, url or self.service.url], timeout=60)
        self.assertEqual(process.returncode, code)
        return sorted((event["attributed_identity"], event["outcome"]) for event in self.service.events)

    def test_each_call_is_sent_by_a_flush(self):
        script = "assert attribution.flush(); assert attribution.counts == (10, 10, 0, 0); os._exit(0)"
        self.assertEqual(self.run_script(script), CALLED)

    def test_what_waits_is_sent_when_the_program_ends(self):
        self.assertEqual(self.run_script(""), CALLED)

    def test_a_program_ends_in_time_without_the_service(self):
        script = "attribution._close_seconds = 0.2; assert not attribution.flush(0.2)"
        self.run_script(script, url="http://127.0.0.1:9")

    def test_a_call_whose_greenlet_is_killed_is_cancelled(self):
        script = """
def leave(reader):
    for part in call("open", "endless", stream=True): reader.set()
reader = gevent.event.Event()
left = gevent.spawn(leave, reader)
reader.wait()
left.kill()
"""
        self.assertEqual(self.run_script(script), [*CALLED, ("open", "cancelled")])

    def test_a_signal_sends_what_waits_in_a_greenlet_and_in_the_loop(self):
        at_once = "os.kill(os.getpid(), signal.SIGTERM)"
        in_loop = "gevent.get_hub().loop.run_callback(os.kill, os.getpid(), signal.SIGTERM)"
        for script in (at_once, in_loop):
            self.service.events.clear()
            self.assertEqual(self.run_script(script + "\ngevent.sleep(30)", -signal.SIGTERM), CALLED)

    def test_a_process_of_multiprocessing_sends_its_own(self):
        script = """
child = multiprocessing.get_context("fork").Process(target=call, args=("k",))
child.start()
child.join(20)
code = child.exitcode
child.kill()
sys.exit(code)
"""
        self.assertEqual(self.run_script(script), [*CALLED, ("k", "success")])


if __name__ == "__main__":
    unittest.main()
