import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { WAS_BULK } from '../../../../internal/gateway/admission/admission.js'
import {
  type AdmissionGateway,
  type AdmissionGatewayOptions,
  startAdmissionGateway,
} from '../../../support/admission-gateway.js'
import { type Posted, wireEvent } from '../../../support/gateway.js'

let gateway: AdmissionGateway
const start = async (options?: AdmissionGatewayOptions): Promise<void> => {
  gateway = await startAdmissionGateway(options)
}
afterEach(() => gateway.stop())

const event = (fields?: Record<string, unknown>): string => JSON.stringify(wireEvent(fields))
const ndjson = { 'content-type': 'application/x-ndjson' }
const gzip = { 'content-encoding': 'gzip' }
const verdictOf = ({ status, isReplay, text }: Posted): unknown => [
  status,
  status === 202 ? isReplay : (JSON.parse(text) as { error_code: string }).error_code,
]
const CONFLICT = [422, 'IDEMPOTENCY_CONFLICT']

test.each([
  ['many lines, then one event', `${event()}\n${event()}\n`, ndjson, {}],
  ['one line, then one event', event(), ndjson, {}],
  ['one event, then one line', event(), {}, ndjson],
  ['an array, then a line', `[${event()}]`, {}, ndjson],
  ['gzip, then as it is', gzipSync(event()), gzip, {}],
  ['gzip of lines, then of one event', gzipSync(event()), { ...gzip, ...ndjson }, gzip],
])('the same bytes under one key, to be read in another way, are another body: %s', async (_, body, first, second) => {
  await start()
  const key = randomUUID()

  const taken = await gateway.post(body, key, first)
  const other = await gateway.post(body, key, second)
  const again = await gateway.post(body, key, first)

  expect([verdictOf(taken), verdictOf(other), verdictOf(again)]).toEqual([[202, false], CONFLICT, [202, true]])
})

test.each([
  ['no event', `${event()}\n${event()}`],
  ['no object', '7'],
  ['an event without an id', event({ event_id: undefined })],
  ['an event whose id is no UUID', event({ event_id: '7' })],
])('a key that the read model says was admitted with a body that holds %s: 422', async (_, body) => {
  const key = randomUUID()
  await start({ recorded: [{ key, body, flags: WAS_BULK }] })

  const answers = [await gateway.post(body, key), await gateway.post(event(), randomUUID())]

  expect(answers.map(verdictOf)).toEqual([CONFLICT, [202, false]])
})
