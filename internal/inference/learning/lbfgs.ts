/**
 * Minimises a smooth function by L-BFGS (Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 7.5) with a
 * backtracking line search (3.1). Deterministic: the same start gives the same result.
 */
export interface Minimum {
  readonly point: Float64Array
  readonly value: number
  readonly iterations: number
}

export interface LbfgsOptions {
  readonly iterationsMax: number
  /** Stops when an iteration improves the value by less than this fraction of it. */
  readonly tolerance: number
}

/** Number of steps used to estimate the curvature. */
const MEMORY = 8
const BACKTRACKS_MAX = 20
const SUFFICIENT_DECREASE = 1e-4

/** @param evaluate writes the gradient at the point to its second argument and returns the value at the point */
export function minimise(
  evaluate: (point: Float64Array, gradient: Float64Array) => number,
  start: Float64Array,
  { iterationsMax, tolerance }: LbfgsOptions,
): Minimum {
  const size = start.length
  let point = start.slice()
  let gradient = new Float64Array(size)
  let value = evaluate(point, gradient)
  const steps: { readonly s: Float64Array; readonly y: Float64Array; readonly rho: number }[] = []

  for (let iteration = 0; iteration < iterationsMax; iteration++) {
    let direction = descent(gradient, steps)
    let slope = dot(direction, gradient)
    if (slope >= 0) {
      // Rounding errors have made the estimate unusable: restart from the gradient.
      steps.length = 0
      direction = descent(gradient, steps)
      slope = dot(direction, gradient)
      if (slope >= 0) return { point, value, iterations: iteration }
    }
    let length = steps.length === 0 ? Math.min(1, 1 / Math.sqrt(-slope)) : 1
    const next = new Float64Array(size)
    const nextGradient = new Float64Array(size)
    let nextValue = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < BACKTRACKS_MAX; tries++) {
      for (let i = 0; i < size; i++) next[i] = (point[i] ?? 0) + length * (direction[i] ?? 0)
      nextValue = evaluate(next, nextGradient)
      if (nextValue <= value + SUFFICIENT_DECREASE * length * slope) break
      length /= 2
    }
    if (!(nextValue < value)) return { point, value, iterations: iteration }

    const s = new Float64Array(size)
    const y = new Float64Array(size)
    for (let i = 0; i < size; i++) {
      s[i] = (next[i] ?? 0) - (point[i] ?? 0)
      y[i] = (nextGradient[i] ?? 0) - (gradient[i] ?? 0)
    }
    const curvature = dot(s, y)
    if (curvature > 1e-12) {
      steps.push({ s, y, rho: 1 / curvature })
      if (steps.length > MEMORY) steps.shift()
    }
    const gained = value - nextValue
    point = next
    gradient = nextGradient
    value = nextValue
    if (gained <= tolerance * Math.abs(value)) return { point, value, iterations: iteration + 1 }
  }
  return { point, value, iterations: iterationsMax }
}

/** The two-loop recursion: minus the estimated inverse Hessian times the gradient. */
function descent(
  gradient: Float64Array,
  steps: readonly { readonly s: Float64Array; readonly y: Float64Array; readonly rho: number }[],
): Float64Array {
  const direction = gradient.slice()
  const alphas: number[] = []
  for (const { s, y, rho } of steps.toReversed()) {
    const alpha = rho * dot(s, direction)
    alphas.push(alpha)
    addScaled(direction, y, -alpha)
  }
  const last = steps.at(-1)
  const scale = last === undefined ? 1 : 1 / (last.rho * dot(last.y, last.y))
  for (let i = 0; i < direction.length; i++) direction[i] = (direction[i] ?? 0) * scale
  for (const { s, y, rho } of steps) {
    const alpha = alphas.pop() ?? 0
    addScaled(direction, s, alpha - rho * dot(y, direction))
  }
  for (let i = 0; i < direction.length; i++) direction[i] = -(direction[i] ?? 0)
  return direction
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0
  for (let i = 0; i < one.length; i++) sum += (one[i] ?? 0) * (other[i] ?? 0)
  return sum
}

function addScaled(to: Float64Array, from: Float64Array, scale: number): void {
  for (let i = 0; i < to.length; i++) to[i] = (to[i] ?? 0) + scale * (from[i] ?? 0)
}
