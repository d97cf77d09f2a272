/** Three nats-servers with JetStream that form a cluster, each on free ports of loopback and in a folder of its own. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Broker, connectBroker } from '../../internal/broker/connect.js'
import { isBrokerUnavailable } from '../../internal/broker/errors.js'
import { watchedNatsServer } from '../../internal/local/supervisor/nats-server.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { isAlive } from './alive.js'
import { atEnd } from './run/at-end.js'
import { natsServerBin } from './service.js'

export interface Cluster {
  /** The addresses of all servers, comma-separated. */
  readonly url: string
  readonly urls: readonly string[]
  readonly ports: readonly number[]
  readonly folders: readonly string[]
  /** Kills a server, as `kill -9` does. */
  kill(server: number): Promise<void>
  /** Starts a server that was killed, on its folder and ports. */
  start(server: number): void
  pid(server: number): number
}

export interface ClusterOptions {
  /** Through which port a server reaches the route port of another one; that port itself unless it is given. */
  readonly through?: (routePort: number, from: number, to: number) => Promise<number>
  /** The disk of a server's streams; a place in its folder unless it is given. */
  readonly diskOf?: (server: number) => string
  /** Whether a server syncs each write before it acknowledges it. */
  readonly syncs?: (server: number) => boolean
}

/**
 * Resolves once JetStream has a leader. The servers end with the test file, or with this process, even if that is
 * killed.
 */
export async function launchCluster({
  through = async (port) => port,
  diskOf,
  syncs = () => false,
}: ClusterOptions = {}): Promise<Cluster> {
  const names = ['n0', 'n1', 'n2']
  const ports = await Promise.all(names.map(() => freePort()))
  const routePorts = await Promise.all(names.map(() => freePort()))
  const routesOf = async (from: number): Promise<string> => {
    const others = names.map((_, to) => to).filter((to) => to !== from)
    const reached = await Promise.all(others.map((to) => through(routePorts[to] as number, from, to)))
    return reached.map((port) => `nats://127.0.0.1:${port}`).join(', ')
  }
  const routes = await Promise.all(names.map((_, i) => routesOf(i)))
  const servers = names.map((name, i) => {
    const folder = mkdtempSync(join(tmpdir(), `attribution-nats-${name}-`))
    const pidFile = join(folder, 'pid')
    const config = join(folder, 'nats.conf')
    writeFileSync(
      config,
      `server_name: ${name}
listen: "127.0.0.1:${ports[i]}"
pid_file: ${JSON.stringify(pidFile)}
jetstream { store_dir: ${JSON.stringify(join(diskOf?.(i) ?? folder, 'data'))}, max_file_store: 64GB${syncs(i) ? ', sync_interval: always' : ''} }
cluster { name: test, listen: "127.0.0.1:${routePorts[i]}", routes: [${routes[i]}], no_advertise: true }
`,
    )
    const { command, args } = watchedNatsServer(natsServerBin(), ['--config', config])
    const start = () => {
      // Its stdin is a pipe that closes with this process, and the server then exits.
      const shell = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'] })
      const ended = new Promise<void>((resolve) => shell.once('close', () => resolve()))
      return { shell, ended }
    }
    let running = start()
    atEnd(async () => {
      running.shell.stdin.end()
      await running.ended
      rmSync(folder, { recursive: true, force: true })
    })
    return {
      folder,
      pid: () => Number(readFileSync(pidFile, 'utf8')),
      ended: () => running.ended,
      start: () => {
        running = start()
      },
    }
  })
  const serverOf = (server: number) => servers[server] as (typeof servers)[number]
  const urls = ports.map((port) => `nats://127.0.0.1:${port}`)
  const url = urls.join()
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  while (!(await hasLeader(broker.manager.streams))) await sleep(50)
  await broker.close()
  return {
    url,
    urls,
    ports,
    folders: servers.map(({ folder }) => folder),
    async kill(server) {
      const { pid, ended } = serverOf(server)
      const id = pid()
      process.kill(id, 'SIGKILL')
      while (isAlive(id)) await sleep(10)
      await ended()
    },
    start: (server) => serverOf(server).start(),
    pid: (server) => serverOf(server).pid(),
  }
}

/** Creates a stream. On a busy machine, three servers may take longer than a request waits. */
export async function addStream(
  { manager }: Broker,
  config: Parameters<Broker['manager']['streams']['add']>[0],
): Promise<void> {
  for (;;) {
    try {
      await manager.streams.add(config)
      return
    } catch (cause) {
      if (!isBrokerUnavailable(cause)) throw cause
      await sleep(50)
    }
  }
}

/** Whether all three servers have joined: a stream with three replicas can be created. */
async function hasLeader(streams: Awaited<ReturnType<typeof connectBroker>>['manager']['streams']): Promise<boolean> {
  try {
    await streams.add({ name: 'READY', subjects: ['ready'], num_replicas: 3 })
    await streams.delete('READY')
    return true
  } catch {
    return false
  }
}
