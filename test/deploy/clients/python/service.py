"""The service on loopback: takes events, and answers as a test says."""

import http.server
import json
import threading


class Service:
    def __init__(self, answers=()):
        """`answers`: statuses of the first requests, or functions from their events to one; then 202."""
        self.events = []
        self.requests = 0
        self._answers = list(answers)
        self._changed = threading.Condition()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = service._take([json.loads(line) for line in body.split(b"\n")])
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b'{"rejected":0}')

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def _take(self, events):
        with self._changed:
            self.requests += 1
            answer = self._answers.pop(0) if self._answers else 202
            status = answer(events) if callable(answer) else answer
            if status == 202:
                self.events += events
            self._changed.notify_all()
            return status

    def wait_for(self, count, seconds=20):
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.events) >= count, seconds):
                raise AssertionError("%d events instead of %d: %s" % (len(self.events), count, self.events))
            return self.events

    def close(self):
        self._server.shutdown()
        self._server.server_close()
