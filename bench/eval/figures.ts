import { formatQuantity, type Quantity, sum } from '../../internal/units/quantity.js'

/** The answer for one judged event, and the truth. */
export interface Verdict {
  /** Nobody: below 0.50, where a record names a pool and no service. */
  readonly said: { readonly service: string; readonly owner: string } | undefined
  /** As published, 0 to 0.95. */
  readonly confidence: number
  readonly truth: { readonly service: string; readonly owner: string }
  readonly isShadow: boolean
  readonly costUsd: Quantity<'USD'>
}

export interface Figures {
  readonly n: number
  /** Of all: who is named is right. Nobody named is not right. */
  readonly accuracy: number
  /** Confidence of at least 0.80. */
  readonly at_floor: { readonly n: number; readonly share: number; readonly precision: number | null }
  /** Over those that name somebody, ten bins. */
  readonly calibration_error: { readonly n: number; readonly value: number }
  readonly shadow: { readonly n: number; readonly at_floor: number; readonly at_floor_wrong: number }
  readonly usd: { readonly total: string; readonly at_floor: string; readonly at_floor_wrong: string }
}

const FLOOR = 0.8
const BINS = 10

export function figuresOf(verdicts: readonly Verdict[]): Figures {
  const atFloor = verdicts.filter(({ said, confidence }) => said !== undefined && confidence >= FLOOR)
  const wrong = atFloor.filter((verdict) => !isRight(verdict))
  const shadow = verdicts.filter(({ isShadow }) => isShadow)
  const named = verdicts.filter(({ said }) => said !== undefined)
  const usd = (list: readonly Verdict[]): string => formatQuantity(sum(list.map(({ costUsd }) => costUsd)))
  return {
    n: verdicts.length,
    accuracy: verdicts.filter(isRight).length / verdicts.length,
    at_floor: {
      n: atFloor.length,
      share: atFloor.length / verdicts.length,
      precision: atFloor.length === 0 ? null : 1 - wrong.length / atFloor.length,
    },
    calibration_error: { n: named.length, value: calibrationErrorOf(named) },
    shadow: {
      n: shadow.length,
      at_floor: atFloor.filter(({ isShadow }) => isShadow).length,
      at_floor_wrong: wrong.filter(({ isShadow }) => isShadow).length,
    },
    usd: { total: usd(verdicts), at_floor: usd(atFloor), at_floor_wrong: usd(wrong) },
  }
}

const isRight = ({ said, truth }: Verdict): boolean => said?.service === truth.service && said.owner === truth.owner

/** Plain: what chance adds is not taken off. */
function calibrationErrorOf(named: readonly Verdict[]): number {
  const gaps = new Float64Array(BINS)
  for (const verdict of named) {
    const bin = Math.min(BINS - 1, Math.floor(verdict.confidence * BINS))
    gaps[bin] = (gaps[bin] ?? 0) + Number(isRight(verdict)) - verdict.confidence
  }
  return named.length === 0 ? 0 : gaps.reduce((total, gap) => total + Math.abs(gap), 0) / named.length
}
