import { z } from 'zod'
import type { Problem } from '../problems/problem-catalogue.js'
import { parseDayOrInstant } from '../units/day-or-instant.js'
import { readZone } from '../units/time-zone.js'
import { badParameter } from './query-string.js'

/** `from`, `to` and `time_zone` of a list: one form and one meaning in every operation. */

export const RANGE_NAMES = ['from', 'to', 'time_zone'] as const
export type StatedRange = { readonly [K in (typeof RANGE_NAMES)[number]]?: string | undefined }

/** Milliseconds since the epoch; the end is exclusive. */
export interface TimeRange {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

const EDGE_FORM = 'a day (YYYY-MM-DD, in the time zone) or an RFC 3339 time'

export function readRange({ from, to, time_zone }: StatedRange): TimeRange | Problem {
  const zone = readZone(time_zone ?? 'UTC')
  if (zone === undefined) return badParameter('/time_zone', 'time_zone must be a name from the tz database.')
  const [fromMs, toMs] = [from, to].map((text) => (text === undefined ? undefined : parseDayOrInstant(text, zone)))
  if (from !== undefined && fromMs === undefined) return badParameter('/from', `from must be ${EDGE_FORM}.`)
  if (to !== undefined && toMs === undefined) return badParameter('/to', `to must be ${EDGE_FORM}.`)
  return { fromMs, toMs }
}

/** For the OpenAPI document. @param what a plural */
export const rangeParameters = (what: string) => ({
  from: z
    .string()
    .optional()
    .meta({ description: `Only ${what} at or after this time: ${EDGE_FORM}.`, examples: ['2026-11-01'] }),
  to: z
    .string()
    .optional()
    .meta({ description: `Only ${what} before this time; in the form of \`from\`.`, examples: ['2026-12-01'] }),
  time_zone: z
    .string()
    .optional()
    .meta({
      description: 'Time zone of days: a name from the tz database.',
      default: 'UTC',
      examples: ['Asia/Kolkata'],
    }),
})
