import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { type Posted, postTo, wireEvent } from '../support/gateway.js'
import { drawn } from '../support/run/rings.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

/** ATTRIBUTION_TEST_RUNS=20 takes some minutes. */
const RUNS = Number(process.env['ATTRIBUTION_TEST_RUNS'] ?? drawn(10))
const KEYS = 4
const EVENTS = 4

let service: RunningService
let client: ServiceClient

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
})

afterAll(async () => {
  await client.close()
  await service.stop()
})

/** A request, by its number among the keys, the events, and the bodies of one event. */
interface Request {
  readonly key: number
  readonly event: number
  readonly variant: number
}

type Step =
  | { readonly kind: 'send'; readonly requests: readonly Request[] }
  | { readonly kind: 'kill'; readonly role: string; readonly meanwhile: readonly Request[] }

const request: fc.Arbitrary<Request> = fc.record({
  key: fc.nat(KEYS - 1),
  event: fc.nat(EVENTS - 1),
  variant: fc.nat(1),
})
const requests = fc.array(request, { minLength: 1, maxLength: 12 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), requests }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      role: fc.constantFrom('gateway', 'nats', 'attributor', 'store'),
      meanwhile: requests,
    }),
  },
)

test('any mix of duplicates, conflicts and restarts leaves one effect per key and one record per event', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const keys = Array.from({ length: KEYS }, () => randomUUID())
      const eventIds = Array.from({ length: EVENTS }, () => randomUUID())
      const bodyOf = ({ event, variant }: Request): string =>
        JSON.stringify(wireEvent({ event_id: eventIds[event], requested_model: `model-${variant}` }))
      const answers: { readonly request: Request; readonly body: string; readonly answer: Posted }[] = []

      /** Until it is answered for good: a cut connection and a 503 are repeated as they were. */
      const deliver = async (sent: Request): Promise<void> => {
        const body = bodyOf(sent)
        for (;;) {
          const answer = await postTo(
            `${service.baseUrl}/api/v1/invocations`,
            service.credentials.api_key,
            body,
            keys[sent.key] as string,
          ).catch(() => undefined)
          if (answer !== undefined && answer.status !== 503) {
            answers.push({ request: sent, body, answer })
            return
          }
          await sleep(50)
        }
      }
      for (const now of steps) {
        if (now.kind === 'send') {
          await Promise.all(now.requests.map(deliver))
          continue
        }
        const sending = Promise.all(now.meanwhile.map(deliver))
        await killRole(service, now.role)
        await sending
      }

      expect(answers.filter(({ answer: { status } }) => status !== 202 && status !== 422)).toEqual([])
      for (const [key] of keys.entries()) {
        const ofKey = answers.filter((one) => one.request.key === key)
        const taken = ofKey.filter(({ answer }) => answer.status === 202)
        // One body was taken under the key, and all its senders got the same answer.
        expect(new Set(taken.map(({ body }) => body)).size).toBe(ofKey.length === 0 ? 0 : 1)
        expect(new Set(taken.map(({ answer }) => answer.text)).size).toBe(ofKey.length === 0 ? 0 : 1)
        for (const { body, answer } of ofKey) {
          if (answer.status === 202) continue
          expect(JSON.parse(answer.text)).toMatchObject({ error_code: 'IDEMPOTENCY_CONFLICT' })
          expect(body).not.toBe(taken[0]?.body)
        }
      }
      const wanted = new Set(
        answers
          .filter(({ answer }) => answer.status === 202)
          .map(({ answer }) => (JSON.parse(answer.text) as { invocation_id: string }).invocation_id),
      )
      let found: string[] = []
      do {
        found = (await allRecords(client)).map(({ invocation_id }) => invocation_id).filter((id) => wanted.has(id))
      } while (new Set(found).size < wanted.size)
      expect(found.length).toBe(wanted.size)
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
}, 600_000)
