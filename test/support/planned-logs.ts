/** A real broker with our streams and buckets, and the dependencies to run planned logs on it as their only owner. */
import { nextArrival } from '../../internal/broker/arrivals.js'
import type { Progress } from '../../internal/broker/checkpoint.js'
import { type Broker, connectBroker, ensureStreams, type StreamSettings } from '../../internal/broker/connect.js'
import { readFence } from '../../internal/broker/fence.js'
import { type LogRange, readLog } from '../../internal/broker/log.js'
import { type PlannedLog, type PlannedLogDeps, runPlannedLog } from '../../internal/broker/planned-log.js'
import { createPublisher, type GroupPublisher } from '../../internal/broker/publisher.js'
import { createLog } from '../../internal/telemetry/log.js'
import { CHECKPOINTS } from '../../streams/buckets.js'
import { launchBroker, type RunningBroker } from './broker.js'
import { atEnd } from './run/at-end.js'

export interface LogBroker extends Broker, GroupPublisher, Pick<RunningBroker, 'restart'> {
  readonly deps: PlannedLogDeps
  /** Resolves once the checkpoint covers everything that the subject holds now and has no plan. */
  untilDone(key: string, stream: string, subject: string): Promise<void>
}

/** Ends with the test file, as its server does. */
export async function launchLogBroker(settings: Partial<StreamSettings> = {}): Promise<LogBroker> {
  const { url, restart } = await launchBroker()
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  // A test may have closed it.
  atEnd(() => broker.connection.isClosed() || broker.connection.close())
  await ensureStreams(broker, {
    replicas: 1,
    invocationsBytesMax: 1024 ** 3,
    observationsBytesMax: 1024 ** 3,
    ...settings,
  })
  const checkpoints = await broker.bucket(CHECKPOINTS)
  return {
    ...broker,
    restart,
    ...createPublisher(broker.connection),
    deps: {
      checkpoints,
      readLog: (range: LogRange) => readLog(broker.manager, range),
      nextArrival: (...awaited) => nextArrival(broker.connection, ...awaited),
      isOwner: () => true,
      readFence: () => readFence(broker.manager),
      clock: Date.now,
      log: createLog('test', 'silent'),
    },
    async untilDone(key, stream, subject) {
      const last = await broker.manager.direct.getMessage(stream, { last_by_subj: subject })
      for await (const entry of await checkpoints.watch({ key })) {
        if (entry.operation !== 'PUT') continue
        const { done, plan } = entry.json<Progress>()
        if (done >= (last?.seq ?? 0) && plan === undefined) return
      }
    },
  }
}

/** A planned log as one process runs it, until `stop`. */
export function startPlannedLog<C extends Progress>(planned: PlannedLog<C>, deps: PlannedLogDeps) {
  const stopping = new AbortController()
  const running = runPlannedLog(planned, deps, stopping.signal)
  return {
    /** What a process does that dies: from here on it does nothing more. */
    die(): never {
      stopping.abort()
      throw new Error('this process is dead')
    },
    dead: running,
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}
