import { Worker } from 'node:worker_threads'
import type { TrainedOrNot, TrainingTask } from './training-worker.js'

/** Memory limit of a training thread: far more than the maximum number of records needs. */
const MEMORY_MB_MAX = 2_048

/**
 * Runs one training in a worker thread.
 *
 * @param signal terminates the training
 * @throws Error when the training fails or is terminated
 */
export async function runTraining(task: TrainingTask, signal: AbortSignal): Promise<TrainedOrNot> {
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
