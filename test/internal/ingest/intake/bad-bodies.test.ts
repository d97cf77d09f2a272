import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../../support/fuzz.js'
import { type IntakeGateway, postIntake, startIntakeGateway } from '../../../support/intake-gateway.js'
import {
  apimPayload,
  bedrockPayload,
  cloudEventPayload,
  envoyPayload,
  kongPayload,
  portkeyPayload,
} from '../adapters/gateway-payloads.js'
import { CANARY, litellmPayload } from '../adapters/litellm-payload.js'

let gateway: IntakeGateway

beforeAll(async () => {
  gateway = await startIntakeGateway({ ingestPerSecond: 10_000_000 })
})

afterAll(() => gateway.stop())

const BODIES = [
  ['/intake/litellm', litellmPayload()],
  ['/intake/kong', kongPayload()],
  ['/intake/envoy', envoyPayload()],
  ['/intake/portkey', portkeyPayload()],
  ['/intake/bedrock-log', bedrockPayload()],
  ['/intake/apim', apimPayload()],
  ['/intake/cloudevents', cloudEventPayload()],
] as const

const GZIP = { 'content-encoding': 'gzip' }
const bomb = gzipSync(Buffer.alloc(96 * 1024 * 1024, '['))
const deep = (depth: number): Buffer => Buffer.from(`[{"messages":${'['.repeat(depth)}`)

/** A body that is broken in one of many ways. */
const broken = fc
  .record({
    which: fc.constantFrom(...BODIES),
    how: fc.constantFrom('cut', 'flip', 'cut gzip', 'flip gzip', 'bomb', 'deep', 'noise', 'doubled', 'wrong type'),
    at: fc.nat(),
    noise: fc.uint8Array({ maxLength: 300 }),
    count: fc.integer({ min: 1, max: 3 }),
    odd: fc.jsonValue({ maxDepth: 2 }),
  })
  .map(({ which: [path, payload], how, at, noise, count, odd }) => {
    const names = Object.keys(payload)
    const value = how === 'wrong type' ? { ...payload, [names[at % names.length] ?? '']: odd } : payload
    const whole = Buffer.from(JSON.stringify(Array(count).fill(value)))
    const packed = gzipSync(whole)
    const flipped = (bytes: Buffer): Buffer => {
      const copy = Buffer.from(bytes)
      copy[at % copy.length] = noise[0] ?? 0
      return copy
    }
    switch (how) {
      case 'cut':
        return { path, how, headers: {}, body: whole.subarray(0, at % whole.length) }
      case 'flip':
        return { path, how, headers: {}, body: flipped(whole) }
      case 'cut gzip':
        return { path, how, headers: GZIP, body: packed.subarray(0, at % packed.length) }
      case 'flip gzip':
        return { path, how, headers: GZIP, body: flipped(packed) }
      case 'bomb':
        return { path, how, headers: GZIP, body: at % 10 === 0 ? bomb : packed.subarray(1) }
      case 'deep':
        return { path, how, headers: {}, body: deep(at % 5_000) }
      case 'noise':
        return { path, how, headers: at % 2 === 0 ? {} : GZIP, body: Buffer.from(noise) }
      case 'doubled':
        return { path, how, headers: {}, body: Buffer.concat([whole, whole.subarray(at % whole.length)]) }
      default:
        return { path, how, headers: {}, body: whole }
    }
  })

const ids = new Set<string>()

test(
  'thousands of broken bodies have clear answers, and leave nothing half-taken',
  async () => {
    const statuses = new Map<number, number>()
    await fc.assert(
      fc.asyncProperty(broken, async ({ path, body, headers }) => {
        const { status, headers: answered, json } = await postIntake(gateway, path, body, headers)

        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        expect([200, 400, 413]).toContain(status)
        expect(answered.get('ratelimit-limit')).not.toBeNull()
        expect(JSON.stringify(json)).not.toContain(CANARY)
        if (status === 200) {
          const { received, accepted, duplicates, rejected, skipped } = json as Record<string, number>
          const others = Object.values((skipped ?? {}) as unknown as Record<string, number>)
          expect(
            (accepted ?? 0) + (duplicates ?? 0) + (rejected ?? 0) + others.reduce((sum, one) => sum + one, 0),
          ).toBe(received)
        } else {
          expect(answered.get('content-type')).toBe('application/problem+json')
          expect(json).toMatchObject({ status, detail: expect.any(String), error_code: expect.any(String) })
        }
      }),
      { numRuns: FUZZ_CASES },
    )

    for (const { event_id } of gateway.events()) {
      expect(ids.has(event_id), 'one call, one event').toBe(false)
      ids.add(event_id)
    }
    expect(JSON.stringify(gateway.events())).not.toContain(CANARY)
    expect([...statuses.keys()].sort()).toEqual([200, 400, 413])
  },
  FUZZ_MS_MAX,
)
