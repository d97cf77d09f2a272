import { join } from 'node:path'
import { encodeModel } from '../../internal/inference/learning/artefact.js'
import type { TrainingRecord } from '../../internal/inference/learning/examples.js'
import { predict } from '../../internal/inference/learning/predict.js'
import { train } from '../../internal/inference/learning/train.js'
import { type Provenance, provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { plantedRecords, plantedServices } from './records.js'

/**
 * Question: what does a training cost, in seconds and memory, and what does the version cost that serves?
 *
 * By the mathematics alone, in this process: the records lie in memory, training samples of them what it needs, and the
 * version predicts fresh events in batches as stage B has them.
 */
export interface TrainingCostOptions {
  readonly checkout: string
  readonly examples: number
  readonly classes: number
}

interface TrainingCost {
  readonly examples: number
  readonly classes: number
  /** Of one core. */
  readonly training_processor_seconds: number
  /** Of this process at its largest, the records with it. */
  readonly peak_resident_mb: number
  /** Of that, before the training began. */
  readonly records_resident_mb: number
  readonly artefact_mb: number
  readonly prediction_us_per_event: number
}

export interface TrainingCostResult extends Provenance {
  readonly costs: readonly TrainingCost[]
}

/** What the trainer reads of a tenant at most. */
const READ_MAX = 100_000
const PREDICTED = 20_000
const BATCH_EVENTS = 500
const MB = 1024 * 1024

export function trainingCost({ checkout, examples, classes }: TrainingCostOptions): void {
  // The smaller one first: the largest size of a process never falls.
  const costs = [...new Set([Math.min(READ_MAX, examples), examples])].map((count) => costOf(count, classes))
  const result: TrainingCostResult = { ...provenance(checkout), costs }
  writeResult(join(checkout, 'bench', 'results', 'training.json'), result)
  print(result)
}

function costOf(examples: number, classes: number): TrainingCost {
  const records = plantedRecords(plantedServices(classes), examples)
  const before = process.memoryUsage.rss()
  const from = process.cpuUsage()
  const result = train(records, { seed: 1 })
  const spent = process.cpuUsage(from)
  if (result.kind !== 'trained') throw new Error('there is too little to learn from')
  const { model } = result
  return {
    examples,
    classes: model.card.classes.length,
    training_processor_seconds: (spent.user + spent.system) / 1e6,
    peak_resident_mb: process.resourceUsage().maxRSS / 1024,
    records_resident_mb: before / MB,
    artefact_mb: encodeModel(model).byteLength / MB,
    prediction_us_per_event: predictionMicros(model, records.slice(-PREDICTED)),
  }
}

function predictionMicros(model: Parameters<typeof predict>[0], records: readonly TrainingRecord[]): number {
  const facts = records.map((record) => record.facts)
  predict(model, facts.slice(0, BATCH_EVENTS))
  const from = process.cpuUsage()
  for (let at = 0; at < facts.length; at += BATCH_EVENTS) predict(model, facts.slice(at, at + BATCH_EVENTS))
  const spent = process.cpuUsage(from)
  return (spent.user + spent.system) / facts.length
}

function print({ costs }: TrainingCostResult): void {
  const of = (name: string, value: (cost: TrainingCost) => string): string[] => [name, ...costs.map(value)]
  const rows = [
    of('', ({ examples }) => `${examples} examples`),
    of('classes', ({ classes }) => String(classes)),
    of('processor seconds of a training', (cost) => cost.training_processor_seconds.toFixed(1)),
    of('MB resident at most', (cost) => cost.peak_resident_mb.toFixed(0)),
    of('MB resident before', (cost) => cost.records_resident_mb.toFixed(0)),
    of('MB of the version', (cost) => cost.artefact_mb.toFixed(1)),
    of('us to predict an event', (cost) => cost.prediction_us_per_event.toFixed(1)),
  ]
  process.stdout.write(`\n${table(rows)}\n`)
}
