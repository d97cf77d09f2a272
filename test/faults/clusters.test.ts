/**
 * `npm run test:containers`: the product on clusters of the official images, of which one member after another is
 * killed for two minutes under load, with exports and webhooks. Without a container engine on three real nats-servers
 * and the embedded engine, and it says what was not tried.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connectBroker } from '../../internal/broker/connect.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { CLUSTER, type Clusters, clustersHere, clustersIn } from '../support/containers/clusters.js'
import { containerEngine } from '../support/containers/engine.js'
import { underLoad } from '../support/faults/load.js'
import { openWebhooks } from '../support/faults/readers.js'
import { RATES } from '../support/faults/run.js'
import { atEnd } from '../support/run/at-end.js'
import { launchService, privateDataDir } from '../support/service.js'

const minutes = process.env['TEST_CLUSTERS_MINUTES']
const PAUSE_MS = 8_000

/** The product on clusters, through kills of their members. */
async function survives(clusters: Clusters, durationMs: number): Promise<void> {
  const webhooks = await openWebhooks()
  const service = await launchService({
    dataDir: privateDataDir(),
    roles: ['courier', 'exporter'],
    args: [
      ...['--nats-url', clusters.natsUrl, '--stream-replicas', '3', '--partitions', '4'],
      ...[...clusters.storeArgs, ...webhooks.args, ...RATES],
    ],
  })
  const broker = await connectBroker({ url: clusters.natsUrl, user: '', password: '', name: 'clusters' })
  atEnd(() => broker.close())
  if (clusters.storeUrl !== undefined) await expectReplicas(clusters.storeUrl)

  const leader = async (): Promise<string> =>
    (await broker.manager.streams.info(INVOCATIONS.name)).cluster?.leader ?? 'n0'
  const { violations, accepted } = await underLoad(
    {
      ...{ service, broker, webhooks, urls: [service.baseUrl, service.baseUrl] },
      seed: randomBytes(4).toString('hex'),
      eventsPerSecond: 60,
      poisons: () => 0,
      print: (line) => process.stdout.write(`${line}\n`),
    },
    async () => {
      const until = performance.now() + durationMs
      for (let turn = 0; performance.now() < until; turn++) {
        // Every other time the broker that leads the log; then each member in its turn.
        const member = turn % 2 === 0 ? await leader() : (clusters.members[turn % clusters.members.length] as string)
        process.stdout.write(`killing ${member}\n`)
        await clusters.kill(member)
        await sleep(PAUSE_MS)
      }
    },
  )
  expect(violations.slice(0, 3)).toEqual([])
  expect(accepted).toBeGreaterThan(0)
}

/** The schema is on every server, and its tables have their replicas. */
async function expectReplicas(storeUrl: string): Promise<void> {
  const { username, password, origin } = new URL(storeUrl)
  const query = `SELECT hostName(), countIf(total_replicas = 2) > 0 AND countIf(total_replicas != 2) = 0
    FROM clusterAllReplicas('${CLUSTER}', system.replicas) GROUP BY 1 FORMAT JSONCompact`
  const answer = await fetch(origin, {
    method: 'POST',
    body: query,
    headers: { 'x-clickhouse-user': username, 'x-clickhouse-key': password },
  })
  const { data } = (await answer.json()) as { readonly data: readonly (readonly [string, number])[] }
  expect(data.map(([, isComplete]) => isComplete)).toEqual([1, 1, 1, 1])
}

test('images of nats and clickhouse-server', async (context) => {
  if (minutes === undefined) return context.skip('npm run test:containers runs it')
  const engine = await containerEngine()
  if ('reason' in engine) {
    const untried = 'ON CLUSTER, replicas, quorum and Keeper of ClickHouse, and the images of both'
    console.log(`Not tried: ${untried}: ${engine.reason}`)
    return context.skip(engine.reason)
  }
  await survives(await clustersIn(engine), Number(minutes) * 60_000)
}, 1_800_000)

test('three nats-servers of this machine, with the embedded engine', async (context) => {
  if (minutes === undefined) return context.skip('npm run test:containers runs it')
  await survives(await clustersHere(), Number(minutes) * 60_000)
}, 1_800_000)
