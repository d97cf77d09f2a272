import { OUTCOMES, USAGE_BASES } from '../text/call-words.js'
import { type CamelCase, camelCase } from '../text/straight-line.js'
import type { Quantity } from '../units/quantity.js'
import { COST_BASES, COST_BOUNDS, FOOTPRINT_BASES } from './bases.js'
import {
  CONFIDENCE_BANDS,
  CONTESTED_BY,
  DEGRADATION_STATES,
  EVIDENCE_BASES,
  EXPORT_ELIGIBILITIES,
  FRESHNESSES,
  OUTPUT_STATES,
  PATHWAY_CATEGORIES,
  STAGE_ORIGINS,
} from './interpretation.js'

/**
 * The fields of an attribution record. This table is the one source of the row type, the stored columns and their
 * codec, the SELECT lists, the wire form and its schema, and of which members come from the event and return to it when
 * a record is re-attributed. A new field takes an entry here and a migration; one that producers state takes an entry
 * in the event's schema besides.
 */

/** The type of a row's member by the kind of its field. The kind also decides the stored type and the wire form. */
export interface ValueOfKind {
  /** Text with few distinct values. */
  readonly label: string
  readonly text: string
  readonly uuid: string
  readonly bytes16: Uint8Array
  /** Milliseconds since the epoch, UTC; the member's name ends in `Ms`. */
  readonly instant: number
  readonly usd: Quantity<'USD'>
  readonly wh: Quantity<'Wh'>
  readonly gco2e: Quantity<'gCO2e'>
  readonly optionalUsd: Quantity<'USD'> | undefined
  /** Ten-thousandths, 0 to 9,500. */
  readonly confidence: number
  /** 0 to 2^53 - 1; undefined where it is unknown. */
  readonly count: number | undefined
  readonly flag: boolean
  readonly tags: Readonly<Record<string, string>> | undefined
  /** Of `dimensions.ts`: declared tag keys, each with its value. */
  readonly pairs: readonly string[]
  readonly uint16: number
  readonly uint32: number
  readonly uint64: number
}
export type FieldKind = keyof ValueOfKind

/**
 * Where a field appears in the wire form: the record's members in the order of these groups, within a group in the
 * order of the table. `interpretation` is an object of its own.
 */
export const WIRE_GROUPS = ['head', 'interpretation', 'times', 'trace', 'tokens', 'bases'] as const
export type WireGroup = (typeof WIRE_GROUPS)[number]

interface FieldDeclaration {
  /** Name of the column, and of the member on the wire. */
  readonly name: string
  readonly kind: FieldKind
  /** The event states it: the row copies it, and re-attribution reads it back from the row. */
  readonly isStated?: true
  /** A label or text that may be absent: stored as '', null on the wire. */
  readonly isOptional?: true
  /** Part of the wire form, in this group. */
  readonly wire?: WireGroup
  /** Name on the wire, if it differs. */
  readonly wireName?: string
  /** Read beside the wire form where one record is explained. */
  readonly isExplained?: true
  /** Copied into `closed`, because rollups count by it: a closed version is subtracted by the same columns. */
  readonly isInClosed?: true
  /** The closed list that the label is from. */
  readonly values?: readonly string[]
  /** For the OpenAPI document. */
  readonly description?: string
}

/** In the order of the stored columns. */
export const RECORD_FIELDS = [
  { name: 'tenant_id', kind: 'label' },
  // The 16 bytes that `attr_` and `inv_` share.
  { name: 'id', kind: 'bytes16' },
  { name: 'event_id', kind: 'uuid', isStated: true },
  {
    name: 'event_time',
    kind: 'instant',
    isStated: true,
    wire: 'times',
    isInClosed: true,
    description: '`ingestion_timestamp` of the event.',
  },
  { name: 'valid_from', kind: 'instant', wire: 'times', wireName: 'materialized_at' },

  { name: 'provider', kind: 'label', isStated: true, wire: 'head', isInClosed: true },
  { name: 'requested_model', kind: 'label', isStated: true, wire: 'head' },
  { name: 'served_model', kind: 'label', wire: 'head', isInClosed: true },
  { name: 'service', kind: 'label', wire: 'head', isInClosed: true },
  { name: 'owner', kind: 'label', wire: 'head', isInClosed: true },
  { name: 'cost_usd', kind: 'usd', wire: 'head', isInClosed: true },
  { name: 'energy_wh', kind: 'wh', wire: 'head', isInClosed: true },
  { name: 'carbon_gco2e', kind: 'gco2e', wire: 'head', isInClosed: true },
  { name: 'pathway_category', kind: 'label', values: PATHWAY_CATEGORIES, wire: 'head', isInClosed: true },
  { name: 'output_state', kind: 'label', values: OUTPUT_STATES, wire: 'head', isInClosed: true },

  { name: 'stage_origin', kind: 'label', values: STAGE_ORIGINS, wire: 'interpretation', isInClosed: true },
  { name: 'confidence', kind: 'confidence', wire: 'interpretation' },
  // The producer's confidence in its own attribution, an upper limit of `confidence`; the policy cap if none is stated.
  { name: 'attribution_confidence', kind: 'confidence', isExplained: true },
  { name: 'confidence_band', kind: 'label', values: CONFIDENCE_BANDS, wire: 'interpretation', isInClosed: true },
  {
    name: 'evidence_basis',
    kind: 'label',
    values: EVIDENCE_BASES,
    wire: 'interpretation',
    isInClosed: true,
    description: 'The strongest evidence behind the result.',
  },
  { name: 'model_version', kind: 'label', wire: 'interpretation' },
  { name: 'degradation_state', kind: 'label', values: DEGRADATION_STATES, wire: 'interpretation', isInClosed: true },
  { name: 'freshness', kind: 'label', values: FRESHNESSES, wire: 'interpretation' },
  {
    name: 'export_eligibility',
    kind: 'label',
    values: EXPORT_ELIGIBILITIES,
    wire: 'interpretation',
    isInClosed: true,
    description: 'The first reason that applies.',
  },
  {
    name: 'contested',
    kind: 'label',
    values: CONTESTED_BY,
    isOptional: true,
    wire: 'interpretation',
    description:
      'The kind of fact that contradicts the attribution; null when nothing does. With `trace`, the call ' +
      'states no service, and other calls of its trace belong to several. The `conflict` in the evidence of ' +
      'the explanation names both sides.',
  },

  {
    name: 'cost_basis',
    kind: 'label',
    values: COST_BASES,
    wire: 'bases',
    isInClosed: true,
    description: 'Where the cost comes from; with `unpriced` it is unknown: 0, or the part of it that has a price.',
  },
  {
    name: 'cost_bound',
    kind: 'label',
    values: COST_BOUNDS,
    isOptional: true,
    wire: 'bases',
    description:
      'What the price does not know of the call. `upper`: no rate for cached tokens is known, and they are billed ' +
      'at the input rate. `lower`: all or a part of the call has no price, and the cost lacks it. Null: neither, ' +
      'or both at once, or the cost was computed before this field existed.',
  },
  {
    name: 'usage_basis',
    kind: 'label',
    values: USAGE_BASES,
    wire: 'bases',
    description:
      'How well the token counts are known. With `partial`, as of an interrupted stream, cost and footprint ' +
      'are lower bounds.',
  },
  {
    name: 'outcome',
    kind: 'label',
    values: OUTCOMES,
    isStated: true,
    isOptional: true,
    wire: 'bases',
    description: 'How the call ended; null if its source does not say.',
  },
  { name: 'energy_basis', kind: 'label', values: FOOTPRINT_BASES, wire: 'bases', isInClosed: true },
  { name: 'carbon_basis', kind: 'label', values: FOOTPRINT_BASES, wire: 'bases', isInClosed: true },
  // JSON without figures of the single call, so that the dictionary of the column stores equal ones once.
  { name: 'evidence', kind: 'label', isExplained: true },
  { name: 'cost_details', kind: 'label', isExplained: true },
  { name: 'footprint_details', kind: 'label', isExplained: true },
  // JSON of the probabilities of an inferred attribution and its alternatives; '' if nothing was inferred.
  { name: 'inference', kind: 'text', isExplained: true },

  { name: 'input_tokens', kind: 'count', isStated: true, wire: 'tokens', isInClosed: true },
  { name: 'output_tokens', kind: 'count', isStated: true, wire: 'tokens', isInClosed: true },
  { name: 'cached_input_tokens', kind: 'count', isStated: true, isExplained: true, isInClosed: true },
  // Parts of `cached_input_tokens`.
  { name: 'cached_audio_input_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'cached_image_input_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'cache_write_tokens', kind: 'count', isStated: true, isExplained: true, isInClosed: true },
  { name: 'cache_write_ttl_seconds', kind: 'count', isStated: true, isExplained: true },
  // Parts of `cache_write_tokens`.
  { name: 'cache_write_5m_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'cache_write_1h_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'reasoning_tokens', kind: 'count', isStated: true, isExplained: true, isInClosed: true },
  { name: 'audio_input_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'audio_output_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'image_input_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'image_output_tokens', kind: 'count', isStated: true, isExplained: true },
  // Tools that the provider ran and charges per call.
  { name: 'web_search_calls', kind: 'count', isStated: true, isExplained: true },
  { name: 'file_search_calls', kind: 'count', isStated: true, isExplained: true },
  { name: 'code_execution_calls', kind: 'count', isStated: true, isExplained: true },
  // Decimal text per unit.
  { name: 'billed_units', kind: 'tags', isStated: true, isExplained: true },
  // Totals by another reading of what the sender stated.
  { name: 'alternative_input_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'alternative_output_tokens', kind: 'count', isStated: true, isExplained: true },
  { name: 'latency_ms', kind: 'count', isStated: true, isExplained: true },
  { name: 'estimated_cost_usd', kind: 'optionalUsd', isStated: true, isExplained: true },
  { name: 'service_tier', kind: 'label', isStated: true, isOptional: true, isExplained: true },
  { name: 'speed', kind: 'label', isStated: true, isOptional: true, isExplained: true },
  { name: 'served_from_cache', kind: 'flag', isStated: true, isExplained: true },
  { name: 'region', kind: 'label', isStated: true, isOptional: true, isExplained: true },

  { name: 'ingestion_layer', kind: 'label', isStated: true, isExplained: true, isInClosed: true },
  { name: 'principal', kind: 'label', isExplained: true, isInClosed: true },
  // Whether a gateway held the credential when it sent the event: its word on who called then counts.
  { name: 'sent_by_gateway', kind: 'flag' },
  // Hash of the stated identity with the tenant's key; zeros if none was stated.
  { name: 'identity_hash', kind: 'bytes16', isInClosed: true },
  // `otlp`, `litellm`, ...; '' for the API.
  { name: 'intake', kind: 'label', isExplained: true },
  { name: 'trace_id', kind: 'text', isStated: true, isOptional: true, wire: 'trace' },
  { name: 'span_id', kind: 'text', isStated: true, isOptional: true, isExplained: true },
  // Finds the record of the span around a call: both may show the same one.
  { name: 'parent_span_id', kind: 'text', isStated: true, isOptional: true },
  // Of several observers in one process, which one.
  { name: 'instrumentation', kind: 'label', isStated: true, isOptional: true, isExplained: true },
  { name: 'response_id', kind: 'text', isStated: true, isOptional: true, isExplained: true },
  { name: 'request_id', kind: 'text', isStated: true, isOptional: true, isExplained: true },
  // What several attempts serve, and which of them this call is, from 1.
  { name: 'operation_id', kind: 'text', isStated: true, isOptional: true, isExplained: true },
  { name: 'attempt', kind: 'count', isStated: true, isExplained: true },
  // Codes of what was inferred of the event, separated by commas.
  { name: 'assumptions', kind: 'label', isStated: true, isOptional: true, isExplained: true },
  // JSON: the other events that showed the call (`attribution/sightings/seen-by.ts`); '' for most records.
  { name: 'seen_by', kind: 'text', isExplained: true },
  { name: 'tags', kind: 'tags', isStated: true, isExplained: true },
  {
    name: 'dimensions',
    kind: 'pairs',
    wire: 'trace',
    wireName: 'tags',
    description:
      'The tags whose keys the tenant has declared (`dimensions` of `/api/v1/settings`), by key; null: the ' +
      'event has no such tag. `(not declared)`: the record is older than the declaration. `(other values)`: ' +
      'the key has too many distinct values.',
  },
  { name: 'k8s_namespace', kind: 'label', isStated: true, isOptional: true },
  { name: 'k8s_workload', kind: 'label', isStated: true, isOptional: true },
  { name: 'workload_identity', kind: 'label', isStated: true, isOptional: true, isInClosed: true },

  { name: 'received_at', kind: 'instant' },
  // When stage A's log was created, seconds since the epoch: sequences of different logs do not compare.
  { name: 'source_log', kind: 'uint32' },
  { name: 'source_partition', kind: 'uint16' },
  { name: 'source_sequence', kind: 'uint64' },
  { name: 'source_index', kind: 'uint32' },
] as const satisfies readonly FieldDeclaration[]

type Entry = (typeof RECORD_FIELDS)[number]
export type FieldName = Entry['name']
/** A field as code that runs over the table sees it. */
export type RecordField = FieldDeclaration & { readonly name: FieldName }
export const FIELDS: readonly RecordField[] = RECORD_FIELDS

export type KindOf<Name extends FieldName> = Extract<Entry, { readonly name: Name }>['kind']
export type MemberOf<Name extends FieldName> = KindOf<Name> extends 'instant' ? `${CamelCase<Name>}Ms` : CamelCase<Name>
export type MembersOf<Names extends FieldName> = { readonly [Name in Names]: MemberOf<Name> }[Names]
/** Fields with a property, such as `{ isStated: true }`. */
export type NamesWith<Property> = Extract<Entry, Property>['name']

/** Names on the wire of fields with a property. */
export type WireName<Property> =
  Extract<Entry, Property> extends infer Found
    ? Found extends { readonly wireName: infer Name extends string }
      ? Name
      : Found extends { readonly name: infer Name extends string }
        ? Name
        : never
    : never

export const memberOf = ({ name, kind }: Pick<RecordField, 'name' | 'kind'>): string =>
  kind === 'instant' ? `${camelCase(name)}Ms` : camelCase(name)

/**
 * One version of one attribution. Rows are inserted, never changed: a later version is a new row with a later
 * `validFromMs`. A row carries every fact that its explanation recomputes from.
 */
export type AttributionRow = { readonly [Name in FieldName as MemberOf<Name>]: ValueOfKind[KindOf<Name>] }

/** The members that the event states. */
export type StatedMember = MembersOf<NamesWith<{ readonly isStated: true }>>

/** The fields of a group of the wire form. */
export const wireFields = (group: WireGroup): readonly RecordField[] => FIELDS.filter(({ wire }) => wire === group)
