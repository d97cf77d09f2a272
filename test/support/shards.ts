/**
 * A cluster of two shards, each an engine in a process of its own, with the schema of a cluster. The embedded engine
 * knows neither `ON CLUSTER` nor replication: such a statement is run on each shard here, and tables are not
 * replicated.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore, type StoreConnection } from '../../internal/store/client.js'
import { schemaFor } from '../../internal/store/migrations/migrate.js'
import { changeOnShards } from '../../internal/store/on-shards.js'
import { launch } from './processes.js'
import { privateFolder } from './store.js'

/** As the servers' configuration names it. */
export const CLUSTER = 'two'

export interface Shards {
  /** Of the server that clients ask; it changes rows on both shards. */
  readonly front: ClickHouseClient
  readonly each: readonly ClickHouseClient[]
  /** Of the same server. */
  readonly connection: StoreConnection
  close(): Promise<void>
}

export async function launchShards(): Promise<Shards> {
  const ports = await Promise.all(Array.from({ length: 4 }, () => freePort()))
  const [httpPorts, tcpPorts] = [ports.slice(0, 2), ports.slice(2)]
  const connections = await Promise.all(
    httpPorts.map(async (port, i) => {
      const args = [join(privateFolder(), 'shard'), String(port), String(tcpPorts[i]), tcpPorts.join()]
      launch('dist/test/support/shard-process.js', { args })
      const url = `http://127.0.0.1:${port}`
      const isUp = (): Promise<boolean> =>
        fetch(`${url}/ping`).then(
          ({ ok }) => ok,
          () => false,
        )
      while (!(await isUp())) await sleep(20)
      return { url, user: 'default', password: '', database: 'default' }
    }),
  )
  const each = connections.map((connection) => connectStore(connection))
  const [first] = connections
  if (first === undefined) throw new Error('no shard')
  const asking = connectStore({ ...first, cluster: CLUSTER })
  const front = onEachShard(asking, each)
  for (const query of schemaFor(CLUSTER)) await front.command({ query })
  return {
    front,
    each,
    connection: { ...first, cluster: CLUSTER },
    async close() {
      await Promise.all([asking, ...each].map((client) => client.close()))
    },
  }
}

/** Statements for the cluster run on each shard. */
function onEachShard(asking: ClickHouseClient, each: readonly ClickHouseClient[]): ClickHouseClient {
  return new Proxy(asking, {
    get(target, name, receiver) {
      if (name !== 'command') return Reflect.get(target, name, receiver)
      return async (params: Parameters<ClickHouseClient['command']>[0]) => {
        const query = ofOneServer(changeOnShards(params.query, CLUSTER))
        if (query === params.query) return target.command(params)
        await Promise.all(each.map((client) => client.command({ ...params, query })))
        return undefined
      }
    },
  })
}

/** Without what the embedded engine lacks. */
const ofOneServer = (statement: string): string =>
  statement
    .replaceAll(` ON CLUSTER \`${CLUSTER}\``, '')
    .replace(/ENGINE = Replicated(\w*)MergeTree\('[^']*', '[^']*'(?:, )?/, 'ENGINE = $1MergeTree(')
    .replace(
      / replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = \d+/,
      ' non_replicated_deduplication_window = $1',
    )
