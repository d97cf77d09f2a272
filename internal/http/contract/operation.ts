import type { z } from 'zod'
import type { ErrorCode } from '../../problems/problem-catalogue.js'

/** The areas of the API, in the order in which its description lists them. */
export const TAGS = {
  Ingestion: 'Events sent by capture layers.',
  Attribution: 'Attribution records: who and what caused each call, with evidence.',
  Models: 'Trained inference models: versions, model cards, promotion and recall.',
  Reports: 'Cost, usage and user counts of calls, grouped by dimension and time.',
  Budgets: 'Cost ceilings per day, week, month or quarter; crossing a threshold emits an event.',
  Access: 'API keys, OAuth clients and users.',
  Settings: 'Settings of the tenant.',
  Audit: 'Audit log of actions performed and refused.',
  Limits: 'Rate limits of the caller.',
  Authorization: 'OAuth 2.0 access tokens: issue, revoke, verify.',
  Exports: 'Chargeback files for FinOps tools (FOCUS), produced by asynchronous jobs.',
  Directory: 'Services, identities, principals and sources that a tenant declares.',
  'Mapping rules': 'Rules that attribute calls by what they say of themselves, where the directory knows no service.',
  Prices: 'Negotiated prices and model names of the tenant.',
  'Usage conventions': 'What the token counts of a sender mean, where nothing else tells.',
  Webhooks: 'Webhook endpoints, deliveries and event payloads.',
  Pools: 'Cost pools: where the cost of unattributed calls is allocated.',
  Connectors: 'Partner systems that send and read data on behalf of a tenant.',
  Partner: 'API for partner connectors.',
  Console: 'The page for people, its files, and the views that people save.',
  Health: 'Liveness and readiness.',
  Contract: 'The API description and the error pages.',
} as const
export type Tag = keyof typeof TAGS

/** Path or query parameters by name. Values are parsed as the schema's type; `meta` describes them. */
export type Parameters = Readonly<Record<string, z.ZodType>>

/** A body of one media type. */
export interface Content {
  readonly schema: z.ZodType
  readonly example?: unknown
}

/** By media type. */
export type Contents = Readonly<Record<string, Content>>

export interface BodyContract {
  readonly description?: string
  readonly contents: Contents
  /** Whether an empty body is accepted and read as `{}`. */
  readonly isOptional?: true
}

export interface ReplyContract {
  readonly description: string
  /** In addition to the headers common to all such replies. */
  readonly headers?: Readonly<Record<string, z.ZodType>>
  /** Absent: no body. */
  readonly contents?: Contents
}

export type ReplyStatus = 200 | 201 | 202 | 204 | 206 | 302 | 303 | 304

/**
 * The contract of a route, as data that is read at start: the OpenAPI description is generated from it, and the
 * contract tests send requests to it. Whatever follows from the rest of the route's declaration (credential,
 * Idempotency-Key, rate limit and their problems) is not repeated here.
 */
export interface Operation {
  /** Method name in generated clients; frozen within a major version. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** By the names of the path's parameters. */
  readonly parameters?: Parameters
  readonly query?: Parameters
  readonly body?: BodyContract
  /** When the Idempotency-Key of a change may be left out; absent: never. */
  readonly withoutKey?: string
  readonly replies: Readonly<Partial<Record<ReplyStatus, ReplyContract>>>
  /** Problems that do not follow from the declaration. */
  readonly problems?: readonly ErrorCode[]
  /** The form of its problem bodies, if they have more members than `problemDetails`. */
  readonly problem?: z.ZodType
  /** Media types of its problems beside `application/problem+json`, selected by the Accept header. */
  readonly problemTypes?: readonly ('application/json' | 'text/html')[]
}

export const json = (schema: z.ZodType, example?: unknown): Contents => ({ 'application/json': { schema, example } })
