import { isDeepStrictEqual } from 'node:util'
import { formatId } from '../../internal/ids/ids.js'
import { RECORD_JSON } from './calls-table.js'

/** The questions, each as a request to the product and as a statement with the same answer. */
export interface Question {
  readonly name: string
  /** The `n`-th time it is asked. */
  readonly path: (n: number) => string
  /** With one row, one column `body`, and the tenant as `$1`. */
  readonly sql: string
  /** Of `$2` and further parameters. */
  readonly values: (n: number) => readonly string[]
  readonly isSame: (ours: Body, theirs: Body) => boolean
  /** The product's p50 in milliseconds, at most. */
  readonly barMs?: number
  /** Whether the product's sorted copies may serve it. */
  readonly isPage?: true
}

interface Body {
  readonly data: readonly Readonly<Record<string, unknown>>[]
}

/** What is asked for: values that some call has. */
export interface Sample {
  readonly calls: readonly { readonly service: string; readonly owner: string; readonly served_model: string }[]
  /** Of calls that came over the API: the ids of generated ones are those of no tenant. */
  readonly ids: readonly string[]
  /** Before it the calls of twelve months were made, milliseconds since the epoch. */
  readonly lastMs: number
}

const LIMIT = 50
const PAGE_MS_MAX = 15
const RECORD_MS_MAX = 10
const DAY_MS = 86_400_000
const REPORT_DAYS = 31

const at = <T>(values: readonly T[], n: number): T => values[n % values.length] as T

export function questionsOf(sample: Sample): readonly Question[] {
  const one = (n: number) => at(sample.calls, n)
  return [
    page('newest of a service', 'event_time', ['service'], (n) => [one(n).service]),
    page('by cost', 'cost_usd', [], () => []),
    page('by energy', 'energy_wh', [], () => []),
    page('of a service, by cost', 'cost_usd', ['service'], (n) => [one(n).service]),
    page('of a service, by energy', 'energy_wh', ['service'], (n) => [one(n).service]),
    page('of a service and a model, by cost', 'cost_usd', ['service', 'served_model'], (n) => [
      ...[one(n).service, one(n).served_model],
    ]),
    page('of a service and an owner, by cost', 'cost_usd', ['service', 'owner'], (n) => [one(n).service, one(n).owner]),
    recordById(sample.ids),
    report('31 days by service', SUMS, sample.lastMs),
    report('31 days by service, people counted', [...SUMS, PEOPLE], sample.lastMs),
  ]
}

/** A page in descending order. */
function page(
  name: string,
  sort: 'event_time' | 'cost_usd' | 'energy_wh',
  fields: readonly string[],
  values: (n: number) => readonly string[],
): Question {
  const conditions = fields.map((field, i) => `AND ${field} = $${i + 2}`).join(' ')
  return {
    name,
    path: (n) => {
      const filters = values(n).map((value, i) => `&filter[${fields[i]}][eq]=${encodeURIComponent(value)}`)
      return `/v1/attribution?limit=${LIMIT}&sort=-${sort}${filters.join('')}`
    },
    sql: `SELECT json_build_object('data', coalesce(json_agg(${RECORD_JSON}), '[]'))::text AS body FROM (
            SELECT * FROM calls WHERE tenant_id = $1 ${conditions}
            ORDER BY ${sort} DESC, id DESC LIMIT ${LIMIT}) AS page`,
    values,
    isSame: ({ data: ours }, { data: theirs }) => isDeepStrictEqual(ours, theirs.map(withOurIds)),
    barMs: PAGE_MS_MAX,
    isPage: true,
  }
}

/** Beside the record, the product's answer explains it. */
const recordById = (ids: readonly string[]): Question => ({
  name: 'record by id',
  path: (n) => `/v1/attribution/${formatId('attr', bytesOf(at(ids, n)))}`,
  sql: `SELECT json_build_object('data', json_build_array(${RECORD_JSON}))::text AS body
        FROM calls WHERE tenant_id = $1 AND id = $2`,
  values: (n) => [at(ids, n)],
  isSame: (ours, theirs) => {
    const { event_tags, explanation, ...record } = ours as unknown as Record<string, unknown>
    return isDeepStrictEqual([record], theirs.data.map(withOurIds))
  },
  barMs: RECORD_MS_MAX,
})

const bytesOf = (uuid: unknown): Buffer => Buffer.from(String(uuid).replaceAll('-', ''), 'hex')

const withOurIds = (record: Readonly<Record<string, unknown>>) => ({
  ...record,
  id: formatId('attr', bytesOf(record['id'])),
  invocation_id: formatId('inv', bytesOf(record['id'])),
})

type Figure = readonly [name: string, sql: string]
const SUMS: readonly Figure[] = [
  ['calls', 'count(*)'],
  ...['cost_usd', 'energy_wh', 'carbon_gco2e'].map((name) => [name, `trim_scale(sum(${name}))::text`] as const),
  ...['input_tokens', 'output_tokens'].map((name) => [name, `sum(${name})`] as const),
]
const PEOPLE: Figure = ['people', 'count(DISTINCT person)']

/** A report of any 31 days of the twelve months. The product's has its 28 figures in each case, and the cohort rule. */
function report(name: string, figures: readonly Figure[], lastMs: number): Question {
  const days = Math.floor(lastMs / DAY_MS)
  const from = (n: number): number => days - REPORT_DAYS - 1 - ((n * 97) % (365 - REPORT_DAYS - 2))
  const instant = (day: number): string => new Date(day * DAY_MS).toISOString()
  return {
    name,
    path: (n) =>
      `/v1/reports/usage?group_by=service&limit=100&from=${instant(from(n))}&to=${instant(from(n) + REPORT_DAYS)}`,
    sql: `SELECT json_build_object('data', coalesce(json_agg(row), '[]'))::text AS body FROM (
            SELECT service, ${figures.map(([figure, sql]) => `${sql} AS ${figure}`).join(', ')} FROM calls
            WHERE tenant_id = $1 AND event_time >= $2 AND event_time < $3
            GROUP BY service ORDER BY sum(cost_usd) DESC) AS row`,
    values: (n) => [instant(from(n)), instant(from(n) + REPORT_DAYS)],
    isSame: ({ data: ours }, { data: theirs }) => {
      const picked = ours.map((row) => Object.fromEntries(Object.keys(theirs[0] ?? {}).map((key) => [key, row[key]])))
      return isDeepStrictEqual(picked, theirs)
    },
  }
}
