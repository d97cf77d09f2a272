import type { EventFacts } from '../../../inference/learning/features.js'
import type { Prediction } from '../../../inference/learning/model.js'
import type { ModelCache } from '../../../inference/models/artefacts.js'
import type { StoredModel } from '../../../inference/models/model-version.js'
import type { ServingBoard } from '../../../inference/models/serving-board.js'
import { compared, type ShadowCounts } from '../../../inference/models/shadow.js'
import type { Logger } from '../../../telemetry/log.js'
import { BATCH_MS_MAX, type Clocks, infer } from './infer.js'

export interface InferencesDeps {
  readonly board: Pick<ServingBoard, 'version' | 'candidateOf' | 'faultOf' | 'reportFault' | 'clearFault'>
  readonly models: ModelCache
  /** Whether the process that reported a fault is still running. */
  readonly isLive: (member: string) => boolean
  /** Name of this process. */
  readonly member: string
  readonly clocks: Clocks
  readonly log: Logger
}

export interface Shadow {
  readonly modelId: string
  readonly against: string
  readonly counts: ShadowCounts
}

/** Maximum number of events per batch that a candidate is evaluated on. */
const SHADOW_EVENTS_MAX = 500
/** Retry interval of a model that was too slow. */
const RETRY_MS = 10_000

/** Runs models, and records which of them have faults. */
export class Inferences {
  private readonly deps: InferencesDeps
  /** Versions that exceeded the time limit in their last batch. */
  private readonly late = new Set<string>()
  /** When a version was found too slow or was last retried. */
  private readonly triedAt = new Map<string, number>()

  constructor(deps: InferencesDeps) {
    this.deps = deps
  }

  /** @returns undefined when the version has a fault, which is published to all processes */
  async predict(version: StoredModel, events: readonly EventFacts[]): Promise<readonly Prediction[] | undefined> {
    const { board, models, clocks, log } = this.deps
    const { id } = version
    const loaded = await models.get(version)
    if (loaded.kind === 'fault') {
      log.error({ model: id, fault: loaded.fault, err: loaded.cause }, 'could not load a model')
      board.reportFault(version, loaded.fault)
      return undefined
    }
    try {
      const inferred = await infer(loaded.model, events, this.late.has(id), clocks)
      if (inferred.kind === 'inferred') {
        if (inferred.isLate) this.late.add(id)
        else this.late.delete(id)
        return inferred.predictions
      }
      log.error({ model: id, events: events.length }, 'a model exceeded its time limit')
      this.late.delete(id)
      this.triedAt.set(id, clocks.wall())
      board.reportFault(version, 'slow')
    } catch (cause) {
      log.error({ model: id, err: cause }, 'a model failed on a batch')
      board.reportFault(version, 'corrupt')
    }
    return undefined
  }

  /**
   * Retries the tenant's version, if it was too slow, with the current events and half of the time limit: if it stays
   * within that, it serves again, starting with the next batch.
   */
  async probe(tenantId: string, events: () => Promise<readonly EventFacts[]>): Promise<void> {
    const { board, models, clocks, member, isLive } = this.deps
    const fault = board.faultOf(tenantId)
    const version = fault?.kind === 'slow' ? board.version(fault.model_id) : undefined
    if (fault === undefined || version === undefined || !this.isDue(version.id)) return
    // The process that found the model too slow must also find it fast enough again.
    if (fault.member !== member && isLive(fault.member)) return
    this.triedAt.set(version.id, clocks.wall())
    const loaded = await models.get(version)
    if (loaded.kind === 'fault') return
    const inferred = await infer(loaded.model, await events(), true, clocks, BATCH_MS_MAX / 2).catch(() => undefined)
    if (inferred?.kind === 'inferred') board.clearFault(version)
  }

  /**
   * Evaluates the tenant's candidate, if there is one, on part of the events that the serving version answered. No
   * record is changed, and a failing candidate has no effect on serving.
   */
  async evaluateCandidate(
    serving: StoredModel,
    events: readonly EventFacts[],
    served: readonly Prediction[],
  ): Promise<Shadow | undefined> {
    const { board, models, clocks, log } = this.deps
    const candidate = board.candidateOf(serving.tenant_id)
    if (candidate === undefined || !this.isDue(candidate.id)) return undefined
    const loaded = await models.get(candidate)
    const sample = events.slice(0, SHADOW_EVENTS_MAX)
    try {
      const inferred = loaded.kind === 'model' ? await infer(loaded.model, sample, true, clocks) : undefined
      if (inferred?.kind === 'inferred') {
        const counts = compared(served.slice(0, sample.length), inferred.predictions)
        return { modelId: candidate.id, against: serving.id, counts }
      }
    } catch (cause) {
      log.warn({ err: cause, model: candidate.id }, 'a candidate model failed on a batch')
    }
    this.triedAt.set(candidate.id, clocks.wall())
    return undefined
  }

  private isDue(id: string): boolean {
    const triedAt = this.triedAt.get(id)
    return triedAt === undefined || this.deps.clocks.wall() - triedAt >= RETRY_MS
  }
}
