import { setTimeout as sleep } from 'node:timers/promises'
import type { PublishEvent } from '../../events/publish-event.js'
import type { Logger } from '../../telemetry/log.js'
import { firstDegradation, withState } from './degradation.js'
import type { ServingBoard } from './serving-board.js'

export interface AnnounceDeps {
  readonly board: ServingBoard
  readonly tenantIds: () => Iterable<string>
  /** Whether this process owns a key, such as the serving state of a tenant. */
  readonly owns: (key: string) => boolean
  readonly publishEvent: PublishEvent
  readonly clock: () => number
  readonly log: Logger
}

export interface Announcing {
  /** Checks all tenants again: this process may now own tenants of a process that has stopped. */
  recheckAll(): void
  /** Resolves when `signal` has aborted and the work in flight has ended. */
  readonly stopped: Promise<void>
}

const RETRY_MS = 500

/**
 * Watches the serving state of each tenant, stores it, and publishes one event per change: after the change is stored
 * and before the next one is, even if the process that stored it dies in between. Publishing a change again gives the
 * same event.
 */
export function announceChanges(deps: AnnounceDeps, signal: AbortSignal): Announcing {
  const waiting = new Set<string>()
  let wake: () => void = () => undefined
  const recheck = (tenantId: string): void => {
    waiting.add(tenantId)
    wake()
  }
  const recheckAll = (): void => {
    for (const tenantId of deps.tenantIds()) recheck(tenantId)
  }
  deps.board.onChange(recheck)
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
      // Deleted first, so that a change during the work is checked again.
      waiting.delete(tenantId)
      try {
        await bringUpToDate(tenantId, deps)
      } catch (cause) {
        deps.log.warn({ err: cause, tenantId }, 'could not save the serving state of a tenant yet; will retry')
        waiting.add(tenantId)
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
  }
  recheckAll()
  return { recheckAll, stopped: work() }
}

/** Makes the stored serving state of a tenant, and its published events, agree with the serving board. */
async function bringUpToDate(tenantId: string, { board, owns, publishEvent, clock }: AnnounceDeps): Promise<void> {
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
