import type { Compared, Difference } from './ledger.js'
import type { Client } from './page.js'

const COLUMNS: readonly (readonly [title: string, differences: readonly Difference[]])[] = [
  ['prov', ['provider']],
  ['model', ['model']],
  ['in', ['input']],
  ['out', ['output']],
  ['read', ['cache read']],
  ['write', ['cache write']],
  ['1h', ['cache write 1h']],
  ['think', ['reasoning']],
  ['tier', ['tier']],
  ['usd', ['dollars', 'unpriced']],
]

export type Row = Pick<Client, 'recording' | 'compared' | 'unbilled' | 'leftOut'>

/** Of each client: calls, those recorded once, and of those recorded how many are right, by what. */
export function table(rows: readonly Row[]): string {
  const head = [
    'client',
    'version',
    'calls',
    'right',
    'none',
    'twice',
    'extra',
    ...COLUMNS.map(([title]) => title),
    'cost',
  ]
  const lines = rows.map(lineOf)
  const all = [head, ...lines, totals(rows)]
  const widths = head.map((_, i) => Math.max(...all.map((line) => (line[i] as string).length)))
  return all
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const isRight = ({ differences }: Compared): boolean => differences.length === 0

function lineOf({ recording, compared, unbilled }: Row): string[] {
  const seen = compared.filter(({ records }) => records > 0)
  const rights = COLUMNS.map(([, names]) => {
    const wrong = seen.filter(({ differences }) => names.some((name) => differences.includes(name))).length
    return wrong === 0 ? '' : `${seen.length - wrong}/${seen.length}`
  })
  const of = (text: number): string => (text === 0 ? '' : String(text))
  return [
    recording.client.slice(0, 44),
    recording.version,
    String(compared.length),
    String(compared.filter(isRight).length),
    of(compared.length - seen.length),
    of(compared.filter(({ records }) => records > 1).length),
    of(unbilled),
    ...rights,
    percent(compared),
  ]
}

function totals(rows: readonly Row[]): string[] {
  const all = lineOf({
    recording: { ...(rows[0] as Row).recording, client: 'all', version: '' },
    compared: rows.flatMap(({ compared }) => compared),
    unbilled: rows.reduce((sum, { unbilled }) => sum + unbilled, 0),
    leftOut: new Map(),
  })
  return all
}

/** How far the records' cost is from what was billed. */
function percent(compared: readonly Compared[]): string {
  const billed = compared.reduce((sum, { billedUsd }) => sum + billedUsd, 0)
  const recorded = compared.reduce((sum, { recordedUsd }) => sum + recordedUsd, 0)
  if (billed === 0) return recorded === 0 ? '' : `+${recorded} USD`
  const share = (recorded / billed - 1) * 100
  return Math.abs(share) < 0.05 ? '' : `${share > 0 ? '+' : ''}${share.toFixed(1)} %`
}

/** Call by call, of the clients whose names contain a text. */
export function details(rows: readonly Row[], text: string): string {
  const wanted = rows.filter(({ recording: { client } }) => client.toLowerCase().includes(text.toLowerCase()))
  const lines = wanted.flatMap(({ recording, compared, leftOut }) => [
    `${recording.client}: no event of its own: ${JSON.stringify(Object.fromEntries(leftOut))}`,
    ...compared.map(({ bill, records, differences, billedUsd, recordedUsd }) => {
      const what = `#${bill.n} ${bill.api} ${bill.model}${bill.stream === true ? ' stream' : ''}`
      return `  ${what}: ${records} records, ${recordedUsd} of ${billedUsd} USD ${differences.join(', ') || 'right'}`
    }),
  ])
  return `${lines.join('\n')}\n`
}
