import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { formatId } from '../../ids/ids.js'
import { COST_BASES } from '../../records/bases.js'
import type { StoredAttributionDetail } from '../../store/queries/records/attributions.js'
import type { SimilarQuestion, SimilarRecord } from '../../store/queries/records/similar.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { formatInstant } from '../../units/instant.js'
import { intakeName, seenByOf } from '../sightings/seen-by.js'

/**
 * Records that look like another one: the same model and tokens at about the same time, from another source. They may
 * show the same call, and parallel calls look so as well: they are shown to a person, and nothing merges them.
 */

/** On either side of a record's time. */
const WITHIN_MS = 10_000
const CANDIDATES_MAX = 10

const NOTE =
  'Nothing was merged. These records have the same model and token counts, and no id of a call in common: they may ' +
  'show the same call, or parallel calls that are alike. To have such calls merged, let both sources send the ' +
  'response id, or trace and span.'

const EXAMPLE_TIME = '2026-11-21T09:30:01.120Z'

const candidate = z
  .object({
    id: idOf('attr'),
    invocation_id: idOf('inv'),
    event_id: z.string(),
    source: z.object({
      intake: z.string().meta({ description: '`api`, or the intake of the event, such as `otlp` or `litellm`.' }),
      principal: z.string().meta({ description: 'Id of the credential that sent the event.' }),
      ingestion_layer: z.string(),
    }),
    requested_model: z.string(),
    served_model: z.string(),
    input_tokens: count().nullable(),
    output_tokens: count().nullable(),
    cost_usd: decimalText(),
    cost_basis: z.enum(COST_BASES),
    event_time: timeText(),
    time_difference_ms: z.int().meta({ description: 'Its time minus that of the record: negative if it is earlier.' }),
  })
  .meta({ id: 'SimilarRecord' })

export const LIST_SIMILAR: Operation = {
  id: 'listSimilarAttributions',
  tag: 'Attribution',
  summary: 'Show records of other sources that may show the same call',
  description:
    `Up to ${CANDIDATES_MAX} records of other sources (another credential, or another intake) with the same served ` +
    'model and the same ' +
    `token counts, at most ${WITHIN_MS / 1_000} seconds before or after the record; the nearest first. It only ` +
    'suggests: such records are never merged, since parallel calls are alike. Records that a person has taken apart ' +
    'from this one are left out. A record without token counts is like no other.',
  parameters: { id: idInPath('attr', 'id of the record.') },
  replies: {
    200: {
      description: 'The candidates.',
      contents: json(
        z
          .object({
            id: idOf('attr'),
            candidates: z.array(candidate).max(CANDIDATES_MAX),
            note: z.string().meta({ description: 'What the candidates mean.' }),
          })
          .meta({ id: 'SimilarRecords' }),
        {
          id: exampleId('attr'),
          candidates: [
            {
              id: exampleId('attr'),
              invocation_id: exampleId('inv'),
              event_id: '6f1b5a1e-5c0e-4a57-9a53-2f0c1f7f8f0e',
              source: { intake: 'litellm', principal: 'key_7v3k9q2m', ingestion_layer: 'gateway' },
              requested_model: 'gpt-4o',
              served_model: 'gpt-4o',
              input_tokens: 1200,
              output_tokens: 250,
              cost_usd: '0.0055',
              cost_basis: 'client_estimate',
              event_time: EXAMPLE_TIME,
              time_difference_ms: 1120,
            },
          ],
          note: NOTE,
        },
      ),
    },
  },
}

/** What to look for beside a record; undefined for one without token counts, which say nothing of a call. */
export function similarTo(
  record: StoredAttributionDetail,
  tenantId: string,
  snapshotMs: number,
): SimilarQuestion | undefined {
  if (record.input_tokens === null && record.output_tokens === null) return undefined
  const { also, apart } = seenByOf({ seenBy: record.seen_by })
  return {
    tenantId,
    snapshotMs,
    recordId: record.id,
    eventTimeMs: Number(record.event_time_ms),
    withinMs: WITHIN_MS,
    servedModel: record.served_model,
    inputTokens: record.input_tokens,
    outputTokens: record.output_tokens,
    sources: [record, ...also],
    apart,
    limit: CANDIDATES_MAX,
  }
}

/** Members in wire form. */
export const shownSimilar = (record: StoredAttributionDetail, candidates: readonly SimilarRecord[]): object => ({
  id: formatId('attr', Buffer.from(record.id, 'hex')),
  candidates: candidates.map(
    ({ id, event_time_ms, intake, principal, ingestion_layer, input_tokens, output_tokens, ...rest }) => ({
      ...rest,
      id: formatId('attr', Buffer.from(id, 'hex')),
      invocation_id: formatId('inv', Buffer.from(id, 'hex')),
      source: { intake: intakeName(intake), principal, ingestion_layer },
      input_tokens: input_tokens === null ? null : Number(input_tokens),
      output_tokens: output_tokens === null ? null : Number(output_tokens),
      event_time: formatInstant(Number(event_time_ms)),
      time_difference_ms: Number(event_time_ms) - Number(record.event_time_ms),
    }),
  ),
  note: NOTE,
})
