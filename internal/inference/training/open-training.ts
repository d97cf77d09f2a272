import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { MODEL_ARTEFACTS, MODELS, TRAINING_LEASES, TRAININGS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { watchRecords } from '../../broker/watched-records.js'
import { connectStore, type StoreConnection } from '../../store/client.js'
import { whenRead } from '../../telemetry/metrics.js'
import type { StoredModel } from '../models/model-version.js'
import { setLiveModels } from './live-metrics.js'
import { directoryFacts, resolvedEvents } from './resolved-events.js'
import { runTrainer, type TrainerDeps } from './trainer.js'
import type { StoredTraining } from './training.js'
import type { TrainedOrNot, TrainingTask } from './training-worker.js'
import { driftWatch } from './watch.js'

/** The trainer gets its buckets, its watch and its worker threads here. */
export interface OpenTrainerDeps
  extends Omit<TrainerDeps, 'models' | 'artefacts' | 'trainings' | 'leases' | 'watch' | 'train' | 'pause'> {
  readonly broker: Broker
  readonly store: StoreConnection
  readonly onLost: (cause: unknown) => void
}

/** Pause between two checks when no training is due or requested. */
const PAUSE_MS = 2_000

/** Runs the trainer of a process until `signal` aborts. */
export async function openTrainer(deps: OpenTrainerDeps, signal: AbortSignal): Promise<void> {
  const { broker, store, onLost } = deps
  let wake = new AbortController()
  const trainings = await watchRecords<StoredTraining>(await broker.bucket(TRAININGS), onLost, () => wake.abort())
  const models = await watchRecords<StoredModel>(await broker.bucket(MODELS), onLost)
  signal.addEventListener('abort', () => wake.abort())
  const artefacts = await broker.objects(MODEL_ARTEFACTS)
  const reader = connectStore(store)
  const watch = driftWatch({
    ...deps,
    models,
    artefacts,
    trainings,
    directoryOf: (tenantId) => directoryFacts(deps.resolvedBy(tenantId)),
    async resolvedSince(tenantId, sinceMs, eventsMax) {
      const asOfMs = await deps.completeAsOf()
      return resolvedEvents(reader, { tenantId, sinceMs, asOfMs, eventsMax }, deps.resolvedBy(tenantId))
    },
  })
  const stopMeasuring = whenRead(() => {
    const watched = [...deps.tenantIds()].filter((id) => deps.owns(`training.${id}`) && deps.isEnabled(id))
    setLiveModels(watched, { versionsOf: models.of, precisionOf: watch.precisionOf }, deps.clock())
  })
  await runTrainer(
    {
      ...deps,
      watch,
      trainings,
      models,
      leases: await broker.bucket(TRAINING_LEASES),
      artefacts,
      train: (task) => runTraining({ ...task, store }, signal),
      async pause() {
        await sleep(PAUSE_MS, undefined, { signal: wake.signal }).catch(() => undefined)
        if (!signal.aborted) wake = new AbortController()
      },
    },
    signal,
  )
  stopMeasuring()
  await reader.close()
  trainings.stop()
  models.stop()
}

/** Memory limit of a training thread: far more than the maximum number of records needs. */
const MEMORY_MB_MAX = 2_048

/**
 * Runs one training in a worker thread.
 *
 * @param signal terminates the training
 * @throws Error when the training fails or is terminated
 */
async function runTraining(task: TrainingTask, signal: AbortSignal): Promise<TrainedOrNot> {
  const worker = new Worker(new URL('./training-worker.js', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
  })
  const stop = (): void => void worker.terminate()
  signal.addEventListener('abort', stop)
  try {
    return await new Promise<TrainedOrNot>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', (code) => reject(new Error(`the training worker exited with code ${code} without a result`)))
    })
  } finally {
    signal.removeEventListener('abort', stop)
    await worker.terminate()
  }
}
