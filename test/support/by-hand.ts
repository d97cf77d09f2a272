/**
 * Recomputes a record as a person would: only from the reply of `GET /v1/attribution/{id}`, with its own exact
 * fractions (nothing of the product is imported). Reports each difference.
 */
// biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
type Json = any

/** Numerator and denominator. */
type Fraction = readonly [bigint, bigint]

const of = (text: string | number): Fraction => {
  const [, sign = '', whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(text)) ?? []
  return [BigInt(`${sign}${whole}${decimals}`), 10n ** BigInt(decimals.length)]
}
const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d]
const minus = (x: Fraction, [c, d]: Fraction): Fraction => plus(x, [-c, d])
const times = (...all: Fraction[]): Fraction => all.reduce(([a, b], [c, d]) => [a * c, b * d], [1n, 1n])
const over = (x: Fraction, [c, d]: Fraction): Fraction => times(x, [d, c])
const isLess = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d < c * b
const isSame = (x: Fraction, y: Fraction): boolean => x[0] * y[1] === y[0] * x[1]
const sum = (all: readonly Fraction[]): Fraction => all.reduce(plus, [0n, 1n])
const least = (all: readonly Fraction[]): Fraction => all.reduce((x, y) => (isLess(y, x) ? y : x))

/** Rounds to twelve decimals, half to even. */
function rounded(x: Fraction): Fraction {
  const [n, d] = times(x, [10n ** 12n, 1n])
  const down = n / d
  const rest = (n - down * d) * 2n
  const up = rest > d || (rest === d && down % 2n === 1n)
  return [down + (up ? 1n : 0n), 10n ** 12n]
}

/** @returns the differences, in words; empty when every number matches */
export function faultsOf(record: Json): string[] {
  return [...certainty(record), ...cost(record), ...footprint(record), ...allocation(record), ...inference(record)].map(
    (fault) => `${record.id}: ${fault}`,
  )
}

function certainty({ interpretation, cost_basis, cost_bound, explanation }: Json): string[] {
  const { evidence, producer, policy } = explanation.confidence
  const caps = (explanation.inference?.caps ?? []).map(({ at }: Json) => at)
  const named = [evidence, producer, policy, explanation.inference?.probability, ...caps].filter((each) => each != null)
  const confidence = of(interpretation.confidence)
  const band = isLess(confidence, of('0.5'))
    ? 'estimated'
    : isLess(confidence, of('0.8'))
      ? 'provisional'
      : 'chargeback_ready'
  const mayBeEligible =
    band === 'chargeback_ready' &&
    cost_basis !== 'unpriced' &&
    interpretation.degradation_state !== 'degraded_serving' &&
    (cost_bound !== 'upper' || explanation.cost.details.upper_bound_charged === true)
  return [
    ...expect('confidence', isSame(confidence, least(named.map(of)))),
    ...expect('band', interpretation.confidence_band === band),
    ...expect('eligibility', interpretation.export_eligibility !== 'eligible' || mayBeEligible),
  ]
}

function cost(record: Json): string[] {
  const { basis, total_usd, price_usd, estimate_difference_usd, lines, fees, units, details } = record.explanation.cost
  const million = of('1000000')
  const ofLines = lines.flatMap(({ part, tokens, billed_as, rate_usd_per_million, amount_usd }: Json) => [
    ...expect(`rate of ${part}`, (details.price.rates[billed_as] ?? '0') === rate_usd_per_million),
    ...expect(`amount of ${part}`, isSame(of(amount_usd), over(times(of(tokens), of(rate_usd_per_million)), million))),
  ])
  const ofFees = fees.flatMap(({ tool, calls, usd_per_call, amount_usd }: Json) => [
    ...expect(`fee of ${tool}`, details.price.fees[tool] === usd_per_call),
    ...expect(`amount of ${tool}`, isSame(of(amount_usd), times(of(calls), of(usd_per_call)))),
  ])
  const ofUnits = units.flatMap(({ unit, quantity, usd_per_unit, amount_usd }: Json) => [
    ...expect(`price of ${unit}`, details.price.units[unit] === usd_per_unit),
    ...expect(`amount of ${unit}`, isSame(of(amount_usd), times(of(quantity), of(usd_per_unit)))),
  ])
  const faults = [
    ...ofLines,
    ...ofFees,
    ...ofUnits,
    ...expect('basis', basis === record.cost_basis && basis === details.basis),
    ...expect('total', isSame(of(total_usd), of(record.cost_usd))),
  ]
  const isAtInput = lines.some(
    ({ part, billed_as, amount_usd }: Json) =>
      /cache_read$/.test(part) && billed_as === 'input' && !isSame(of(amount_usd), of('0')),
  )
  const isUpper = isAtInput && (basis === 'tenant_price' || basis === 'price_book')
  const bound = isUpper ? 'upper' : basis === 'unpriced' && !isAtInput ? 'lower' : null
  faults.push(...expect('bound', record.cost_bound === bound))
  if (price_usd !== null) {
    const tokens = sum(lines.map(({ tokens: count }: Json) => of(count)))
    const stated = plus(of(record.input_tokens ?? 0), of(record.output_tokens ?? 0))
    const factors = (details.price.multipliers ?? []).map(({ factor }: Json) => of(factor))
    const ofTokens = times(sum(lines.map(({ amount_usd }: Json) => of(amount_usd))), ...factors)
    const priced = plus(ofTokens, sum([...fees, ...units].map(({ amount_usd }: Json) => of(amount_usd))))
    // A model that is billed by other units only has no rate for the tokens that a call states.
    const isCounted = Object.keys(details.price.rates).length === 0 || isSame(tokens, stated)
    faults.push(...expect('tokens', isCounted), ...expect('price', isSame(priced, of(price_usd))))
  }
  if (basis === 'client_estimate' && price_usd !== null) {
    const difference = minus(of(total_usd), of(price_usd))
    faults.push(...expect('difference', isSame(difference, of(estimate_difference_usd))))
  }
  if (basis === 'tenant_price' || basis === 'price_book') faults.push(...expect('total', total_usd === price_usd))
  if (['local_cache', 'notional'].includes(basis)) faults.push(...expect('nothing', total_usd === '0'))
  if (basis === 'unpriced') faults.push(...expect('what has a price', total_usd === (price_usd ?? '0')))
  return faults
}

function footprint(record: Json): string[] {
  const {
    energy_wh: energy,
    carbon_gco2e: carbon,
    uncertainty,
    inputs,
    details,
    constants,
  } = record.explanation.footprint
  const { parts } = carbon
  const faults = [
    ...expect('energy', energy.value === record.energy_wh && energy.basis === record.energy_basis),
    ...expect('carbon', carbon.value === record.carbon_gco2e && carbon.basis === record.carbon_basis),
    ...expect(
      'uncertainty',
      uncertainty?.includes('about 2.5') === (details.outer_band === undefined ? undefined : true),
    ),
    ...expect('parts', parts === undefined || isSame(plus(of(parts.usage), of(parts.embodied)), of(carbon.value))),
  ]
  for (const [name, { basis, value }] of [['energy', energy] as const, ['carbon', carbon] as const]) {
    if (basis === 'unknown')
      faults.push(...expect(`unknown ${name}`, value === '0' && typeof details[`${name}_reason`] === 'string'))
  }
  if (details.model === undefined) {
    if (energy.basis === 'measured' && carbon.basis === 'modelled') {
      const used = over(times(of(energy.value), of(details.grid.g_per_kwh)), of('1000'))
      faults.push(...expect('use of measured energy', isSame(rounded(used), of(carbon.value))))
    }
    return faults
  }
  const bounds = [0, 1].map((bound) => closedForm(details, inputs, constants, bound))
  const ofValue = [0, 1].map((bound) => closedForm(typicalOf(details), inputs, constants, bound))
  const isComputed = (basis: string): boolean => basis === 'modelled' || basis === 'class_estimate'
  const banded = (what: string, shown: Json, part: 'energy' | 'carbon'): string[] => {
    const [min, max] = bounds.map((each) => each[part])
    if (min === undefined || max === undefined) return expect(`${what} without a grid`, !isComputed(shown.basis))
    const value = sum(ofValue.map((each) => each[part] ?? of('0')))
    const [outerLow, outerHigh] = details.outer_band
    return [
      ...expect(what, isSame(rounded(times(value, of('0.5'))), of(shown.value))),
      ...expect(`${what} min`, isSame(rounded(min), of(shown.min))),
      ...expect(`${what} max`, isSame(rounded(max), of(shown.max))),
      ...expect(`${what} outer min`, isSame(rounded(times(min, of(outerLow))), of(shown.outer_min))),
      ...expect(`${what} outer max`, isSame(rounded(times(max, of(outerHigh))), of(shown.outer_max))),
    ]
  }
  const isEstimate = details.model.class !== undefined
  faults.push(...expect('basis of an estimate', (energy.basis === 'class_estimate') === isEstimate))
  if (isComputed(energy.basis)) faults.push(...banded('energy', energy, 'energy'))
  if (isComputed(carbon.basis)) faults.push(...banded('carbon', carbon, 'carbon'))
  return faults
}

/** What the value is computed of: with an estimate by class its typical model, else what the range is of. */
function typicalOf(details: Json): Json {
  const { class: estimate } = details.model
  if (estimate === undefined) return details
  const [active, total] = [estimate.typical_active_b, estimate.typical_total_b]
  const model = { ...details.model, active_parameters_b: [active, active], total_parameters_b: [total, total] }
  return { ...details, model: { ...model, gpus: undefined } }
}

/** One bound of a footprint, formula by formula. */
function closedForm(details: Json, inputs: Json, constants: Json, bound: number) {
  const { model, operator, grid } = details
  const tokens = of(inputs.output_tokens)
  const active = of(model.active_parameters_b[bound])
  const needed = over(times(of('1.2'), of(model.total_parameters_b[bound]), of('2')), of('80'))
  let count = 1n
  while (isLess([count, 1n], needed)) count *= 2n
  if (model.gpus !== undefined && count !== BigInt(model.gpus[bound])) throw new Error('the number of GPUs differs')
  const gpus: Fraction = [count, 1n]

  const onGpu = times(
    tokens,
    plus(times(of(constants.gpu_wh_per_token_and_billion), active), of(constants.gpu_wh_per_token)),
  )
  const perToken =
    model.tokens_per_second === undefined
      ? plus(times(of(constants.seconds_per_token_and_billion), active), of(constants.seconds_per_token))
      : over(of('1'), of(model.tokens_per_second))
  const modelled = plus(times(tokens, perToken), of(model.first_token_s ?? '0'))
  const stated = inputs.latency_ms === null ? undefined : over(of(inputs.latency_ms), of('1000'))
  const seconds = stated !== undefined && isLess(stated, modelled) ? stated : modelled

  const share = over(gpus, of(constants.gpus_per_server))
  const batch = of(constants.batch_requests)
  const onServer = over(times(seconds, of(constants.server_w), share), times(of('3600'), batch))
  const energy = times(of(operator.pue[bound]), plus(onServer, times(gpus, onGpu)))
  if (grid === undefined) return { energy, carbon: undefined }
  const making = plus(times(share, of(constants.server_embodied_kg)), times(gpus, of(constants.gpu_embodied_kg)))
  const embodied = over(times(seconds, making, of('1000')), times(batch, of(constants.hardware_life_s)))
  return { energy, carbon: plus(over(times(energy, of(grid.g_per_kwh)), of('1000')), embodied) }
}

function allocation({ service, owner, interpretation, explanation }: Json): string[] {
  if (interpretation.stage_origin !== 'stage_c') return expect('allocation', explanation.allocation === null)
  const { pool, owner: poolOwner, weights } = explanation.allocation
  return [
    ...expect('pool', pool === service && poolOwner === owner),
    ...expect('weights', isSame(sum(weights.map(({ weight }: Json) => of(weight))), of('1'))),
    ...expect('below 0.50', isLess(of(interpretation.confidence), of('0.5'))),
  ]
}

function inference({ interpretation, explanation }: Json): string[] {
  if (interpretation.stage_origin !== 'stage_b') return expect('inference', explanation.alternatives.length === 0)
  const all = [explanation.inference, ...explanation.alternatives].map(({ probability }) => of(probability))
  const [chosen = of('0'), ...others] = all
  return [
    ...expect('probabilities', !isLess(of('1.001'), sum(all))),
    ...expect(
      'the likeliest',
      others.every((other) => !isLess(chosen, other)),
    ),
  ]
}

const expect = (what: string, isSo: boolean): string[] => (isSo ? [] : [what])
