import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { hashIdempotencyKey } from '../../internal/ids/key-hash.js'
import { sipHash128, sipKey } from '../../internal/ids/siphash.js'
import { BodyFingerprint } from '../../internal/ingest/keys/body-fingerprint.js'
import { type Spread, spread } from '../statistics.js'

/** Nanoseconds a call, of five repeats. */
export interface Hashes {
  readonly body_bytes: number
  readonly body_fingerprint: Spread
  readonly body_siphash_2_4: Spread
  readonly body_sha256: Spread
  readonly key_hash: Spread
}

const BODY_BYTES = 400
/** As they come from the network: each in a buffer of its own, at any offset. */
const BODIES = 256
const REPEATS = 5

export function measureHashes(): Hashes {
  const bodies = Array.from({ length: BODIES }, (_, i) =>
    Buffer.from(randomBytes(BODY_BYTES + (i % 9)).buffer.slice(0)).subarray(i % 9, (i % 9) + BODY_BYTES),
  )
  const texts = Array.from({ length: BODIES }, () => randomUUID())
  const fingerprints = new BodyFingerprint(randomBytes(16))
  const sip = sipKey(randomBytes(16))
  const two = new Int32Array(2)
  const four = new Int32Array(4)
  const sixteen = new Uint8Array(16)
  const bodyAt = (i: number): Buffer => bodies[i % BODIES] ?? Buffer.alloc(0)

  return {
    body_bytes: BODY_BYTES,
    body_fingerprint: nsPerCall(300_000, (i) => fingerprints.of(bodyAt(i), two)),
    body_siphash_2_4: nsPerCall(100_000, (i) => sipHash128(sip, bodyAt(i), sixteen)),
    body_sha256: nsPerCall(100_000, (i) => createHash('sha256').update(bodyAt(i)).digest()),
    key_hash: nsPerCall(300_000, (i) => hashIdempotencyKey(sip, 0, texts[i % BODIES] ?? '', four)),
  }
}

function nsPerCall(calls: number, call: (i: number) => void): Spread {
  const times: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    const startedMs = performance.now()
    for (let i = 0; i < calls; i++) call(i)
    // The first round is the warm-up.
    if (repeat > 0) times.push(((performance.now() - startedMs) * 1e6) / calls)
  }
  return spread(times)
}
