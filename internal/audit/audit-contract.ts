import { z } from 'zod'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../auth/audit-entry.js'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { PROBLEMS } from '../problems/problem-catalogue.js'
import { exampleId, timeText } from '../text/answer-fields.js'
import { rangeParameters } from '../text/time-range.js'

/** The contract of the audit log route. */

const auditRecord = z
  .object({
    sequence: z.int().min(1).meta({ description: 'Number of the record in the log: 1, 2, 3 and so on without a gap.' }),
    tenant_id: z.string(),
    created_at: timeText(),
    actor: z.string().nullable().meta({
      description: 'Id of the credential, `cli` for the command line, null without authentication.',
    }),
    action: z.enum(AUDIT_ACTIONS),
    target: z.string().nullable().meta({ description: 'Id of the object of the action.' }),
    outcome: z
      .enum(AUDIT_OUTCOMES)
      .meta({ description: '`refused`: rejected (4xx). `failed`: could not be performed (5xx).' }),
    error_code: z.enum(Object.keys(PROBLEMS)).nullable(),
    trace_id: z.string(),
    source_address: z.string().nullable(),
    changes: z
      .object({ before: z.unknown().optional(), after: z.unknown().optional() })
      .nullable()
      .meta({ description: 'The configuration before and after, without secrets.' }),
    repeats: z
      .int()
      .min(1)
      .meta({ description: 'Number of equal refusals in quick succession that this record represents.' }),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({
        description:
          'SHA-256 of the hash of the previous record (32 bytes; zeros before the first) and of the RFC 8785 ' +
          'canonical JSON of this record without `hash`.',
      }),
  })
  .meta({ id: 'AuditRecord' })

const EXAMPLE_RECORD = {
  sequence: 42,
  tenant_id: exampleId('tnt'),
  created_at: '2026-11-21T09:30:00.000Z',
  actor: exampleId('key'),
  action: 'settings.update',
  target: exampleId('tnt'),
  outcome: 'succeeded',
  error_code: null,
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  source_address: null,
  changes: { before: { owner_fallback: 'identity' }, after: { owner_fallback: 'unassigned' } },
  repeats: 1,
  hash: '7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730',
}

export const LIST_AUDIT_LOG: Operation = {
  id: 'listAuditLog',
  tag: 'Audit',
  summary: "List the tenant's audit records, newest first",
  query: {
    ...PAGE_PARAMETERS,
    action: z.enum(AUDIT_ACTIONS).optional().meta({ description: 'Only records of this action.' }),
    actor: z
      .string()
      .regex(/^(?:cli|[a-z]{3}_[0-9a-z]{1,64})$/)
      .optional()
      .meta({ description: 'Only records of this credential.' }),
    outcome: z.enum(AUDIT_OUTCOMES).optional().meta({ description: 'Only records with this outcome.' }),
    ...rangeParameters('records'),
  },
  replies: {
    200: {
      description: 'A page of records.',
      contents: json(pageOf(auditRecord), { data: [EXAMPLE_RECORD], page: { limit: 50, has_more: false } }),
    },
  },
}
