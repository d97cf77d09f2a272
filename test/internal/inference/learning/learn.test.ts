import { expect, test } from 'vitest'
import { splitByTime } from '../../../../internal/inference/learning/examples.js'
import { learn } from '../../../../internal/inference/learning/learn.js'
import { NO_DIRECTORY } from '../../../../internal/inference/learning/views.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'
import { CHAT, recordsOf, type TrafficEvent, traffic } from './traffic.js'

function labelGainOf(events: readonly TrafficEvent[]): number | undefined {
  const { training, validation, classes } = splitByTime(recordsOf(events))
  expect(classes.map(({ service }) => service)).toEqual([CHAT.service])
  return learn(training, classes, { seed: 1, directory: NO_DIRECTORY, later: validation.resolved }).labelGain
}

/** Calls of chat, and of others of which each has too few to be a class. */
const events = traffic(2_000, 'one class', { withShadow: true }).map((event, i): TrafficEvent => {
  if (!event.isLabelled || event.truth === CHAT) return event
  return { ...event, truth: { ...event.truth, service: `${event.truth.service} ${i % 60}` } }
})

test('labels of one class and of others gain by what calls show, unless they are dealt anew', () => {
  const random = seededRandom('dealt')
  const labels = events.filter(({ isLabelled }) => isLabelled).map(({ truth }) => truth)
  for (let i = labels.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[labels[i], labels[j]] = [labels[j] as typeof CHAT, labels[i] as typeof CHAT]
  }
  const dealt = events.map((event) => (event.isLabelled ? { ...event, truth: labels.pop() as typeof CHAT } : event))

  expect(labelGainOf(events)).toBeGreaterThan(5)
  expect(labelGainOf(dealt)).toBeLessThan(2)
})

test('a few calls of others say nothing of the labels', () => {
  let others = 0
  const few = events.filter(({ truth, isLabelled }) => !isLabelled || truth === CHAT || ++others <= 15)

  expect(labelGainOf(few)).toBeUndefined()
})
