import type { Model, ModelQuality } from 'attribution-service/sdk/api'

export type { Model }

export type Quality = ModelQuality

export type Bin = Model['calibration_curve'][number]

export type Withdrawn = NonNullable<Model['withdrawn']>

export type Shadow = NonNullable<Model['shadow']>

export const MODELS_PATH = '/v1/models'

export const STATUS_WORDS: Readonly<Record<Model['status'], string>> = {
  serving: 'serving',
  candidate: 'candidate, evaluated beside the serving one',
  previous: 'served before',
  recalled: 'recalled',
  withdrawn: 'withdrawn: wrong too often',
}
