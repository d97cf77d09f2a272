import type { z } from 'zod'
import type { ErrorCode } from '../../problems/catalogue.js'

/** The areas of the API, in the order in which its description lists them. */
export const TAGS = {
  Ingestion: 'Events that capture layers send.',
  Attribution: 'Records of who and what caused a call, with their evidence.',
  Models: 'What trained inference has learned, and what of it serves.',
  Reports: 'What calls amount to, and how many people make them, by groups and time.',
  Budgets: 'Ceilings on what calls may cost, and what is told when they are reached.',
  Access: 'Who may call, and with what: API keys, OAuth clients, people.',
  Settings: 'How the tenant wants the service to work.',
  Audit: 'What was done and refused.',
  Limits: 'What a caller may still ask for.',
  Authorization: 'Access tokens: who gets them, how they end, how to verify them.',
  Exports: 'Chargeback files for FinOps tools (FOCUS), made by jobs.',
  Directory: 'What a tenant tells of itself: its services, identities, credentials and sources.',
  Prices: 'What a tenant pays, where that is not the list price.',
  Webhooks: 'Where events are sent to, what became of each, and the events themselves.',
  Pools: 'Where the cost of calls is kept that nobody could be named for.',
  Connectors: 'Partners that send and read for a tenant.',
  Partner: 'What a connector may ask for itself.',
  Health: 'Whether the process runs, and whether it can work.',
  Contract: 'What the service says of itself.',
} as const
export type Tag = keyof typeof TAGS

/** Values in a path or a query, by name. What stands there is read as the schema's type; `meta` describes it. */
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
  /** Whether an empty body stands for one without members. */
  readonly isOptional?: true
}

export interface ReplyContract {
  readonly description: string
  /** Beside those that every reply of its kind carries. */
  readonly headers?: Readonly<Record<string, z.ZodType>>
  /** Absent: no body. */
  readonly contents?: Contents
}

export type ReplyStatus = 200 | 201 | 202 | 204 | 206 | 302 | 303 | 304

/**
 * What a route promises its callers. Data, read at start: the OpenAPI description is made of it, and the tests fire
 * at it. What follows from the rest of a route's declaration (credential, key, rate limit, and the problems of these)
 * is not repeated here.
 */
export interface Operation {
  /** Its name in generated clients; frozen within a major version. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** By the names of the path's parameters. */
  readonly parameters?: Parameters
  readonly query?: Parameters
  readonly body?: BodyContract
  readonly replies: Readonly<Partial<Record<ReplyStatus, ReplyContract>>>
  /** Problems of its own, beside those that follow from the declaration. */
  readonly problems?: readonly ErrorCode[]
  /** What its problem bodies may hold beside the members that all have. */
  readonly problemMembers?: Readonly<Record<string, z.ZodType>>
  /** Media types in which its problems are written beside `application/problem+json`, for those who ask for them. */
  readonly problemTypes?: readonly ('application/json' | 'text/html')[]
}

export const json = (schema: z.ZodType, example?: unknown): Contents => ({ 'application/json': { schema, example } })
