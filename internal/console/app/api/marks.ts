import type { Annotation, Anomaly, Books, LoggedEvent, Page, Price } from 'attribution-service/sdk/api'
import { linkTo } from '../../figures/address.js'
import { changesOfPrices, type Mark, markOfAnnotation, markOfAnomaly, markOfCrossing } from '../../figures/marks.js'
import { currentTokens, hasScope } from '../session/session.js'
import { ask } from './ask.js'

export type { Mark } from '../../figures/marks.js'

/** An event of the window: the person has added or removed a note. */
export const MARKS_CHANGED = 'attribution:marks'

interface List<T> {
  readonly data: readonly T[]
  readonly page: Page
}

/**
 * What happened in a period, oldest first: releases and notes, anomalies, budget crossings, changes of prices. At most
 * the newest 200 of each kind.
 */
export async function readMarks(fromMs: number, toMs: number, signal?: AbortSignal): Promise<readonly Mark[]> {
  if (!hasScope('read:reporting')) return []
  const range = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
  const asked = signal === undefined ? {} : { signal }
  const list = async <T>(path: string, more: Readonly<Record<string, string>> = range): Promise<readonly T[]> =>
    (await ask<List<T>>(`${path}?${new URLSearchParams({ limit: '200', ...more })}`, asked)).data
  const crossings = (type: LoggedEvent['type']) => list<LoggedEvent>('/api/v1/events/log', { ...range, type })
  const [annotations, anomalies, standard, custom, books, prices] = await Promise.all([
    list<Annotation>('/api/v1/annotations'),
    list<Anomaly>('/api/v1/anomalies'),
    crossings('budget.threshold.crossed'),
    crossings('budget.threshold.custom'),
    ask<Books>('/api/v1/prices/books', asked),
    hasScope('admin:config') ? list<Price>('/api/v1/prices', {}) : [],
  ])
  const params = new URLSearchParams(location.search)
  const explorer = (more: Readonly<Record<string, string>>): string | undefined =>
    hasScope('read:attribution') ? linkTo('explorer', params, more) : undefined
  const configured = (page: string): string | undefined => (hasScope('admin:config') ? linkTo(page, params) : undefined)
  return [
    ...annotations.map((each) =>
      markOfAnnotation(each, hasScope('admin:config') || each.created_by === currentTokens()?.userId),
    ),
    ...anomalies.map((each) => markOfAnomaly(each, explorer)),
    ...[...standard, ...custom].flatMap((each) => markOfCrossing(each, configured('budgets'))),
    ...changesOfPrices(books.price_changes, prices, configured('prices')),
  ]
    .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
    .sort((one, other) => one.atMs - other.atMs)
}
