/** Model versions of `GET /v1/models`, as far as the console reads them. Shares are fractions of 1. */
export interface Model {
  readonly id: string
  readonly status: 'candidate' | 'serving' | 'previous' | 'recalled' | 'withdrawn'
  readonly created_at: string
  readonly promoted_at: string | null
  readonly recalled_at: string | null
  readonly can_serve: boolean
  readonly classes: readonly {
    readonly service: string
    readonly owner: string
    readonly examples: number
    readonly served_share: number
  }[]
  readonly data_window: { readonly from: string; readonly to: string; readonly validation_from: string }
  readonly examples: {
    readonly resolved: number
    readonly unresolved: number
    readonly overrides: number
    readonly disputes: number
  }
  readonly unknown_share: number
  readonly withdrawn: Withdrawn | null
  readonly validation: {
    readonly passed: boolean
    readonly reasons: readonly string[]
    readonly served_traffic: Quality
    readonly audits: Quality | null
  }
  readonly calibration_curve: readonly Bin[]
  readonly feature_importance: readonly { readonly feature: string; readonly accuracy_lost: number }[]
  readonly shadow: Shadow | null
}

export interface Quality {
  readonly n: number
  readonly accuracy: number
  readonly heuristic_accuracy: number
  readonly majority_accuracy: number
  readonly calibration_error: number
  readonly precision_at_floor: number | null
  readonly share_at_floor: number
}

export interface Bin {
  readonly from: number
  readonly to: number
  readonly n: number
  readonly mean_probability: number
  readonly accuracy: number
}

export interface Withdrawn {
  readonly at: string
  readonly scored: number
  readonly precision: number
  readonly precision_at_most: number
  readonly changed: readonly { readonly service: string; readonly owner: string }[]
}

export interface Shadow {
  readonly against: string
  readonly since: string
  readonly events: number
  readonly agreed: number
  readonly serving_ready: number
  readonly candidate_ready: number
  readonly ready_for_another: number
}

export const MODELS_PATH = '/v1/models'

export const STATUS_WORDS: Readonly<Record<Model['status'], string>> = {
  serving: 'serving',
  candidate: 'candidate, evaluated beside the serving one',
  previous: 'served before',
  recalled: 'recalled',
  withdrawn: 'withdrawn: wrong too often',
}
