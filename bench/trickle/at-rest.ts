import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import type { Product } from '../eval/product.js'
import { type ByRole, perSecond, proportionalOf, residentOf, secondsOf, sumOf, wakeUpsOf } from './process-figures.js'

/** What the product does while nothing happens, per second and by role; the same on any machine, but for the cores. */
export interface AtRest {
  readonly seconds: number
  readonly cores: ByRole
  readonly cores_total: number
  /** Messages that the broker got from a role's connections. */
  readonly messages_in: ByRole
  readonly messages_in_total: number
  /** Messages that it sent them: replies, and what is delivered to consumers and subscriptions. */
  readonly messages_out: ByRole
  readonly messages_out_total: number
  /** Of all threads. */
  readonly wake_ups: ByRole
  readonly wake_ups_total: number
  readonly resident_mb: ByRole
  readonly resident_mb_total: number
  readonly proportional_mb: ByRole
  readonly proportional_mb_total: number
}

/** Watches a product to which nothing is sent. */
export async function watchAtRest(
  { pid, dataDir }: Pick<Product, 'pid' | 'dataDir'>,
  seconds: number,
): Promise<AtRest> {
  const {
    ATTRIBUTION_NATS_URL: servers = '',
    ATTRIBUTION_NATS_USER: user = '',
    ATTRIBUTION_NATS_PASSWORD: pass = '',
  } = environmentIn(dataDir)
  const connection = await connect({ servers, user, pass, name: OWN })
  try {
    const before = { messages: await messagesOf(connection), seconds: secondsOf(pid), wakeUps: wakeUpsOf(pid) }
    const startedAt = performance.now()
    await sleep(seconds * 1_000)
    const took = (performance.now() - startedAt) / 1_000
    const wakeUps = rounded(perSecond(before.wakeUps, wakeUpsOf(pid), took), 10)
    const cores = rounded(perSecond(before.seconds, secondsOf(pid), took), 1_000)
    const messages = await messagesOf(connection)
    const got = rounded(perSecond(before.messages.in, messages.in, took), 100)
    const sent = rounded(perSecond(before.messages.out, messages.out, took), 100)
    const [resident, proportional] = [residentOf(pid), proportionalOf(pid)]
    return {
      seconds: Math.round(took),
      cores,
      cores_total: sumOf(cores),
      messages_in: got,
      messages_in_total: sumOf(got),
      messages_out: sent,
      messages_out_total: sumOf(sent),
      wake_ups: wakeUps,
      wake_ups_total: sumOf(wakeUps),
      resident_mb: resident,
      resident_mb_total: sumOf(resident),
      proportional_mb: proportional,
      proportional_mb_total: sumOf(proportional),
    }
  } finally {
    await connection.close()
  }
}

/** The connection of this bench. */
const OWN = 'bench'
/** Any account may ask for its own connections, without a system account or a monitoring port. */
const CONNECTIONS = '$SYS.REQ.ACCOUNT.PING.CONNZ'

interface Connz {
  readonly data: {
    readonly connections: readonly { readonly name?: string; readonly in_msgs: number; readonly out_msgs: number }[]
  }
}

/** Since each connection began, by role: a connection's name begins with it (`cmd/role.ts`). */
async function messagesOf(connection: NatsConnection): Promise<{ readonly in: ByRole; readonly out: ByRole }> {
  const { data } = (await connection.request(CONNECTIONS, '', { timeout: 5_000 })).json<Connz>()
  const got: Record<string, number> = {}
  const sent: Record<string, number> = {}
  for (const { name = 'other', in_msgs: inMessages, out_msgs: outMessages } of data.connections) {
    const [role = name] = name.split('-')
    if (role === OWN) continue
    got[role] = (got[role] ?? 0) + inMessages
    sent[role] = (sent[role] ?? 0) + outMessages
  }
  return { in: got, out: sent }
}

const rounded = (figures: ByRole, steps: number): ByRole =>
  Object.fromEntries(Object.entries(figures).map(([role, value]) => [role, Math.round(value * steps) / steps]))
