import type { NewReattribution, Reattribution, RecentAnswer } from 'attribution-service/sdk/api'
import { ask } from '../api/ask.js'
import { change, followed } from '../parts/change.js'
import type { TwoChanges } from '../parts/two-changes.js'
import { RULES_PATH, type RuleJob, jobPath as ruleJobPath } from './rule.js'

/** Answers to whose calls are: each changes an entry, and moves the calls of the past that the entry decides. */

/** One entry, as it is to be. */
export type Entry = Pick<NewReattribution, 'service' | 'principal' | 'pool'>
export type Job = Reattribution
export type Answer = RecentAnswer

/** The times of the calls that move. */
export interface Past {
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
}

export const ANSWERS_PATH = '/api/v1/reattributions'

const isOver = ({ status }: Job): boolean => status !== 'running'
const jobPath = ({ id }: Pick<Job, 'id'>): string => `${ANSWERS_PATH}/${id}`

type Show = (job: Job) => void

async function begun(path: string, body: object | undefined, show: Show): Promise<Job> {
  const first = await change<Job>('POST', path, body)
  return followed(first, isOver, jobPath(first), show)
}

/** What an entry would move. */
export const tryEntry = (entry: Entry, past: Past, show: Show): Promise<Job> =>
  begun(`${ANSWERS_PATH}/dry-run`, { ...entry, ...span(past) }, show)

export const changeEntry = (entry: Entry, past: Past, show: Show): Promise<Job> =>
  begun(ANSWERS_PATH, { ...entry, ...span(past) }, show)

/** Prices the calls that have no price by the prices that there are now. */
export const applyPrices = (past: Past, show: Show): Promise<Job> => begun('/api/v1/prices/apply', span(past), show)

const span = ({ fromMs, toMs }: Past) => ({
  from: new Date(fromMs).toISOString(),
  // Until now by the service's clock.
  ...(toMs < Date.now() && { to: new Date(toMs).toISOString() }),
})

/** Takes an answer back, by what the API has for its kind. Done when what it moved has moved back. */
export async function undoAnswer({ what, id, after }: Answer, twoChanges: TwoChanges): Promise<void> {
  if (what === 'call') return change('DELETE', `/v1/attribution/${id}/override`)
  if (what === 'calls') {
    const path = `/v1/attribution/overrides/${id}`
    await change('POST', `${path}/undo`)
    return untilEnded(`${path}/status`, ['undone'])
  }
  if (what === 'mapping_rule') {
    const rule = String(after?.['rule'])
    return twoChanges(['DELETE', `${RULES_PATH}/${rule}`], async () => {
      const job = await change<RuleJob>('POST', `${RULES_PATH}/apply`, { from: after?.['from'], rule })
      return untilEnded(ruleJobPath(job), ['done', 'cancelled'])
    })
  }
  const job = await change<Job>('POST', `${jobPath({ id })}/undo`)
  return untilEnded(jobPath(job), ['done', 'cancelled'])
}

async function untilEnded(path: string, ends: readonly string[]): Promise<void> {
  const first = await ask<{ readonly status: string }>(path)
  await followed(
    first,
    ({ status }) => ends.includes(status),
    path,
    () => undefined,
  )
}
