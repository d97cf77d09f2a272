/** A nats-server with JetStream for a test file, on a free port of loopback and a folder of its own. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { watchedNatsServer } from '../../internal/local/supervisor/nats-server.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { atEnd } from './run/at-end.js'
import { natsServerBin } from './service.js'

export interface RunningBroker {
  readonly port: number
  readonly url: string
  /** Folder of its streams. */
  readonly folder: string
  /** Of the server. */
  pid(): number
  /** `kill -9`, and starts it again with the same port and folder. */
  restart(): Promise<void>
}

/**
 * Resolves once it accepts connections. Ends with the test file, or with this process, even if that is killed.
 *
 * @param configText in place of the server's defaults
 */
export async function launchBroker(configText?: string): Promise<RunningBroker> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'attribution-nats-'))
  const configFile = join(folder, 'nats.conf')
  const pidFile = join(folder, 'nats.pid')
  if (configText !== undefined) writeFileSync(configFile, configText)
  const { command, args } = watchedNatsServer(natsServerBin(), [
    ...(configText === undefined ? [] : ['--config', configFile]),
    ...['--addr', '127.0.0.1', '--port', String(port)],
    ...['--jetstream', '--store_dir', folder, '--pid', pidFile],
  ])
  let server = await started(command, args)
  atEnd(async () => {
    await server.end()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    folder,
    pid: () => Number(readFileSync(pidFile, 'utf8')),
    async restart() {
      process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL')
      await server.end()
      server = await started(command, args)
    },
  }
}

async function started(command: string, args: readonly string[]): Promise<{ end(): Promise<void> }> {
  // Its stdin is a pipe that closes with this process, and the server then exits.
  const server = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] })
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: server.stderr }).on('line', (line) => {
      if (line.includes('Server is ready')) resolve()
    })
    server.once('error', reject)
    server.once('close', (code) => reject(new Error(`nats-server ended with ${code}`)))
  })
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()))
  return {
    async end() {
      server.stdin.end()
      await ended
    },
  }
}
