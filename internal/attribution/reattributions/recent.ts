import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { AuditLogRow } from '../../store/tables/audit-log.js'
import { formatInstant } from '../../units/instant.js'
import type { Answer } from '../changes/answer.js'
import { costOf } from '../changes/moves.js'
import type { ReattributionJob } from '../changes/reattribution-job.js'
import type { RecentAnswer } from './reattribution-contract.js'

/** What a row of the audit log says of an answer. */
const changesOf = z.object({
  before: z.record(z.string(), z.unknown()).optional(),
  after: z.record(z.string(), z.unknown()).optional(),
})

/** Undoing a bulk override, or the override of one call, is the status of what it undid. */
const UNDOING: ReadonlySet<string> = new Set(['attribution.undo_overrides', 'attribution.undo_override'])

interface Lookups {
  readonly job: (id: string) => Promise<ReattributionJob | undefined>
  readonly hasRule: (id: string) => boolean
  readonly nameOfRule: (id: string) => string | undefined
}

/** @param rows of the audit log, newest first */
export async function recentAnswers(rows: readonly AuditLogRow[], lookups: Lookups): Promise<readonly RecentAnswer[]> {
  const undone = new Set<string>()
  const answers: RecentAnswer[] = []
  for (const row of rows) {
    if (UNDOING.has(row.action)) undone.add(row.target)
    else {
      const answer = await answerOf(row, undone.has(row.target), lookups)
      if (answer !== undefined) answers.push(answer)
      // An override made after another one was undone is another answer.
      undone.delete(row.target)
    }
  }
  return answers
}

async function answerOf(row: AuditLogRow, isUndone: boolean, lookups: Lookups): Promise<RecentAnswer | undefined> {
  const read = changesOf.safeParse(JSON.parse(row.changes))
  const { before = null, after = null } = read.success ? read.data : {}
  const common = {
    actor: row.actor === '' ? null : row.actor,
    created_at: formatInstant(row.createdAtMs),
    before: withoutEmpty(before),
    after: withoutEmpty(after),
  }
  if (row.action === 'attribution.override') {
    const status = isUndone ? ('undone' as const) : ('done' as const)
    const figures = { status, can_undo: !isUndone, seen: 1, records: 1, cost_usd: null }
    return { ...common, ...figures, id: row.target, what: 'call', name: null }
  }
  const id = typeof after?.['reattribution'] === 'string' ? after['reattribution'] : row.target
  const job = await lookups.job(id)
  return job === undefined || job.dry_run === true
    ? undefined
    : { ...common, ...ofJob(job, isUndone, lookups), ...figuresOf(job), id }
}

function ofJob(
  { answer, mapping, override, valued, service, status, undone_by: undoneBy }: ReattributionJob,
  isUndone: boolean,
  { hasRule, nameOfRule }: Lookups,
): Pick<RecentAnswer, 'what' | 'name' | 'status' | 'can_undo'> {
  const ended = (isOver: boolean) => ({
    status: isOver ? ('undone' as const) : status,
    can_undo: status === 'done' && !isOver,
  })
  if (answer !== undefined) {
    const entry = answer.after ?? answer.before
    const name = entry === null ? null : 'name' in entry ? entry.name : entry.id
    const shown = { what: WHAT[answer.kind], name, ...ended(undoneBy !== undefined) }
    return isChange(answer) ? shown : { ...shown, can_undo: false }
  }
  if (override !== undefined) return { what: 'calls', name: null, ...ended(isUndone) }
  if (mapping !== undefined) {
    const { rule } = mapping
    // Without the rule there is nothing to undo any more.
    const name = rule === undefined ? null : (nameOfRule(rule) ?? rule)
    return { what: 'mapping_rule', name, status, can_undo: status === 'done' && rule !== undefined && hasRule(rule) }
  }
  const what = valued !== undefined ? 'prices' : service === undefined ? 'period' : 'name'
  return { what, name: service ?? null, status, can_undo: false }
}

/** Calls may have followed an entry that is what it was: there is nothing to go back to. */
export const isChange = ({ before, after }: Answer): boolean => !isDeepStrictEqual(before, after)

const WHAT = { services: 'service', principals: 'principal', pools: 'pool' } as const

function figuresOf({ seen, changed, moves, tally, override }: ReattributionJob) {
  const cost = moves === undefined ? (tally?.cost_usd ?? override?.cost_usd ?? null) : costOf(moves)
  return { seen, records: changed, cost_usd: cost }
}

function withoutEmpty(members: Readonly<Record<string, unknown>> | null): Record<string, unknown> | null {
  const { reattribution: _, ...rest } = members ?? {}
  const stated = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined)
  return stated.length === 0 ? null : Object.fromEntries(stated)
}
