/**
 * One attack, for as long as it is ordered, at the lowest priority: attackers are elsewhere, and take no processor from
 * the service and those who use it.
 */
import { constants, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectService } from '../../internal/local/replay/client.js'
import { ATTACKS, ORDER, type Order } from './attacks.js'

const STRIKES_AT_ONCE = 4

const { attack, target, ms } = JSON.parse(process.env[ORDER] ?? '') as Order
setPriority(constants.priority.PRIORITY_LOW)
setTimeout(() => process.exit(0), ms)
const hostile = { ...target, client: connectService(target.baseUrl, target.secret, 2 * STRIKES_AT_ONCE) }
const strike = ATTACKS[attack]
if (strike === undefined) throw new Error(`no such attack: ${attack}`)

async function strikes(): Promise<never> {
  // It may be refused: that is what limits are for.
  for (;;) await strike?.(hostile).catch(() => sleep(10))
}
await Promise.all(Array.from({ length: STRIKES_AT_ONCE }, strikes))
