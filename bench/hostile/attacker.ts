/** One attack, in a thread of its own until that is ended: what it costs here delays nothing that is measured. */
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { connectService } from '../../internal/local/replay/client.js'
import { ATTACKS, type Target } from './attacks.js'

export interface Order {
  readonly attack: string
  readonly target: Target
}

const STRIKES_AT_ONCE = 4

const { attack, target } = workerData as Order
const hostile = { ...target, client: connectService(target.baseUrl, target.secret, 2 * STRIKES_AT_ONCE) }
const strike = ATTACKS[attack]
if (strike === undefined) throw new Error(`no such attack: ${attack}`)

async function strikes(): Promise<never> {
  // It may be refused: that is what limits are for.
  for (;;) await strike?.(hostile).catch(() => sleep(10))
}
await Promise.all(Array.from({ length: STRIKES_AT_ONCE }, strikes))
