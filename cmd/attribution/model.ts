import { randomUUID } from 'node:crypto'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Broker } from '../../internal/broker/connect.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { ConfigError } from '../../internal/config/settings.js'
import type { GateFinding, GateReason } from '../../internal/inference/learning/model.js'
import { type Decision, decided } from '../../internal/inference/models/decide-model.js'
import { ACTIONS, audited } from '../../internal/inference/models/model-routes.js'
import { chosenVersion, type StoredModel, statusOf } from '../../internal/inference/models/model-version.js'
import type { StoredShadow } from '../../internal/inference/models/shadow.js'
import { shownModel } from '../../internal/inference/models/show-model.js'
import {
  DEFAULT_SEED,
  type FinishedTraining,
  type StoredTraining,
  type TrainingRequest,
} from '../../internal/inference/training/training.js'
import { MODEL_SHADOWS, MODELS, TRAININGS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'
import { findTenant } from './tenant.js'

interface JsonOption extends InstanceOption {
  readonly json?: true
}

export const modelCommand = (): Command =>
  new Command('model')
    .description("Tenants' trained models for stage B: versions, training, and the version that serves.")
    .addCommand(
      new Command('train')
        .description('Trains a version now and waits for the outcome.')
        .requiredOption('--tenant <id>')
        .option('--candidate', 'keep the version as a candidate even if it passes validation')
        .option('--seed <number>', 'the same records and the same seed give the same version', readSeed, DEFAULT_SEED)
        .option('--no-wait', 'request the training and return at once')
        .addOption(dataDirOption())
        .option('--json', 'print the result as JSON')
        .action(runTrain),
    )
    .addCommand(
      new Command('list')
        .description("Lists a tenant's versions, newest first.")
        .requiredOption('--tenant <id>')
        .addOption(dataDirOption())
        .option('--json', 'print one JSON object per line')
        .action(runList),
    )
    .addCommand(
      new Command('show')
        .description("Prints a version's model card as JSON.")
        .argument('<version>')
        .addOption(tenantOption())
        .addOption(dataDirOption())
        .action(runShow),
    )
    .addCommand(decisionCommand('promote', 'Makes a version the serving one.'))
    .addCommand(decisionCommand('recall', 'Takes a version out of service: the previous serving version serves again.'))
    .addCommand(decisionCommand('restore', 'Undoes a recall.'))

const decisionCommand = (decision: Decision, description: string): Command =>
  new Command(decision)
    .description(description)
    .argument('<version>')
    .addOption(tenantOption())
    .addOption(dataDirOption())
    .action((id: string, options: VersionOptions) => runDecision(decision, id, options))

/** A version belongs to one tenant. With this option a command refuses the version of another tenant. */
const tenantOption = (): Option => new Option('--tenant <id>', 'refuse a version of any other tenant')

interface VersionOptions extends InstanceOption {
  readonly tenant?: string
}

function readSeed(text: string): number {
  const seed = Number(text)
  if (!/^\d+$/.test(text) || seed > 0xffff_ffff)
    throw new InvalidArgumentError('It must be an unsigned 32-bit integer.')
  return seed
}

interface TrainOptions extends JsonOption {
  readonly tenant: string
  readonly candidate?: true
  readonly seed: number
  readonly wait: boolean
}

async function runTrain(options: TrainOptions): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const { id: tenantId } = await findTenant(broker, options.tenant)
  const request: TrainingRequest = {
    id: randomUUID(),
    requested_at: new Date().toISOString(),
    seed: options.seed,
    promote: options.candidate !== true,
  }
  const bucket = await broker.bucket(TRAININGS)
  const trainings = bucketRecords<StoredTraining>(bucket, async () => undefined)
  await trainings.createOnce(tenantId, { tenant_id: tenantId, requested: null, last: null })
  await trainings.change(tenantId, (training) => ({ ...training, requested: request }))
  await recordByCli(
    broker,
    'model.train',
    tenantId,
    { after: { seed: request.seed, promote: request.promote } },
    tenantId,
  )
  if (!options.wait) {
    await broker.close()
    return
  }
  const { outcome, model_id } = await outcomeOf(broker, tenantId, request.id)
  const gate = model_id === null ? undefined : (await findVersion(broker, model_id)).card.gate
  const reasons = gate?.reasons ?? []
  const findings = gate?.findings ?? []
  await broker.close()
  const shown = `${outcome.replaceAll('_', ' ')}${model_id === null ? '' : `  ${model_id}`}`
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify({ outcome, model_id, reasons, findings: findings.map(shownFinding) })}\n`
      : `${shown}\n${findings.map((found) => `  ${WHY[found.reason]}: ${figureOf(found)}\n`).join('')}`,
  )
  if (outcome === 'failed') throw new ConfigError('training failed: see the log of the trainer')
}

const shownFinding = ({ mustBe, ...found }: GateFinding) => ({ ...found, must_be: mustBe })
const figureOf = ({ figure, mustBe, bound }: GateFinding): string =>
  `${Number(figure.toPrecision(3))}, must be ${mustBe.replace('_', ' ')} ${Number(bound.toPrecision(3))}`

/** Why a version did not pass validation. */
const WHY: Readonly<Record<GateReason, string>> = {
  beats_no_baseline: 'it is no better than the shares of the services alone',
  imprecise: 'of what it claims at 0.80 and more, too little is right',
  miscalibrated: 'its probabilities differ too much from how often it is right',
  beats_no_baseline_on_audits: 'on overrides it is no better than the shares of the services alone',
  imprecise_on_audits: 'on overrides, of what it claims at 0.80 and more, too little is right',
  miscalibrated_on_audits: 'on overrides its probabilities differ too much from how often it is right',
  too_few_validation_examples: 'there are too few resolved calls to judge it by',
  names_fewer_than_serving: 'it names far fewer calls than the serving version, and no override says that it should',
  more_unknown_than_serving:
    'it takes far more calls for unknown than the serving version, and no override says that it should',
}

/** Waits for the end of a training. A later request may replace it. */
async function outcomeOf(broker: Broker, tenantId: string, requestId: string): Promise<FinishedTraining> {
  for await (const entry of await (await broker.bucket(TRAININGS)).watch({ key: tenantId })) {
    if (entry.operation !== 'PUT') continue
    const { requested, last } = entry.json<StoredTraining>()
    if (last?.id === requestId) return last
    if (requested?.id !== requestId) throw new ConfigError('a later request replaced this training')
  }
  throw new ConfigError('lost the connection to the broker')
}

async function runList(options: JsonOption & { readonly tenant: string }): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const { id: tenantId } = await findTenant(broker, options.tenant)
  const versions = await versionsOf(broker, tenantId)
  await broker.close()
  versions.sort((one, other) => (one.created_at < other.created_at ? 1 : -1))
  for (const version of versions) {
    const { id, status, created_at, validation } = shownModel(version, versions, [])
    const { passed, served_traffic } = validation
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify({ id, status, created_at, validation })}\n`
        : `${id}  ${created_at}  ${status.padEnd(9)}  ${passed ? 'passed' : 'failed'}  ` +
            `accuracy ${served_traffic.accuracy.toFixed(3)}  ` +
            `calibration error ${served_traffic.calibration_error.toFixed(3)}\n`,
    )
  }
}

async function runShow(id: string, options: VersionOptions): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const version = await findVersion(broker, id, options.tenant)
  const versions = await versionsOf(broker, version.tenant_id)
  const shadows: StoredShadow[] = []
  const bucket = await broker.bucket(MODEL_SHADOWS)
  for await (const key of await bucket.keys(`${id}.*`)) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') shadows.push(entry.json<StoredShadow>())
  }
  await broker.close()
  process.stdout.write(`${JSON.stringify(shownModel(version, versions, shadows), null, 2)}\n`)
}

async function runDecision(decision: Decision, id: string, options: VersionOptions): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const { tenant_id: tenantId } = await findVersion(broker, id, options.tenant)
  const versions = await versionsOf(broker, tenantId)
  const records = bucketRecords<StoredModel>(await broker.bucket(MODELS), async () => undefined)
  let before: StoredModel | undefined
  let isRemoved = false
  const after = await records.change(id, (version) => {
    before = version
    const outcome = decided(version, decision, versions, Date.now())
    isRemoved = outcome.kind === 'no_artefact'
    return outcome.kind === 'decided' && outcome.version !== version ? outcome.version : undefined
  })
  if (before === undefined || after === undefined) throw unknownVersion(id)
  if (isRemoved) throw new ConfigError('the version is too old to serve: only its model card is retained')
  await recordByCli(broker, ACTIONS[decision], id, { before: audited(before), after: audited(after) }, tenantId)
  const status = statusOf(after, chosenVersion(await versionsOf(broker, tenantId)))
  await broker.close()
  process.stdout.write(`${id} is now ${status === 'serving' ? 'the serving version' : `a ${status} version`}\n`)
}

async function findVersion(broker: Broker, id: string, tenantId?: string): Promise<StoredModel> {
  const version = await bucketRecords<StoredModel>(await broker.bucket(MODELS), async () => undefined).read(id)
  if (version === undefined) throw unknownVersion(id)
  if (tenantId !== undefined && version.tenant_id !== tenantId) {
    throw new ConfigError(`model version ${id} belongs to another tenant than ${tenantId}`)
  }
  return version
}

const unknownVersion = (id: string): ConfigError => new ConfigError(`model version ${id} does not exist`)

async function versionsOf(broker: Broker, tenantId: string): Promise<StoredModel[]> {
  const versions: StoredModel[] = []
  const bucket = await broker.bucket(MODELS)
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') versions.push(entry.json<StoredModel>())
  }
  return versions.filter(({ tenant_id }) => tenant_id === tenantId)
}
