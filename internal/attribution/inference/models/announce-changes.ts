import { setTimeout as sleep } from 'node:timers/promises'
import type { PublishEvent } from '../../../events/publish.js'
import type { Logger } from '../../../telemetry/log.js'
import { firstDegradation, withState } from './degradation.js'
import type { ServingBoard } from './serving-board.js'

export interface AnnounceDeps {
  readonly board: ServingBoard
  readonly tenantIds: () => Iterable<string>
  /** Whether this process is the one that follows a tenant. */
  readonly owns: (what: string) => boolean
  readonly publishEvent: PublishEvent
  readonly clock: () => number
  readonly log: Logger
}

export interface Announcing {
  /** Another process has perhaps stopped following what falls to this one now. */
  lookAtAll(): void
  /** Resolves when `signal` has aborted and what was under way is settled. */
  readonly stopped: Promise<void>
}

const RETRY_MS = 500

/**
 * Follows how each tenant is served, writes it down, and publishes each change once it is kept and before the next is,
 * also when the one who wrote it died in between; the same change again is the same event (spec 6.1).
 */
export function announceChanges(deps: AnnounceDeps, signal: AbortSignal): Announcing {
  const waiting = new Set<string>()
  let wake: () => void = () => undefined
  const look = (tenantId: string): void => {
    waiting.add(tenantId)
    wake()
  }
  const lookAtAll = (): void => {
    for (const tenantId of deps.tenantIds()) look(tenantId)
  }
  deps.board.onChange(look)
  signal.addEventListener('abort', () => wake())

  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const [tenantId] = waiting
      if (tenantId === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      // Before: what changes meanwhile is looked at again.
      waiting.delete(tenantId)
      try {
        await settle(tenantId, deps)
      } catch (cause) {
        deps.log.warn({ err: cause, tenantId }, 'could not save the serving state of a tenant yet; will retry')
        waiting.add(tenantId)
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
  }
  lookAtAll()
  return { lookAtAll, stopped: work() }
}

/** Brings a tenant's record, and what was published of it, to what is known here. */
async function settle(tenantId: string, { board, owns, publishEvent, clock }: AnnounceDeps): Promise<void> {
  const { degradations } = board
  const isOurs = (): boolean => owns(`degradation.${tenantId}`)
  if (!isOurs() && !board.hasFindings(tenantId)) return
  const degradation =
    (await degradations.read(tenantId)) ??
    (await degradations.createOnce(tenantId, firstDegradation(tenantId, board.of(tenantId).state, clock())))
  let current =
    board.withFindings(degradation) === degradation
      ? degradation
      : await degradations.change(tenantId, (found) => {
          const updated = board.withFindings(found)
          return updated === found ? undefined : updated
        })

  while (current !== undefined && isOurs()) {
    if (!current.is_announced) {
      const { changes, was: from, state: to } = current
      await publishEvent({
        tenantId,
        type: 'degradation.state.changed',
        cause: `${tenantId} ${changes}`,
        data: { from, to },
      })
      current = await degradations.change(tenantId, (found) =>
        found.changes === changes && !found.is_announced ? { ...found, is_announced: true } : undefined,
      )
      continue
    }
    const { state } = board.of(tenantId)
    if (current.state === state) return
    current = await degradations.change(tenantId, (found) =>
      found.is_announced && found.state !== state ? withState(found, state, clock()) : undefined,
    )
  }
}
