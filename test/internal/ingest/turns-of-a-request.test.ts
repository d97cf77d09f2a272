import { expect, test } from 'vitest'
import { adapterRoutes } from '../../../internal/ingest/adapters/adapter-routes.js'
import { GrowingBytes } from '../../../internal/ingest/bodies/growing-bytes.js'
import type { IntakeRequest, IntakeRoute } from '../../../internal/ingest/intake/intake-route.js'
import { otlpRoutes } from '../../../internal/ingest/otlp/otlp-routes.js'
import { asProtobuf } from '../../support/otlp.js'
import { RUNS_BOTH_RINGS } from '../../support/run/rings.js'

/**
 * No body of a legal size holds up others, whatever is in it: each route reads in turns of the event loop. Counted in
 * turns, since times depend on the machine (`npm run bench -- hostile` measures these).
 */

const BODY_BYTES = (RUNS_BOTH_RINGS ? 4 : 1.5) * 1024 * 1024
/** What is kept of a body that one turn may read. */
const KEPT_PER_TURN_MAX = 512 * 1024
const ROUTES = [...otlpRoutes({ dimensionsOf: () => [] }), ...adapterRoutes()]

const CALL =
  '{"id":"a","call_type":"acompletion","model":"gpt-4o","startTime":1,"response":{"usage":{"prompt_tokens":1}}},'
const SPAN = { attributes: [{ key: 'gen_ai.request.model', value: { stringValue: 'gpt-4o' } }] }
const spans = (count: number) => ({ resourceSpans: [{ scopeSpans: [{ spans: Array(count).fill(SPAN) }] }] })

const filled = (unit: string): Buffer => Buffer.alloc(BODY_BYTES, unit)
const JSON_BODIES: readonly (readonly [string, Buffer])[] = [
  ...['{},', '[', '{', '"a",', '1,', '\n', '{"a":1}\n', CALL, `${CALL.slice(0, -1)}\n`].map(
    (unit) => [JSON.stringify(unit), Buffer.concat([Buffer.from('['), filled(unit)])] as const,
  ),
  ['spans', Buffer.from(JSON.stringify(spans(Math.floor(BODY_BYTES / 128))))],
]
const PROTOBUF_BODIES: readonly (readonly [string, Buffer])[] = [
  ['spans', asProtobuf('ExportTraceServiceRequest', spans(Math.floor(BODY_BYTES / 48)))],
  ['empty resources', Buffer.alloc(1024 * 1024, Buffer.from([0x0a, 0]))],
  ['zeros', Buffer.alloc(BODY_BYTES)],
]

async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  const count = (): void => {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  await work()
  clearImmediate(timer)
  return turns
}

async function read(route: IntakeRoute, contentType: string, body: Buffer): Promise<{ kept: number; turns: number }> {
  const caller = { tenantId: 'tnt_a', principal: 'key_a' } as IntakeRequest['caller']
  const request: IntakeRequest = { contentType, caller, receivedAtMs: 0, header: () => '' }
  const copy = route.copy?.({ contentType, caller }, new GrowingBytes())
  if (copy === undefined || 'code' in copy) return { kept: 0, turns: 0 }
  // As it comes from a socket, each part in a turn of its own.
  for (let at = 0; at < body.length; at += 65_536) copy.write(body.subarray(at, at + 65_536), at + 65_536)
  copy.end()
  const { written } = copy.kept
  let isRead = false
  const turns = await turnsOf(async () => {
    isRead = (await route.read(written, request, copy)).kind === 'events'
  })
  // What is refused at once costs nothing.
  return { kept: isRead ? written.length : 0, turns }
}

test.each(ROUTES.map((route) => [route.path, route] as const))('%s reads any body in turns', async (_, route) => {
  for (const [type, bodies] of [
    ['application/json', JSON_BODIES],
    ['application/x-protobuf', PROTOBUF_BODIES],
  ] as const) {
    for (const [name, body] of bodies) {
      const { kept, turns } = await read(route, type, body)
      expect(turns, `${type} of ${name}`).toBeGreaterThanOrEqual(Math.floor(kept / KEPT_PER_TURN_MAX))
    }
  }
})
