import { describe, expect, test } from 'vitest'
import { isUuid } from '../../../../internal/ids/ids.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { DEMO_IDENTITIES, DEMO_SERVICES, demoEvent } from '../../../../internal/local/replay/demo-company.js'
import { FIXED_EVENT_IDS, uuidV5 } from '../../../../internal/local/replay/trace.js'
import { NOW_MS } from '../../../support/invocations.js'
import { TRACE } from '../../../support/trace.js'

const SAMPLE = TRACE.filter((_, i) => i % 10 === 0)
const serviceNames = new Set(DEMO_SERVICES.map(({ name }) => name))
const statedNames = new Set(DEMO_SERVICES.flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]))

describe('the event of a trace row', () => {
  test('the event of a trace row depends on the row only', () => {
    const forwards = SAMPLE.map(demoEvent)
    const backwards = SAMPLE.toReversed().map(demoEvent).toReversed()

    expect(backwards).toEqual(forwards)
  })

  test('the events of trace rows are the same as in earlier releases', () => {
    const [first] = TRACE

    expect(first && demoEvent(first)).toMatchInlineSnapshot(`
      {
        "ingestion_layer": "application",
        "input_tokens": 374,
        "latency_ms": 1212,
        "output_tokens": 44,
        "provider": "openai",
        "requested_model": "gpt-4o-mini",
      }
    `)
  })

  test('the event of a trace row does not depend on its time or token counts', () => {
    const [first] = TRACE
    if (first === undefined) throw new Error('the trace is empty')
    const { latency_ms, input_tokens, output_tokens, ...who } = demoEvent(first)

    const later = demoEvent({ ...first, arrivedAtMs: 0, inputTokens: 1, outputTokens: 2 })

    expect(later).toMatchObject({ ...who, input_tokens: 1, output_tokens: 2 })
  })

  test('the demo company has services for the kinds of the trace only', () => {
    const [first] = TRACE

    expect(() => first && demoEvent({ ...first, kind: 'images' })).toThrow('images')
  })

  test('the events of trace rows pass the validation of admission', () => {
    for (const row of SAMPLE) {
      const event = {
        event_id: uuidV5(FIXED_EVENT_IDS, row.rowId),
        ingestion_timestamp: new Date(row.arrivedAtMs).toISOString(),
        ...demoEvent(row),
      }

      expect(validateInvocation(event, NOW_MS)).toMatchObject({ ok: true, unknownFields: 0 })
      expect(isUuid(event.event_id)).toBe(true)
    }
  })

  test('the events of trace rows state every service, some by an alias, and some an unknown service', () => {
    const events = TRACE.map(demoEvent)
    const stated = new Set(events.map(({ attributed_service }) => attributed_service))

    expect(stated).toEqual(new Set([...statedNames, undefined]))
    const unresolved = events.filter(
      (event) => event['attributed_service'] === undefined && event['attributed_identity'] === undefined,
    )
    expect(unresolved.length / events.length).toBeCloseTo(0.07, 1)
  })
})

describe('the directory of the company', () => {
  test('the directory has each service once, and no alias that is also a name', () => {
    expect(serviceNames.size).toBe(DEMO_SERVICES.length)
    expect(statedNames.size).toBe(DEMO_SERVICES.reduce((sum, { aliases }) => sum + 1 + (aliases?.length ?? 0), 0))
  })

  test('the directory assigns each identity to one existing service', () => {
    expect(new Set(DEMO_IDENTITIES.map(({ name }) => name)).size).toBe(DEMO_IDENTITIES.length)
    for (const { service } of DEMO_IDENTITIES) expect(serviceNames).toContain(service)
  })
})
