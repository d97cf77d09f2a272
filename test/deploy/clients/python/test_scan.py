import json
import random
import unittest

from attribution_service._scan import Scanner

SAID = 'a "secret" \\ {"usage":{"input_tokens":9}} [DONE]\n é'
USAGE = {"input_tokens": 5, "details": {"cached": 2}, "tier": "flex"}


def found_in(parts, is_stream=False):
    answers = []
    scanner = Scanner(lambda stated, usage: answers.append((stated, usage and json.loads(usage))), is_stream)
    for part in parts:
        scanner.feed(part)
    return answers


def cut(data, at):
    return [data[begin:end] for begin, end in zip([0] + at, at + [len(data)])]


ANSWERS = [
    {"id": "a", "model": "m", "choices": [{"text": SAID, "usage": {"input_tokens": 9}}], "usage": USAGE},
    {"usage": USAGE, "content": [SAID] * 50, "model": "m", "id": "a", "embedding": [0.5] * 500},
    {"type": "response.completed", "response": {"id": "a", "text": SAID, "usage": USAGE, "model": "m"}, "id": "x"},
    {"custom_id": "1", "result": {"type": "succeeded", "message": {"id": "a", "model": "m", "usage": USAGE}}},
    {"metadata": {"usage": {"input_tokens": 9}, "model": "other"}, "id": "a", "model": "m", "usage": USAGE},
]


class Scan(unittest.TestCase):
    def test_finds_the_same_wherever_the_bytes_are_cut(self):
        draw = random.Random(1)
        for answer in ANSWERS:
            for indent in (None, 2):
                data = json.dumps(answer, indent=indent, ensure_ascii=draw.random() < 0.5).encode()
                for _ in range(200):
                    at = sorted(draw.randrange(len(data)) for _ in range(draw.randrange(1, 12)))
                    ((stated, usage),) = found_in(cut(data, at))
                    self.assertEqual((stated["id"], stated["model"], usage), ("a", "m", USAGE))

    def test_finds_the_same_byte_by_byte(self):
        for answer in ANSWERS:
            data = json.dumps(answer).encode()
            ((stated, usage),) = found_in([data[at : at + 1] for at in range(len(data))])
            self.assertEqual((stated["id"], stated["model"], usage), ("a", "m", USAGE))

    def test_each_line_element_and_event_is_an_answer(self):
        lines = b"\n".join(json.dumps(answer).encode() for answer in ANSWERS)
        events = b"".join(b"event: x\ndata: " + json.dumps(answer).encode() + b"\n\n" for answer in ANSWERS)
        for data in (lines, json.dumps(ANSWERS).encode(), events):
            self.assertEqual([usage for _, usage in found_in([data])], [USAGE] * len(ANSWERS))

    def test_steps_over_the_events_of_a_stream_that_say_nothing_of_it(self):
        for nothing in (b"", b',"usage":null', b', "usage": null'):
            word = b'data: {"id":"a","choices":[{"delta":"word"}]%s}\n\n' % nothing
            data = word * 3 + b'data: {"id":"a","x":{"usage":null},"usage":{"n":1}}\n\ndata: [DONE]\n\n'
            self.assertEqual(found_in([data], True), [({"id": "a"}, None), ({"id": "a"}, {"n": 1})])

    def test_keeps_nothing_of_what_was_said(self):
        kept = []
        scanner = Scanner(lambda stated, usage: None)
        opening = b'{"id":"a","choices":[{"text":"'
        for part in [opening] + [b"a word and \\" + b'"more' * 1000] * 1000:
            scanner.feed(part)
            kept.append(len(scanner._held))
        self.assertLess(max(kept), 1024)

    def test_takes_any_bytes(self):
        draw = random.Random(2)
        marks = [
            b'"',
            b"\\",
            b"{",
            b"}",
            b"[",
            b"]",
            b":",
            b'"usage"',
            b'"id"',
            b"\n",
            b"x" * 600,
            b"data: ",
            b",",
            b"1",
        ]
        for _ in range(3000):
            scanner = Scanner(lambda stated, usage: None, draw.random() < 0.5)
            for _ in range(draw.randrange(40)):
                scanner.feed(draw.choice(marks))


if __name__ == "__main__":
    unittest.main()
