import { Worker } from 'node:worker_threads'
import type { TrainedOrNot, TrainingTask } from './worker.js'

/** Of a training's thread: far above what the records that it may read take. */
const MEMORY_MB_MAX = 2_048

/**
 * Trains in a thread of its own.
 *
 * @param signal ends it before it is done
 * @throws Error when it fails, or was ended
 */
export async function runTraining(task: TrainingTask, signal: AbortSignal): Promise<TrainedOrNot> {
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
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
