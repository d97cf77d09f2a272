import type { Logger } from '../../../telemetry/log.js'
import type { EventFacts } from '../../inference/learning/features.js'
import type { Prediction } from '../../inference/learning/model.js'
import type { ModelCache } from '../../inference/models/artefacts.js'
import type { ServingBoard } from '../../inference/models/serving-board.js'
import { compared, type ShadowCounts } from '../../inference/models/shadow.js'
import type { StoredModel } from '../../inference/models/version.js'
import { BATCH_MS_MAX, type Clocks, infer } from './infer.js'

export interface InferencesDeps {
  readonly board: Pick<ServingBoard, 'version' | 'candidateOf' | 'faultOf' | 'meet' | 'mend'>
  readonly models: ModelCache
  /** Whether a process that has met a fault still runs. */
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

/** Of a batch, so many events are shown to a candidate. */
const SHADOW_EVENTS_MAX = 500
/** A model that was too slow is tried again so often. */
const TRY_EVERY_MS = 10_000

/** Asks models, and notes which of them cannot answer. */
export class Inferences {
  private readonly deps: InferencesDeps
  /** Versions that were over the limit in their last batch. */
  private readonly late = new Set<string>()
  /** When a version was found too slow, or tried again. */
  private readonly triedAt = new Map<string, number>()

  constructor(deps: InferencesDeps) {
    this.deps = deps
  }

  /** @returns undefined when the version cannot answer; everybody knows of its fault from then on */
  async ask(version: StoredModel, events: readonly EventFacts[]): Promise<readonly Prediction[] | undefined> {
    const { board, models, clocks, log } = this.deps
    const { id } = version
    const loaded = await models.get(version)
    if (loaded.kind === 'fault') {
      log.error({ model: id, fault: loaded.fault, err: loaded.cause }, 'a model cannot be read')
      board.meet(version, loaded.fault)
      return undefined
    }
    try {
      const inferred = await infer(loaded.model, events, this.late.has(id), clocks)
      if (inferred.kind === 'inferred') {
        if (inferred.isLate) this.late.add(id)
        else this.late.delete(id)
        return inferred.predictions
      }
      log.error({ model: id, events: events.length }, 'a model is too slow')
      this.late.delete(id)
      this.triedAt.set(id, clocks.wall())
      board.meet(version, 'slow')
    } catch (cause) {
      log.error({ model: id, err: cause }, 'a model fails at events')
      board.meet(version, 'corrupt')
    }
    return undefined
  }

  /**
   * Tries the tenant's version, if it was too slow, with the events at hand and half of the time: when it is well
   * within it, it serves again from the next batch on.
   */
  async probe(tenantId: string, events: () => Promise<readonly EventFacts[]>): Promise<void> {
    const { board, models, clocks, member, isLive } = this.deps
    const fault = board.faultOf(tenantId)
    const version = fault?.kind === 'slow' ? board.version(fault.model_id) : undefined
    if (fault === undefined || version === undefined || !this.isDue(version.id)) return
    // Where it was too slow, there it must be fast enough again.
    if (fault.member !== member && isLive(fault.member)) return
    this.triedAt.set(version.id, clocks.wall())
    const loaded = await models.get(version)
    if (loaded.kind === 'fault') return
    const inferred = await infer(loaded.model, await events(), true, clocks, BATCH_MS_MAX / 2).catch(() => undefined)
    if (inferred?.kind === 'inferred') board.mend(version)
  }

  /**
   * Shows a part of what a version has answered to the tenant's candidate, if there is one. No record is touched, and
   * what is wrong with a candidate concerns nobody yet.
   */
  async lookInShadow(
    serving: StoredModel,
    events: readonly EventFacts[],
    served: readonly Prediction[],
  ): Promise<Shadow | undefined> {
    const { board, models, clocks, log } = this.deps
    const candidate = board.candidateOf(serving.tenant_id)
    if (candidate === undefined || !this.isDue(candidate.id)) return undefined
    const loaded = await models.get(candidate)
    const shown = events.slice(0, SHADOW_EVENTS_MAX)
    try {
      const inferred = loaded.kind === 'model' ? await infer(loaded.model, shown, true, clocks) : undefined
      if (inferred?.kind === 'inferred') {
        const counts = compared(served.slice(0, shown.length), inferred.predictions)
        return { modelId: candidate.id, against: serving.id, counts }
      }
    } catch (cause) {
      log.warn({ err: cause, model: candidate.id }, 'a candidate fails at events')
    }
    this.triedAt.set(candidate.id, clocks.wall())
    return undefined
  }

  private isDue(id: string): boolean {
    const triedAt = this.triedAt.get(id)
    return triedAt === undefined || this.deps.clocks.wall() - triedAt >= TRY_EVERY_MS
  }
}
