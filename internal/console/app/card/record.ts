import type { AttributionRecord, ExplainedAttributionRecord, Explanation } from 'attribution-service/sdk/api'

/** Records of `GET /v1/attribution`, as a list has them and, explained, as one has them alone. */
export type RecordRow = AttributionRecord

export type Explained = ExplainedAttributionRecord

export type ComparedWith = NonNullable<NonNullable<Explanation['inference']>['compared_with']>

export type { Explanation }

/** Members that the API leaves open, as far as the card reads them. */
export interface Alternative {
  readonly service?: string
  readonly owner?: string
  readonly probability?: string | number
}
export interface CostDetails {
  readonly book_as_of?: string
  readonly reason?: string
}
export interface FootprintDetails {
  readonly energy_as_of?: string
  readonly energy_id?: string
  readonly grid?: { readonly zone?: string }
}

export type Band = Explanation['footprint']['energy_wh']

export type Version = Explanation['history'][number]
