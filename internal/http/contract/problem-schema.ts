import { z } from 'zod'
import { type ErrorCode, PROBLEMS } from '../../problems/catalogue.js'

/** The closed list (spec 7.4). */
export const errorCode = z.enum(Object.keys(PROBLEMS) as ErrorCode[]).meta({ id: 'ErrorCode' })

/** One thing wrong with a body or a query (RFC 9457 section 3.1.1, its example). */
export const fieldError = z
  .object({
    pointer: z.string().meta({
      description: 'Where, a JSON pointer into the body, or into the query as if it were an object (RFC 6901).',
    }),
    detail: z.string().meta({ description: 'Why; never the value.' }),
  })
  .meta({ id: 'FieldError' })

/** The members of every 4xx and 5xx (spec 7.2). An operation's description names the codes that it answers with. */
export const problemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    instance: z.string().meta({ description: 'Path of the request.' }),
    error_code: errorCode,
    trace_id: z.string().regex(/^[0-9a-f]{32}$/),
    tenant_id: z.string().nullable().meta({ description: "The caller's own; null before authentication." }),
    docs_url: z.string(),
    errors: z.array(fieldError).optional().meta({ description: 'What is wrong with the body or the query.' }),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457).' })
