/**
 * Clusters for a whole product: three nats-servers, and ClickHouse of two shards with two replicas each and a Keeper.
 * With a container engine they run in the images of `compose.yaml`; without one, three real nats-servers, and the
 * embedded engine in place of ClickHouse.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { launchCluster } from '../cluster.js'
import { ROOT } from '../docs.js'
import { atEnd } from '../run/at-end.js'
import type { Container, Engine, Started } from './engine.js'

export interface Clusters {
  readonly natsUrl: string
  /** Of `up`; none: it starts its own engine. */
  readonly storeArgs: readonly string[]
  /** Address of the server of ClickHouse that clients ask, with user and password; undefined without a cluster. */
  readonly storeUrl: string | undefined
  /** Names of what can be killed, of brokers `n0` to `n2`. */
  readonly members: readonly string[]
  /** Kills a member as `kill -9` does, and starts it again. */
  kill(member: string): Promise<void>
}

const BROKERS = ['n0', 'n1', 'n2']
/** Clients ask the first; it is never killed, since they know no other. */
const SERVERS = ['s1r1', 's1r2', 's2r1', 's2r2']
const [USER, PASSWORD] = ['attribution', 'of-a-test']
export const CLUSTER = 'two'

export async function clustersHere(): Promise<Clusters> {
  const cluster = await launchCluster()
  return {
    natsUrl: cluster.url,
    storeArgs: [],
    storeUrl: undefined,
    members: BROKERS,
    async kill(member) {
      await cluster.kill(BROKERS.indexOf(member))
      cluster.start(BROKERS.indexOf(member))
    },
  }
}

/** They end with the test file. */
export async function clustersIn({ GenericContainer, Network }: Engine): Promise<Clusters> {
  const network = await new Network().start()
  atEnd(() => network.stop())
  const started = new Map<string, Started>()
  const start = async (name: string, container: Container): Promise<void> => {
    const running = await container.withNetwork(network).withNetworkAliases(name).start()
    started.set(name, running)
    // Before the network: what is opened last is closed first.
    atEnd(() => running.stop({ timeout: 0 }))
  }
  const file = (target: string, content: string) => ({ target, content })

  const natsPorts = await Promise.all(BROKERS.map(() => freePort()))
  await Promise.all(
    BROKERS.map((name, i) =>
      start(
        name,
        new GenericContainer(imageOf('nats-1'))
          .withExposedPorts({ container: 4222, host: natsPorts[i] ?? 0 })
          .withCopyContentToContainer([file('/etc/nats.conf', natsConfig(name))])
          .withCommand(['--config', '/etc/nats.conf']),
      ),
    ),
  )
  const server = imageOf('clickhouse')
  const keeper = server.replace('clickhouse-server', 'clickhouse-keeper')
  await start(
    'keeper',
    new GenericContainer(keeper).withCopyContentToContainer([file('/etc/clickhouse-keeper/keeper_config.xml', KEEPER)]),
  )
  const httpPort = await freePort()
  await Promise.all(
    SERVERS.map((name, i) =>
      start(
        name,
        new GenericContainer(server)
          .withExposedPorts(...(i === 0 ? [{ container: 8123, host: httpPort }] : []))
          .withEnvironment({ CLICKHOUSE_USER: USER, CLICKHOUSE_PASSWORD: PASSWORD, CLICKHOUSE_DB: 'attribution' })
          .withCopyContentToContainer([file('/etc/clickhouse-server/config.d/cluster.xml', serverConfig(name))]),
      ),
    ),
  )
  const storeUrl = `http://127.0.0.1:${httpPort}`
  return {
    natsUrl: natsPorts.map((port) => `nats://127.0.0.1:${port}`).join(),
    storeArgs: [
      ...['--store-url', storeUrl, '--store-user', USER, '--store-password', PASSWORD],
      ...['--store-database', 'attribution', '--store-cluster', CLUSTER],
    ],
    storeUrl: `http://${USER}:${PASSWORD}@127.0.0.1:${httpPort}`,
    members: [...BROKERS, ...SERVERS.slice(1)],
    kill: async (member) => started.get(member)?.restart({ timeout: 0 }),
  }
}

/** As Compose pins it. */
function imageOf(service: string): string {
  const text = readFileSync(join(ROOT, 'deploy', 'containers', 'compose.yaml'), 'utf8')
  const { services } = parse(text, { merge: true }) as { services: Record<string, { image: string } | undefined> }
  return services[service]?.image ?? ''
}

const natsConfig = (name: string): string => `server_name: ${name}
jetstream { store_dir: /data }
cluster { name: test, listen: "0.0.0.0:6222", routes: [${BROKERS.map((other) => `nats://${other}:6222`).join(', ')}], no_advertise: true }
`

const KEEPER = `<clickhouse>
  <listen_host>0.0.0.0</listen_host>
  <keeper_server>
    <tcp_port>9181</tcp_port>
    <server_id>1</server_id>
    <log_storage_path>/var/lib/clickhouse/coordination/log</log_storage_path>
    <snapshot_storage_path>/var/lib/clickhouse/coordination/snapshots</snapshot_storage_path>
    <raft_configuration><server><id>1</id><hostname>keeper</hostname><port>9234</port></server></raft_configuration>
  </keeper_server>
</clickhouse>
`

/** @param name `s<shard>r<replica>` */
function serverConfig(name: string): string {
  const replica = (host: string): string =>
    `<replica><host>${host}</host><port>9000</port><user>${USER}</user><password>${PASSWORD}</password></replica>`
  const shards = [1, 2].map((shard) => {
    const hosts = SERVERS.filter((server) => server.startsWith(`s${shard}`))
    return `<shard><internal_replication>true</internal_replication>${hosts.map(replica).join('')}</shard>`
  })
  return `<clickhouse>
  <listen_host>0.0.0.0</listen_host>
  <interserver_http_host>${name}</interserver_http_host>
  <remote_servers replace="true"><${CLUSTER}>${shards.join('')}</${CLUSTER}></remote_servers>
  <macros><shard>${name[1]}</shard><replica>${name}</replica></macros>
  <zookeeper><node><host>keeper</host><port>9181</port></node></zookeeper>
  <distributed_ddl><path>/clickhouse/ddl</path></distributed_ddl>
</clickhouse>
`
}
