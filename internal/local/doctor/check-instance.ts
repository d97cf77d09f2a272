import type { ClickHouseClient } from '@clickhouse/client'
import type { Broker } from '../../broker/connect.js'
import type { Answer } from '../replay/client.js'
import { checkBroker } from './broker.js'
import { checkBooks } from './check-books.js'
import { checkKeys, type KeySettings } from './check-keys.js'
import { brokerTimeMs, checkRoles } from './check-roles.js'
import { checkClock } from './clocks.js'
import { type Finding, failure, ok } from './finding.js'
import { checkMachine } from './machine.js'
import { checkStore } from './store.js'

export interface InstanceUnderCheck {
  readonly dataDir: string | undefined
  readonly keys: KeySettings
  /** @throws when the broker does not answer in time */
  readonly connectBroker: () => Promise<Broker>
  readonly store: ClickHouseClient
  /** Reads a path of the API without a credential. @throws when nothing answers */
  readonly ask: (path: string) => Promise<Answer>
}

/** Checks every part of an instance. A part that cannot be reached is one failure; the others are still checked. */
export async function* checkInstance({ dataDir, keys, ...parts }: InstanceUnderCheck): AsyncGenerator<Finding> {
  yield* guarded('machine', 'is the data folder readable?', () => checkMachine(dataDir))
  yield* guarded('broker', 'is nats-server running, and are address and password right?', async function* () {
    const broker = await parts.connectBroker()
    try {
      const nowMs = await brokerTimeMs(broker)
      yield await checkClock('broker', () => brokerTimeMs(broker))
      yield* checkBroker(broker, nowMs)
      yield* checkRoles(broker, nowMs)
      yield* checkKeys(broker, keys, Date.now())
      yield* checkBooks(broker, Date.now())
    } finally {
      await broker.close()
    }
  })
  yield* guarded('store', 'is the store running, and are address and password right?', () => checkStore(parts.store))
  yield* guarded('API', 'is a gateway running, and is this its address (--url)?', () => checkApi(parts.ask))
}

async function* checkApi(ask: InstanceUnderCheck['ask']): AsyncGenerator<Finding> {
  const { status, body } = await ask('/readyz')
  yield status === 200
    ? ok('API', 'answers and is ready')
    : failure('API', `is not ready (${status}): ${reasonIn(body)}`)
}

interface Unready {
  readonly dependencies?: readonly { readonly name: string; readonly status: string; readonly since: string }[]
}

/** Which dependencies are down; the answer itself if it is another one. */
function reasonIn(body: string): string {
  try {
    const { dependencies = [] } = JSON.parse(body) as Unready
    const down = dependencies.filter(({ status }) => status === 'down')
    if (down.length > 0) return down.map(({ name, since }) => `${name} does not answer since ${since}`).join(', ')
  } catch {
    // A proxy may answer with something else.
  }
  return body.slice(0, 300)
}

/** Yields what the checks find; what they throw becomes one more finding. */
async function* guarded(
  check: string,
  advice: string,
  run: () => Iterable<Finding> | AsyncIterable<Finding>,
): AsyncGenerator<Finding> {
  try {
    yield* run()
  } catch (cause) {
    yield failure(check, `${(cause as Error).message.split('\n')[0]}: ${advice}`)
  }
}
