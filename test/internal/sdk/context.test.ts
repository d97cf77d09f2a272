import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as later } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Attribution } from '../../../internal/sdk/attribution.js'
import { recordedCalls } from '../../support/recorded-calls.js'
import { atEnd } from '../../support/run/at-end.js'

let sent: Record<string, unknown>[]
let attribution: Attribution
beforeEach(() => {
  ;({ attribution, sent } = recordedCalls({ service: 'shop', tags: { team: 'core' } }))
})

const answer = async () => Response.json({ usage: { input_tokens: 1 } })
async function call(headers: Record<string, string> = {}) {
  const init = { method: 'POST', body: '{"model":"gpt-4o"}', headers }
  return (
    await attribution.fetch({ tags: { client: 'a' } }, answer)('https://api.openai.com/v1/responses', init)
  ).json()
}

test('calls belong to the scope that they are made in, also at once and after waiting', async () => {
  const inScope = (identity: string) =>
    attribution.context({ identity, session: `s-${identity}` }, async () => {
      await later()
      await attribution.context({ service: 'search', tags: { step: '1' } }, call)
    })
  await Promise.all([inScope('ann'), inScope('bob'), call()])
  await attribution.flush()

  const tags = { team: 'core', client: 'a' }
  expect(sent).toHaveLength(3)
  for (const identity of ['ann', 'bob']) {
    expect(sent).toContainEqual(
      expect.objectContaining({
        attributed_service: 'search',
        attributed_identity: identity,
        tags: { ...tags, step: '1', session_id: `s-${identity}` },
      }),
    )
  }
  expect(sent).toContainEqual(expect.objectContaining({ attributed_service: 'shop', tags }))
})

test('a call that states who made it belongs to them, whatever its scope says', async () => {
  attribution.context({ identity: 'ann', service: 'search' }, () =>
    attribution.record({ provider: 'openai', requested_model: 'claude-sonnet-4-5[1m]' }, { identity: 'bob' }),
  )
  await attribution.flush()

  const model = 'claude-sonnet-4-5_1m_'
  expect(sent).toMatchObject([{ attributed_identity: 'bob', attributed_service: 'search', requested_model: model }])
})

test('a scope holds a serverless function until its calls have been sent', async () => {
  let held: Promise<void> | undefined
  const waitUntil = (sending: Promise<void>) => {
    held = sending
  }
  await attribution.context({ waitUntil }, call)
  await held

  expect(sent).toHaveLength(1)
})

describe('the trace of a call', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const SPAN = '00f067aa0ba902b7'

  test('is that of the active span of OpenTelemetry', async () => {
    const spans = new AsyncLocalStorage<object>()
    const key = Symbol.for('opentelemetry.js.api.1')
    const globals = globalThis as unknown as Record<symbol, unknown>
    const before = globals[key]
    atEnd(() => {
      globals[key] = before
    })
    globals[key] = { context: { active: () => ({ getValue: () => spans.getStore() }) } }
    await spans.run({ spanContext: () => ({ traceId: TRACE, spanId: SPAN }) }, call)
    await spans.run({ spanContext: () => ({ traceId: '0'.repeat(32), spanId: '0'.repeat(16) }) }, call)
    await attribution.flush()

    expect(sent[0]).toMatchObject({ trace_id: TRACE, parent_span_id: SPAN })
    expect(sent[1]).not.toHaveProperty('trace_id')
  })

  test('is else that which its request passes on', async () => {
    await call({ traceparent: `00-${TRACE}-${SPAN}-01` })
    await attribution.flush()

    expect(sent).toMatchObject([{ trace_id: TRACE, parent_span_id: SPAN }])
  })
})
