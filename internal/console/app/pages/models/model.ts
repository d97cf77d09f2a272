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

/** Why a version did not pass, with the figures: of one that an older version of the service trained, without. */
export const whyNot = ({ reasons, findings }: Model['validation']): string =>
  (findings.length === 0
    ? reasons
    : findings.map(
        ({ reason, figure, must_be, bound }) => `${reason} (${figure}, must be ${must_be.replace('_', ' ')} ${bound})`,
      )
  ).join('; ')
