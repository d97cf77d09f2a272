import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COLOURS, coloursOf, knownOf, knownText } from '../../../../internal/console/figures/colours.js'

const names = fc.uniqueArray(fc.string(), { maxLength: COLOURS })

test('no two names of a chart are alike, whatever was shown before, and the same chart keeps its colours', () => {
  fc.assert(
    fc.property(fc.array(names), names, (before, shown) => {
      const known = before.reduce((all, chart) => coloursOf(chart, all).known, knownOf(null))
      const first = coloursOf(shown, known)
      const again = coloursOf(shown.toReversed(), first.known)

      expect(new Set(first.colours.values()).size).toBe(shown.length)
      expect(new Map(again.colours)).toEqual(new Map(first.colours))
    }),
  )
})

test('a name keeps its colour among names of others, and when others join it', () => {
  fc.assert(
    fc.property(names, fc.string(), (shown, name) => {
      const alone = coloursOf([name], knownOf(null))
      const others = shown.filter((other) => other !== name).slice(1)

      expect(coloursOf([...others, name], alone.known).colours.get(name)).toBe(alone.colours.get(name))
    }),
  )
})

test('everybody sees the same colours at first', () => {
  const [one, other] = [coloursOf(['search', 'chat'], knownOf(null)), coloursOf(['chat', 'search'], knownOf(null))]

  expect(new Map(one.colours)).toEqual(new Map(other.colours))
})

test('what a browser keeps is read as it was, and holds no name; anything else is nothing', () => {
  const { known } = coloursOf(['ada@example.com', 'search'], knownOf(null))

  expect(knownOf(knownText(known))).toEqual(known)
  expect(knownText(known)).not.toMatch(/ada|search/)
  expect(['{', '7', '[1, ["a", 99]]', null].map((text) => knownOf(text).size)).toEqual([0, 0, 0, 0])
})

/** Linear RGB as people see it to whom red, green or blue is missing (Machado, Oliveira, Fernandes 2009). */
const SIGHTS = [
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
]
type Three = readonly [number, number, number]
const product = (m: readonly number[], [a, b, c]: Three): Three =>
  [0, 3, 6].map((i) => (m[i] ?? 0) * a + (m[i + 1] ?? 0) * b + (m[i + 2] ?? 0) * c) as unknown as Three
const clipped = (rgb: Three): Three => rgb.map((x) => Math.min(1, Math.max(0, x))) as unknown as Three
const linear = (hex: string): Three =>
  [1, 3, 5].map((i) => {
    const x = Number.parseInt(hex.slice(i, i + 2), 16) / 255
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4
  }) as unknown as Three
/** In OKLab, where distances are as people see them: black and white are 1 apart. */
function perceived(rgb: Three): Three {
  const cones = [
    0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619, 0.2817188376,
    0.6299787005,
  ]
  const lab = [
    0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371, 0.7827717662,
    -0.808675766,
  ]
  return product(lab, product(cones, rgb).map(Math.cbrt) as unknown as Three)
}
const luminance = ([r, g, b]: Three): number => 0.2126 * r + 0.7152 * g + 0.0722 * b

test.each([['light', 0, '#fbfaf7'] as const, ['dark', 1, '#16181a'] as const])(
  'colours of the %s theme can be told apart with each deficiency and in grey, and from the paper',
  (_, side, paper) => {
    const css = readFileSync('internal/console/app/styles/1-tokens.css', 'utf8')
    const tokens = [...css.matchAll(/--c(\d|-rest): light-dark\((#\w+), (#\w+)\)/g)]
    const colours = tokens.map((found) => linear(found[2 + side] ?? ''))
    const seen = SIGHTS.map((sight) => colours.map((rgb) => perceived(clipped(product(sight, rgb)))))

    expect(tokens).toHaveLength(COLOURS + 1)
    for (let one = 0; one < COLOURS; one++) {
      const [lighter, darker] = [luminance(colours[one] as Three), luminance(linear(paper))].sort((a, b) => b - a)
      expect(((lighter ?? 0) + 0.05) / ((darker ?? 0) + 0.05)).toBeGreaterThanOrEqual(3)
      for (let other = 0; other < one; other++) {
        const apart = seen.map((each) =>
          Math.hypot(...[0, 1, 2].map((i) => (each[one]?.[i] ?? 0) - (each[other]?.[i] ?? 0))),
        )
        expect(Math.min(...apart)).toBeGreaterThan(0.07)
      }
    }
  },
)
