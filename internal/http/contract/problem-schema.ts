import { z } from 'zod'
import { type ErrorCode, PROBLEMS } from '../../problems/problem-catalogue.js'

/** The closed list of error codes. */
export const errorCode = z.enum(Object.keys(PROBLEMS) as ErrorCode[]).meta({ id: 'ErrorCode' })

/** One error in a body or a query (RFC 9457 section 3.1.1, its example). */
export const fieldError = z
  .object({
    pointer: z.string().meta({
      description: 'JSON Pointer (RFC 6901) into the body, or into the query read as an object.',
    }),
    detail: z.string().meta({ description: 'The rule that was broken; never the value itself.' }),
  })
  .meta({ id: 'FieldError' })

/** The members of every 4xx and 5xx. Each operation lists its own codes. */
export const problemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    instance: z.string().meta({ description: 'Path of the request.' }),
    error_code: errorCode,
    trace_id: z.string().regex(/^[0-9a-f]{32}$/),
    tenant_id: z.string().nullable().meta({ description: 'Tenant of the caller; null before authentication.' }),
    docs_url: z.string(),
    errors: z.array(fieldError).optional().meta({ description: 'Errors in the body or the query.' }),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457).' })
