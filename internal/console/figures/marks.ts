import type { Annotation, Anomaly, Books, LoggedEvent, Price } from 'attribution-service/sdk/api'
import { filtersOfAnomaly } from './anomaly.js'
import { usdShown } from './shown.js'

/** Something that happened at a time, as charts mark it. */
export interface Mark {
  readonly atMs: number
  readonly kind: 'annotation' | 'anomaly' | 'budget' | 'price book'
  readonly text: string
  /** Of an annotation that the person may remove. */
  readonly id?: string
  /** Of a page of the console, or, of an annotation, elsewhere. */
  readonly href?: string
}

const linked = (href: string | undefined) => (href === undefined ? {} : { href })

/** @param isOwn whether the person may change it */
export const markOfAnnotation = ({ id, at, text, link, service }: Annotation, isOwn: boolean): Mark => ({
  ...(isOwn && { id }),
  atMs: Date.parse(at),
  kind: 'annotation',
  text: service === null || text.toLowerCase().includes(service.toLowerCase()) ? text : `${service}: ${text}`,
  ...linked(link ?? undefined),
})

/** @param linkTo the calls that match some filters; undefined for a person who may not see any */
export function markOfAnomaly(
  anomaly: Anomaly,
  linkTo: (filters: Readonly<Record<string, string>>) => string | undefined,
): Mark {
  const { observed_usd: observed, expected_usd: expected, window } = anomaly
  const { service, owner, provider } = anomaly.scope
  return {
    atMs: Date.parse(window.from),
    kind: 'anomaly',
    text:
      `${service || 'no service'} of ${owner || 'nobody'} at ${provider}: USD ${usdShown(observed)} in an hour, ` +
      `where USD ${usdShown(expected)} is usual`,
    ...linked(linkTo(filtersOfAnomaly(anomaly))),
  }
}

/** None of the sending of a test, which crosses nothing. */
export function markOfCrossing({ created_at: at, data }: LoggedEvent, href: string | undefined): readonly Mark[] {
  if (data['test'] === true) return []
  const group = data['group'] as { readonly value: string } | undefined
  const whose = group === undefined ? '' : ` of ${group.value}`
  const text = `${Number(data['threshold'])} % of a budget${whose} was spent`
  return [{ atMs: Date.parse(at), kind: 'budget', text, ...linked(href) }]
}

/** @param prices that the tenant negotiated, which take precedence over a book */
export const changesOfPrices = (
  books: Books['price_changes'],
  prices: readonly Price[],
  href: string | undefined,
): readonly Mark[] => [
  ...books.map(({ as_of: asOf, effective_from: from }) => priceMark(from, `the price book of ${asOf}`, href)),
  ...prices.map(({ provider, model, valid_from: from }) =>
    priceMark(from, `your price of ${model} at ${provider}`, href),
  ),
]

const priceMark = (from: string, what: string, href: string | undefined): Mark => ({
  atMs: Date.parse(from),
  kind: 'price book',
  text: `from here on: ${what}`,
  ...linked(href),
})
