import type { CachePlace, Convention, Place, Vendor } from './conventions.js'
import type { StatedUsage } from './stated-usage.js'

/** All input and output tokens of a call. */
export interface Totals {
  readonly input?: number | undefined
  readonly output?: number | undefined
}

/** What the stated counts may mean. */
interface Reading extends Totals {
  readonly cache: CachePlace
  readonly reasoning: Place
  readonly toolUse: Place
}

type Places = Pick<Convention, 'cache' | 'reasoning' | 'toolUse'>

export interface ChosenReading {
  readonly totals: Totals
  /** Another reading, where nothing tells which of the two holds. */
  readonly other: Totals | undefined
  /** Reasoning that only the total has. */
  readonly reasoning?: number
  /** Codes, separated by commas. */
  readonly assumptions: string
}

/** The reading that the convention and the total allow. */
export function chosenReading(stated: StatedUsage, convention: Convention, vendor: Vendor): ChosenReading {
  const allowed = readingsOf(stated, convention)
  const possible = allowed.length > 0 ? allowed : readingsOf(stated, ANY_PLACE)
  const agreeing = possible.filter((reading) => agrees(reading, stated, convention))
  const [first = SAME, ...others] = agreeing.length > 0 ? agreeing : againstConvention(stated)
  if (first === SAME) return byTotal(possible[0] ?? SAME, stated, convention, vendor)
  const assumptions = assumptionsOf(first, stated, convention, allowed.length > 0)
  const other = others.find(({ input, output }) => input !== first.input || output !== first.output)
  return { totals: first, other, assumptions }
}

const ANY_PLACE: Places = {}
const CACHE_PLACES: readonly CachePlace[] = ['inside', 'apart', 'reads_inside']
const PLACES: readonly Place[] = ['inside', 'apart']
/** Providers count what their tools read apart. */
const TOOL_PLACES: readonly Place[] = ['apart', 'inside']
/** Where there is no such count, all places are one. */
const ONE_PLACE: readonly ['inside'] = ['inside']
const SAME: Reading = { input: undefined, output: undefined, cache: 'inside', reasoning: 'inside', toolUse: 'inside' }

/** What the stated counts may mean if parts stand where `places` say, the likeliest first. */
function readingsOf(stated: StatedUsage, places: Places): Reading[] {
  const isCacheOpen = cacheOf(stated) > 0 && stated.uncachedInput === undefined
  const readings: Reading[] = []
  for (const cache of isCacheOpen ? known(places.cache, CACHE_PLACES) : ONE_PLACE) {
    for (const reasoning of (stated.reasoning ?? 0) > 0 ? known(places.reasoning, PLACES) : ONE_PLACE) {
      for (const toolUse of (stated.toolUseInput ?? 0) > 0 ? known(places.toolUse, TOOL_PLACES) : ONE_PLACE) {
        const input = inputOf(stated, cache, toolUse)
        const output = outputOf(stated, reasoning)
        if (input !== IMPOSSIBLE && output !== IMPOSSIBLE) readings.push({ input, output, cache, reasoning, toolUse })
      }
    }
  }
  return readings
}

const known = <P>(place: P | undefined, all: readonly P[]): readonly P[] => (place === undefined ? all : [place])

/** A part is never more than its whole. */
const IMPOSSIBLE = -1

function inputOf(stated: StatedUsage, cache: CachePlace, toolUse: Place): number | undefined {
  const { input, uncachedInput, cacheRead = 0, cacheWrite = 0, toolUseInput = 0 } = stated
  const besides = toolUse === 'apart' ? toolUseInput : 0
  if (uncachedInput !== undefined) return uncachedInput + cacheRead + cacheWrite + besides
  const within = cache === 'inside' ? cacheRead + cacheWrite : cache === 'reads_inside' ? cacheRead : 0
  if (within + toolUseInput - besides > (input ?? 0)) return IMPOSSIBLE
  if (cache === 'reads_inside' && (cacheRead === 0 || cacheWrite === 0)) return IMPOSSIBLE
  const whole = (input ?? 0) + cacheRead + cacheWrite - within + besides
  return input === undefined && whole === 0 ? undefined : whole
}

function outputOf({ output, reasoning = 0 }: StatedUsage, place: Place): number | undefined {
  if (place === 'apart') return (output ?? 0) + reasoning
  return reasoning > (output ?? 0) ? IMPOSSIBLE : output
}

const cacheOf = ({ cacheRead = 0, cacheWrite = 0 }: StatedUsage): number => cacheRead + cacheWrite

export const totalOfParts = (stated: StatedUsage): number =>
  (stated.uncachedInput ?? 0) + cacheOf(stated) + (stated.reasoning ?? 0) + (stated.toolUseInput ?? 0)

const sumOf = ({ input = 0, output = 0 }: Totals): number => input + output

/** Whether a total says the same; one that sums up only what stands beside it says nothing. */
function agrees(reading: Reading, stated: StatedUsage, convention: Convention): boolean {
  const total = stated.total ?? 0
  if (total === 0 || convention.total === 'stated' || total === sumOf(reading)) return true
  return convention.total === 'either' && total === sumOf(stated)
}

/** The one reading, whatever the convention, that sums up to the total. */
function againstConvention(stated: StatedUsage): Reading[] {
  return readingsOf(stated, ANY_PLACE).filter((reading) => sumOf(reading) === stated.total)
}

/** What a total says that no reading sums up to. */
function byTotal(reading: Reading, stated: StatedUsage, { remainder }: Convention, vendor: Vendor): ChosenReading {
  const { input = 0, output = 0 } = reading
  const rest = (stated.total ?? 0) - input - output
  const more = { input: input + rest, output: reading.output }
  if (rest < 0) {
    const isPossible = more.input >= cacheOf(stated)
    return { totals: reading, other: isPossible ? more : undefined, assumptions: '' }
  }
  const longer = { input: reading.input, output: output + rest }
  if (input === 0 && output === 0) {
    const other = remainder === 'input' ? undefined : { input: 0, output: rest }
    return { totals: { input: rest }, other, assumptions: 'input_by_total' }
  }
  if (input === 0 && output > 0) return { totals: more, other: undefined, assumptions: 'input_by_total' }
  if (remainder === 'output' || (output === 0 && input > 0)) {
    const reasoning = remainder === 'output' && output > 0 ? { reasoning: (stated.reasoning ?? 0) + rest } : {}
    return { totals: longer, other: undefined, assumptions: 'output_by_total', ...reasoning }
  }
  if (remainder === 'input') return { totals: more, other: undefined, assumptions: 'input_by_total' }
  // Gemini's thoughts are most often what is missing; of others, it is the cache.
  return { totals: reading, other: vendor === 'google' || vendor === 'xai' ? longer : more, assumptions: '' }
}

const PARTS = [
  ['cache', 'cache'],
  ['reasoning', 'reasoning'],
  ['toolUse', 'tool_use'],
] as const

/** Which parts were taken to stand apart, and what says so. */
function assumptionsOf(reading: Reading, stated: StatedUsage, convention: Convention, isAllowed: boolean): string {
  const codes: string[] = []
  for (const [part, name] of PARTS) {
    if (reading[part] === 'inside') continue
    const isConvention = convention[part] === reading[part]
    const reason = isConvention ? 'convention' : isAllowed && (stated.total ?? 0) > 0 ? 'total' : 'size'
    codes.push(`${name}_${reading[part] === 'apart' ? 'apart' : 'reads_inside'}_by_${reason}`)
  }
  return codes.join(',')
}
