/**
 * Entry point of the worker thread that runs one training. The memory for the records of the tenant is freed with the
 * thread, and the trainer can renew its lease while the training runs.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { Label } from '../../directory/labels.js'
import { connectStore, type StoreConnection } from '../../store/client.js'
import { type TrainingWindow, trainingRows } from '../../store/queries/attribution/training-window.js'
import { comparableName } from '../../text/comparable-name.js'
import { decodeModel, encodeModel } from '../learning/artefact.js'
import { type Forgotten, forgetting, type TrainingRecord } from '../learning/examples.js'
import { withNeighbours } from '../learning/features.js'
import type { ModelCard } from '../learning/model.js'
import { train } from '../learning/train.js'
import { recordOf } from './training-records.js'

export interface TrainingTask {
  readonly store: StoreConnection
  readonly window: TrainingWindow
  readonly seed: number
  /** The artefact of the version that serves. */
  readonly serving: Uint8Array | undefined
  readonly directory: ResolvedByDirectory
  readonly forgotten: readonly Forgotten[]
}

/** The identities and credentials by which the facts stage resolves an event on its own. */
export interface ResolvedByDirectory {
  /** Hashes of identities with a service, in hex. */
  readonly identities: readonly string[]
  /** Credentials with a default service. */
  readonly principals: readonly string[]
  /** For services whose names or owners have changed: the label that models use, by each of their names. */
  readonly labels: readonly (readonly [comparableName: string, label: Label])[]
}

export type TrainedOrNot =
  | { readonly kind: 'trained'; readonly artefact: Uint8Array; readonly card: ModelCard }
  | { readonly kind: 'too_few_examples'; readonly classes: number; readonly examples: number }

const { store: connection, window, seed, serving, directory, forgotten } = workerData as TrainingTask
const store = connectStore(connection)
const records: TrainingRecord[] = []
const labels = new Map(directory.labels)
for await (const row of trainingRows(store, window)) {
  records.push(recordOf({ ...row, ...labels.get(comparableName(row.service)) }))
}
await store.close()

const facts = withNeighbours(records.map((record) => record.facts))
const examples = records.map((record, i): TrainingRecord => ({ ...record, facts: facts[i] ?? record.facts }))
const identities = new Set(directory.identities)
const principals = new Set(directory.principals)
const decoded = serving && decodeModel(serving)
const trained = train(forgetting(examples, forgotten), {
  seed,
  directory: {
    resolvesIdentity: (identityHash) => identities.has(identityHash),
    resolvesPrincipal: (principal) => principals.has(principal),
  },
  serving: decoded?.kind === 'model' ? decoded.model : undefined,
})
const message: TrainedOrNot =
  trained.kind === 'trained'
    ? { kind: 'trained', artefact: encodeModel(trained.model), card: trained.model.card }
    : trained
parentPort?.postMessage(message)
