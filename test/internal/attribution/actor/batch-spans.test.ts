import { expect, test } from 'vitest'
import { BatchSpans, LINKS_MAX, linksOf } from '../../../../internal/attribution/actor/batch-spans.js'
import { traceparentOf } from '../../../../internal/telemetry/spans/trace-context.js'
import { admitted, idOf } from '../../../support/invocations.js'
import { batchOf } from '../../../support/stages.js'

const context = (number: number) => ({
  traceId: number.toString(16).padStart(32, 'a'),
  spanId: number.toString(16).padStart(16, 'b'),
})
const event = (number: number, traceparent?: string, invocation = {}) =>
  admitted({ id: idOf(number), traceparent, invocation })

test('a batch links to the request of each sampled event, and to the call that the event names, each once', () => {
  const [request, call] = [context(1), context(2)]
  const traceparent = traceparentOf(request)
  const links = linksOf([
    event(1, traceparent, call),
    event(2, traceparent, { traceId: 'workflow-7', spanId: 'step-1' }),
    event(3, traceparent, call),
    // Not sampled: its own ids do not count.
    event(4, undefined, context(3)),
    // From a process that writes something else.
    event(5, 'text'),
  ])

  expect(links.to).toMatchObject([request, call])
  expect(links).toMatchObject({ to: { length: 2 }, dropped: 0 })
})

test('links have a bound; the others are counted', () => {
  const events = Array.from({ length: LINKS_MAX + 5 }, (_, i) => event(i, traceparentOf(context(i + 1))))

  expect(linksOf(events)).toMatchObject({ to: { length: LINKS_MAX }, dropped: 5 })
})

test('a batch without a sampled event has no span', () => {
  const traced = { messages: 1, bytes: 1, dispositions: [], isRepeat: false, startMs: 0 }

  expect(BatchSpans.of({ ...traced, batch: batchOf('a', [event(1), event(2)]) })).toBeUndefined()
  expect(
    BatchSpans.of({ ...traced, batch: batchOf('a', [event(1), event(2, traceparentOf(context(1)))]) }),
  ).toBeDefined()
})
