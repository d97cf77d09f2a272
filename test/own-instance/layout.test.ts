/** The broker's layout and the settings of roles that contradict it. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectBroker } from '../../internal/broker/connect.js'
import { initialLayout, writeLayout } from '../../internal/broker/layout.js'
import { AUDIT } from '../../streams/audit.js'
import { OBJECT_BUCKETS, TENANTS } from '../../streams/buckets.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { addStream, launchCluster } from '../support/cluster.js'
import { masterKeyText } from '../support/master-keys.js'
import { launch } from '../support/processes.js'
import { gatewayEnvironment, launchService, privateDataDir, type RunningService } from '../support/service.js'

const mainOf = (program: string): string => fileURLToPath(new URL(`../../dist/cmd/${program}/main.js`, import.meta.url))

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [] })
})
afterAll(() => service.stop())

/** Of a role of the running instance that does not start. */
async function refusalOf(role: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const launched = launch(mainOf(role), { args, env: { ...env, ATTRIBUTION_LOG_LEVEL: 'silent' } })
  return { exit: await launched.exited, lines: launched.lines }
}

test('a gateway with another number of partitions does not start, and says what to do', async () => {
  const args = ['--port', '0', '--intake-port', '0', '--data-dir', privateDataDir(), '--partitions', '5']
  const { exit, lines } = await refusalOf('gateway', args, gatewayEnvironment(service))

  expect(exit).toEqual({ code: 1, signal: null })
  expect(lines).toEqual([
    'gateway: --partitions (or ATTRIBUTION_PARTITIONS) is 5, but the layout of the broker has 2: leave the ' +
      'setting out, or change the layout with "attribution streams apply --partitions 5"',
  ])
})

test('a role with another size of the log does not start, and the log keeps its size', async () => {
  const env = gatewayEnvironment(service)
  const { exit, lines } = await refusalOf('sentinel', ['--invocations-bytes-max', String(4 * 1024 ** 3)], env)

  expect(exit).toEqual({ code: 1, signal: null })
  expect(lines).toEqual([
    expect.stringMatching(/^sentinel: --invocations-bytes-max .* is 4294967296, but .* has 8589934592/),
  ])
  const broker = await connectBroker({
    url: env['ATTRIBUTION_NATS_URL'] ?? '',
    user: env['ATTRIBUTION_NATS_USER'] ?? '',
    password: env['ATTRIBUTION_NATS_PASSWORD'] ?? '',
    name: 'test',
  })
  expect((await broker.manager.streams.info(INVOCATIONS.name)).config.max_bytes).toBe(8 * 1024 ** 3)
  await broker.close()
})

test('the size of the log changes while the service runs; the number of partitions does not', async () => {
  const cli = (...args: string[]) => refusalOf('attribution', ['streams', ...args, '--data-dir', service.dataDir], {})

  const plan = await cli('plan', '--invocations-bytes-max', String(9 * 1024 ** 3))
  expect(plan.lines.join('\n')).toMatch(/invocations_bytes_max +8589934592 -> 9663676416[\s\S]*INVOCATIONS +bytes/)
  expect((await cli('apply', '--invocations-bytes-max', String(9 * 1024 ** 3))).lines).toEqual([
    'applied, 1 changes of streams',
  ])
  expect((await cli('plan')).lines).toContain('every stream is as the layout says')
  const refused = await cli('apply', '--partitions', '3')

  expect(refused.exit).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual([
    expect.stringMatching(
      /^attribution: nothing is changed: the number of partitions changes while no gateway runs; 1 run/,
    ),
  ])
})

test('with three brokers: one replica changes nothing, three are applied to every kind of stream', async () => {
  const cluster = await launchCluster()
  const broker = await connectBroker({ url: cluster.url, user: '', password: '', name: 'test' })
  const { manager } = broker
  const replicasOf = async (stream: string): Promise<number> => (await manager.streams.info(stream)).config.num_replicas
  // A few streams, as a role with three replicas has made them: all of them take three servers some minutes on two
  // cores.
  await addStream(broker, {
    ...INVOCATIONS,
    subjects: [...INVOCATIONS.subjects],
    num_replicas: 3,
    max_bytes: 2 ** 20,
  })
  await addStream(broker, { ...AUDIT, subjects: [...AUDIT.subjects], num_replicas: 3 })
  const buckets = [`KV_${TENANTS.name}`, `OBJ_${OBJECT_BUCKETS[0]?.name}`]
  for (const name of buckets) await addStream(broker, { name, subjects: [`${name}.>`], num_replicas: 1 })
  const layout = initialLayout({ streamReplicas: 3, invocationsBytesMax: 2 ** 20 })
  await writeLayout(broker, { ...layout, version: 1 }, undefined)
  const env = {
    ATTRIBUTION_NATS_URL: cluster.url,
    ATTRIBUTION_STORE_URL: 'http://127.0.0.1:1',
    ATTRIBUTION_MASTER_KEY: masterKeyText().trim(),
  }

  const { exit, lines } = await refusalOf('sentinel', ['--stream-replicas', '1'], env)
  expect(exit).toEqual({ code: 1, signal: null })
  expect(lines).toEqual([
    expect.stringMatching(/^sentinel: --stream-replicas .* is 1, but the layout of the broker has 3/),
  ])
  expect(await replicasOf(INVOCATIONS.name)).toBe(3)

  const applied = await refusalOf('attribution', ['streams', 'apply'], env)
  expect(applied.lines).toEqual(['applied, 2 changes of streams'])
  expect(await Promise.all([INVOCATIONS.name, 'KV_layout', ...buckets].map(replicasOf))).toEqual([3, 3, 3, 3])
  await broker.close()
}, 120_000)
