import { parseSum } from '../../units/quantity.js'

/**
 * Exact decimals as people read them. Rounded here alone, half to even, by the number formats of the browser, which
 * take decimal text: nothing becomes a float.
 */

type DecimalText = Intl.StringNumericLiteral

/** A decimal as the API writes it, times a power of ten, for a format. */
const scaled = (text: string, tens = 0): DecimalText => `${text}E${tens}` as DecimalText

const formats = new Map<string, Intl.NumberFormat>()
function formatOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options)
  const known = formats.get(key)
  if (known !== undefined) return known
  const format = new Intl.NumberFormat('en-US', { roundingMode: 'halfEven', ...options } as Intl.NumberFormatOptions)
  formats.set(key, format)
  return format
}

const fixed = (decimals: number): Intl.NumberFormat =>
  formatOf({ minimumFractionDigits: decimals, maximumFractionDigits: decimals })

/** A minus as wide as a digit. */
const signed = (text: string): string => text.replace('-', '−')

/**
 * What is more than nothing is never shown as 0: it is less than the last digit. All that is shown with a fixed number
 * of decimals is shown here.
 *
 * @param decimals the same for all figures of a column, so that they align
 * @param tens powers of ten by which it is multiplied
 */
export function decimalShown(text: string, decimals: number, tens = 0): string {
  const shown = fixed(decimals).format(scaled(text, tens))
  if (/[1-9]/.test(shown) || !/[1-9]/.test(text)) return signed(shown)
  return `${text.startsWith('-') ? '> −' : '< '}${leastOf(decimals)}`
}

const leastOf = (decimals: number): string => (decimals === 0 ? '1' : `0.${'1'.padStart(decimals, '0')}`)

/**
 * How many decimals the sums of a column get: two, or as many as show two digits of the largest, where all are below 1.
 *
 * @param texts decimals
 */
export function decimalsOf(texts: readonly string[]): number {
  const largest = largestOf(texts)
  if (largest === 0n || largest >= parseSum('1')) return 2
  const zeros = 18 - largest.toString().length
  return Math.min(18, zeros + 2)
}

const largestOf = (texts: readonly string[]): bigint =>
  // biome-ignore lint/complexity/useMathMinMax: Math.max takes no bigint.
  texts.map(magnitude).reduce((most, each) => (each > most ? each : most), 0n)

const magnitude = (text: string): bigint => {
  const steps: bigint = parseSum(text)
  return steps < 0n ? -steps : steps
}

/** A change: with its sign, also of a rise. */
export const signedShown = (text: string, decimals: number): string => risen(decimalShown(text, decimals))

const risen = (shown: string): string => (/^\d/.test(shown) && /[1-9]/.test(shown) ? `+${shown}` : shown)

/** A sum of money without its currency: 48,213.07, or 0.0031 where cents would show nothing. */
export const usdShown = (text: string): string => decimalShown(text, decimalsOf([text]))

/** With the decimals that it has, as of an axis: 2,400 or 1.5. */
export const plainShown = (text: string): string => decimalShown(text, text.split('.')[1]?.length ?? 0)

/** A unit price, or the amount of one call: up to four significant digits. */
export const priceShown = (text: string): string =>
  signed(formatOf({ maximumSignificantDigits: 4 }).format(scaled(text)))

/** Of a fraction, 0.309 as 30.9 %. What is less than everything is never shown as 100 %. */
export function shareShown(fraction: string, decimals = 1): string {
  const shown = decimalShown(fraction, decimals, 2)
  const [, minus, isWhole] = /^(−?)(100(?:\.0+)?)$/.exec(shown) ?? []
  if (isWhole === undefined || !/^-?0\./.test(fraction)) return `${shown} %`
  return `${minus === '' ? '> ' : '< −'}99${decimals === 0 ? '' : `.${'9'.repeat(decimals)}`} %`
}

/** Of a fraction that is a number, as shares of models are: no money. */
export const shareOf = (fraction: number, decimals = 1): string => shareShown(fraction.toFixed(15), decimals)

/** Of a fraction of what was before, "+12.4 %". Only a fall can be one by everything. */
export const changeShown = (fraction: string): string =>
  fraction.startsWith('-') ? shareShown(fraction) : `${risen(decimalShown(fraction, 1, 2))} %`

/** Of a percentage of an amount, which the API has cut to two decimals: 0.00 may be more than nothing. */
export const percentShown = (percent: string, amount: string): string =>
  `${decimalShown(Number(percent) === 0 && /[1-9]/.test(amount) ? '0.001' : percent, 2)} %`

export const countShown = (count: number): string => formatOf({}).format(count)

export const callsShown = (count: number): string => `${countShown(count)} ${count === 1 ? 'call' : 'calls'}`

/** Of large counts: 9.4 M. */
export const countShort = (count: number): string =>
  count < 100_000
    ? countShown(count)
    : formatOf({ notation: 'compact', maximumSignificantDigits: 3 })
        .format(count)
        .replace(/([KMBT])$/, ' $1')

const LADDERS = {
  energy: ['Wh', 'kWh', 'MWh', 'GWh'],
  carbon: ['gCO₂e', 'kgCO₂e', 'tCO₂e', 'ktCO₂e'],
} as const

/** An amount of energy (Wh) or carbon (g), in the largest unit of which there is at least one. */
export function measureShown(text: string, kind: keyof typeof LADDERS): string {
  const amount = magnitude(text)
  const step = ['1000', '1000000', '1000000000'].filter((least) => amount >= parseSum(least)).length
  return `${formatOf({ maximumSignificantDigits: 4 }).format(scaled(text, -3 * step))} ${LADDERS[kind][step]}`
}

/** "3 s ago" */
export function agoShown(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000))
  if (s < 60) return `${s} s ago`
  if (s < 3_600) return `${Math.floor(s / 60)} min ago`
  if (s < 2 * 86_400) return `${Math.floor(s / 3_600)} h ago`
  return `${Math.floor(s / 86_400)} days ago`
}
