/**
 * Entry point of the worker thread that runs one training. The memory for the records of the tenant is freed with the
 * thread, and the trainer can renew its lease while the training runs.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { connectStore, type StoreConnection } from '../../../store/client.js'
import { type TrainingWindow, trainingRows } from '../../../store/queries/attribution/training-window.js'
import { encodeModel } from '../learning/artefact.js'
import { withNeighbours } from '../learning/features.js'
import type { ModelCard } from '../learning/model.js'
import { type TrainingRecord, train } from '../learning/train.js'
import { recordOf } from './records.js'

export interface TrainingTask {
  readonly store: StoreConnection
  readonly window: TrainingWindow
  readonly seed: number
}

export type TrainedOrNot =
  | { readonly kind: 'trained'; readonly artefact: Uint8Array; readonly card: ModelCard }
  | { readonly kind: 'too_few_examples'; readonly classes: number; readonly examples: number }

const { store: connection, window, seed } = workerData as TrainingTask
const store = connectStore(connection)
const records: TrainingRecord[] = []
for await (const row of trainingRows(store, window)) records.push(recordOf(row))
await store.close()

const facts = withNeighbours(records.map((record) => record.facts))
const examples = records.map((record, i): TrainingRecord => ({ ...record, facts: facts[i] ?? record.facts }))
const trained = train(examples, { seed })
const message: TrainedOrNot =
  trained.kind === 'trained'
    ? { kind: 'trained', artefact: encodeModel(trained.model), card: trained.model.card }
    : trained
parentPort?.postMessage(message)
