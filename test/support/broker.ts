/** A real nats-server with JetStream, on a free port and a folder of its own, and our streams and buckets in it. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Progress } from '../../internal/broker/checkpoint.js'
import { type Broker, connectBroker, ensureStreams, type StreamSettings } from '../../internal/broker/connect.js'
import { type LogRange, readLog } from '../../internal/broker/log.js'
import type { PlannedLogDeps } from '../../internal/broker/planned-log.js'
import { createPublisher, type Publisher } from '../../internal/broker/publisher.js'
import { createLog } from '../../internal/telemetry/log.js'
import { CHECKPOINTS } from '../../streams/buckets.js'
import { freePort } from './processes.js'
import { natsServerBin } from './service.js'

export interface RunningBroker extends Broker {
  readonly publish: Publisher['publish']
  /** For a process that owns everything. */
  readonly deps: PlannedLogDeps
  /** Resolves once the checkpoint says that all up to this sequence is done and nothing is planned. */
  untilDone(key: string, sequence: number): Promise<void>
}

const stops: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

/** Ends when the test file is over. */
export async function launchBroker(settings: Partial<StreamSettings> = {}): Promise<RunningBroker> {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-nats-'))
  const port = await freePort()
  const args = ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', folder]
  const server = spawn(natsServerBin(), args, { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('close', resolve))
  const broker = await connectBroker({ url: `nats://127.0.0.1:${port}`, user: '', password: '', name: 'test' })
  stops.push(async () => {
    await broker.close()
    server.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 1024 ** 3, ...settings })
  const checkpoints = await broker.bucket(CHECKPOINTS)
  return {
    ...broker,
    publish: createPublisher(broker.connection).publish,
    deps: {
      checkpoints,
      readLog: (range: LogRange) => readLog(broker.manager, range),
      isOwner: () => true,
      clock: Date.now,
      log: createLog('test', 'silent'),
    },
    async untilDone(key, sequence) {
      for await (const entry of await checkpoints.watch({ key })) {
        const { done, plan } = entry.json<Progress>()
        if (done >= sequence && plan === undefined) return
      }
    },
  }
}
