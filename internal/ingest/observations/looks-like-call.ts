const SIGNS = [
  /(?:^|[._])(?:model|requested_model|served_model|model_name|model_id)$/i,
  /(?:^|[._])(?:prompt|completion|input|output|total|cached|reasoning)_?tokens?$/i,
  /(?:^|[._])(?:cost|spend|response_cost|total_cost|cost_usd|estimated_cost_usd)$/i,
] as const

/** Two of a model, tokens and a cost make a call of a model. */
const SIGNS_MIN = 2
const DEPTH_MAX = 4

/**
 * Whether an observation looks like a call of a model, of which no record would ever come. It looks at names only, also
 * at those that are not kept: a payload of a gateway's callback has them at the top, or within `data`.
 */
export function looksLikeCall(value: unknown): boolean {
  const seen = new Set<RegExp>()
  look(value, 0, seen)
  return seen.size >= SIGNS_MIN
}

function look(value: unknown, depth: number, seen: Set<RegExp>): void {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return
  for (const [name, inner] of Object.entries(value)) {
    if (inner !== null) for (const sign of SIGNS) if (sign.test(name)) seen.add(sign)
    if (seen.size >= SIGNS_MIN) return
    look(inner, depth + 1, seen)
  }
}

/** Where to send it instead. */
export const SEND_CALLS_ELSEWHERE =
  'This looks like a model call. Observations never become records: send calls to POST /api/v1/invocations, and payloads of ' +
  'gateways such as LiteLLM unchanged to POST /intake/<source> on the intake port.'
