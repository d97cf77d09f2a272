import { expect, test } from 'vitest'
import type { EventFacts } from '../../../../../internal/attribution/inference/learning/features.js'
import { identityLogs } from '../../../../../internal/attribution/inference/learning/known-classes.js'

const statedBy = (identityHash: string | undefined): EventFacts => ({
  eventTimeMs: 0,
  provider: 'openai',
  model: 'small',
  ingestionLayer: 'application',
  principal: 'key-1',
  identityHash,
})

test('an identity speaks for the classes whose events state it, by their own numbers and not by how frequent they are', () => {
  const [ofFrequent, ofRare, anonymous] = [900, 100, 500]
  const facts = [
    ...Array<EventFacts>(ofFrequent).fill(statedBy('frequent')),
    ...Array<EventFacts>(ofRare).fill(statedBy('rare')),
    ...Array<EventFacts>(anonymous).fill(statedBy(undefined)),
  ]
  const logs = identityLogs(
    {
      facts,
      label: Uint16Array.from(facts, ({ identityHash }) => Number(identityHash === 'rare')),
      weight: new Float64Array(facts.length).fill(1),
    },
    3,
  )

  expect([...logs.keys()]).toEqual(['frequent', 'rare'])
  const [frequent, rare] = [...logs.values()] as [Float64Array, Float64Array]
  expect(frequent[0]).toBeGreaterThan(0)
  expect(frequent[1]).toBeLessThan(-2)
  expect(rare[0]).toBeLessThan(-2)
  expect(rare[1]).toBeGreaterThan(2)
  // A class of which no event states anybody is neither likelier nor less likely.
  expect([frequent[2], rare[2]]).toEqual([0, 0])
})
