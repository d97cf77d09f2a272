import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeDurably } from '../../process/durable-files.js'
import type { Role } from './children.js'
import { isChildOf, natsConfigIn } from './processes.js'
import type { InstanceFiles } from './supervised-instance.js'

/**
 * nats-server does not watch its stdin; this shell script does. It stops the server when the pipe from the supervisor
 * closes, also after a kill of the supervisor, and exits when the server exits.
 */
const WATCHED = `
exec 3<&0
"$0" "$@" </dev/null 3<&- &
server=$!
(cat <&3 >/dev/null; kill -TERM $server 2>/dev/null) &
watcher=$!
exec 3<&-
wait $server
code=$?
kill $watcher 2>/dev/null
exit $code
`

/** The command that runs a nats-server until the stdin of the command closes. */
export const watchedNatsServer = (binary: string, args: readonly string[]) => ({
  command: '/bin/sh',
  args: ['-c', WATCHED, binary, ...args],
})

export interface PrivateNats {
  readonly port: number
  readonly user: string
  readonly password: string
  /** What an acknowledged write survives: a power cut, or the end of the process only. */
  readonly durability: 'power' | 'process'
}

/** A private nats-server on loopback, with a password, and its data in the folder of the instance. */
export function natsServerRole(binary: string, files: InstanceFiles, nats: PrivateNats): Role {
  const { port } = nats
  const folder = join(files.dataDir, 'nats')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const config = natsConfigIn(files.dataDir)
  writeDurably(config, configText(folder, nats))
  return {
    name: 'nats',
    ...watchedNatsServer(binary, ['--config', config]),
    env: {},
    prepare: () => killOrphan(files),
    ready: (signal) => listensOn(port, signal),
  }
}

/** The server's pid file. The process of the role is the shell that watches the server. */
export const natsPidFile = (files: InstanceFiles): string => join(files.dataDir, 'nats', 'nats-server.pid')

/** Kills a server of this very folder whose shell was killed: it still holds the port and the files. */
async function killOrphan(files: InstanceFiles): Promise<void> {
  const pidFile = natsPidFile(files)
  if (!existsSync(pidFile)) return
  const pid = Number(readFileSync(pidFile, 'utf8'))
  while (pid > 0 && isChildOf(files.dataDir, pid, 'nats')) {
    process.kill(pid, 'SIGKILL')
    await sleep(50)
  }
}

const configText = (folder: string, { port, user, password, durability }: PrivateNats): string => `
server_name: attribution
listen: "127.0.0.1:${port}"
pid_file: ${JSON.stringify(join(folder, 'nats-server.pid'))}
max_payload: 8388608
write_deadline: "10s"
authorization { user: ${JSON.stringify(user)}, password: ${JSON.stringify(password)} }
jetstream { store_dir: ${JSON.stringify(join(folder, 'data'))}${durability === 'power' ? ', sync_interval: always' : ''} }
`

async function listensOn(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (await natsAnswers(port, READY_MS_MAX)) return
    await sleep(50)
  }
  throw new Error('nats-server did not become ready')
}

/** Whether a server greets a client in time: a stopped one accepts connections, too, but sends nothing. */
export const natsAnswers = (port: number, withinMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    const settle = (isThere: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isThere)
    }
    const timer = setTimeout(() => settle(false), withinMs)
    // The server sends INFO to each client once it accepts connections.
    socket.once('data', () => settle(true))
    socket.once('error', () => settle(false))
  })

const READY_MS_MAX = 60_000
