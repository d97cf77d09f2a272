import { z } from 'zod'
import { json, type ReplyContract } from '../../http/contract/operation.js'
import { count, decimalText, exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { instant } from '../../text/plain-text.js'

/** What the contracts of jobs over records of the past have in common (`asked-job.ts`). */

const DAYS_MAX = 92
export const DAYS_DEFAULT = 30

export const daysField = z
  .int()
  .min(1)
  .max(DAYS_MAX)
  .nullish()
  .meta({ description: `Calls of the last so many days. Default: ${DAYS_DEFAULT}.` })

export const periodFields = {
  from: instant().meta({ description: 'Calls made at or after this time.' }),
  to: instant().nullish().meta({ description: 'Calls made before this time. Default: now.' }),
}

export const jobFields = {
  id: idOf('rea'),
  status: z.enum(['running', 'done', 'cancelled']),
  dry_run: z.boolean(),
  from: timeText(),
  to: timeText(),
  created_at: timeText(),
}

export const sumFields = { records: count(), cost_usd: decimalText() }

/** Of a job that gives records another service and owner. */
export const moveFields = {
  ...sumFields,
  unnamed: count().meta({
    description: 'Records that stay as they are, because the name of their identity is not stored.',
  }),
  moves: z
    .array(
      z.object({
        from_service: z.string(),
        from_owner: z.string(),
        to_service: z.string(),
        to_owner: z.string(),
        ...sumFields,
      }),
    )
    .meta({
      description:
        'The changed records by service and owner before and after, the most costly first; at most 1,000, the others ' +
        'in one. A person who owns her own calls is `(the caller)`.',
    }),
}

const EXAMPLE_SUM = { records: 1_204, cost_usd: '18.42' }

export const EXAMPLE_JOB = {
  id: exampleId('rea'),
  status: 'done' as const,
  dry_run: true,
  from: '2026-10-22T09:30:00.000Z',
  to: '2026-11-21T09:30:00.000Z',
  seen: 48_211,
  ...EXAMPLE_SUM,
  created_at: '2026-11-21T09:30:00.000Z',
}

type Places = Record<'from_service' | 'from_owner' | 'to_service' | 'to_owner', string>
export const exampleMoves = (places: Places) => ({ unnamed: 0, moves: [{ ...places, ...EXAMPLE_SUM }] })

/**
 * @param example of a job that is done
 * @returns the job as an operation answers it, and the answers of one that starts it
 */
export function jobReplies<Job extends object>(schema: z.ZodType<Job>, example: Job) {
  const state = (description: string, shown: object): ReplyContract => ({
    description,
    contents: json(schema, { ...example, ...shown }),
  })
  return {
    job: { 200: state('The job.', {}) },
    started: (done: string, shown: { readonly dry_run: boolean; readonly moves?: readonly [] }, path?: string) => ({
      200: state(done, shown),
      202: state(`The job still runs; \`GET${path ?? ''}\` shows how far it is.`, {
        ...shown,
        status: 'running',
        seen: 10_000,
      }),
    }),
  }
}
