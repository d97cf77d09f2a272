import type { HttpServiceClient } from './replay/client.js'

/** Records as they are attributed, read again and again. */

export interface TailedRecord {
  readonly id: string
  readonly service: string
  readonly owner: string
  readonly provider: string
  readonly served_model: string
  readonly cost_usd: string
  readonly cost_basis: string
  readonly materialized_at: string
  readonly interpretation: {
    readonly confidence: number
    readonly evidence_basis: string
    readonly export_eligibility: string
  }
}

const PAGE = 200

/**
 * Reads records by the instant at which they became valid. Records of one instant differ by their ids; reads
 * are complete as of an instant, so that none of an earlier one appears later.
 *
 * @param from RFC 3339: records since then
 */
export class Tail {
  private since: string
  /** Of the instant `since`. */
  private shown = new Set<string>()
  private readonly filter: string
  private readonly client: Pick<HttpServiceClient, 'get'>

  /** @param filter further conditions, as query parameters */
  constructor(client: Pick<HttpServiceClient, 'get'>, from: string, filter: string) {
    this.client = client
    this.since = from
    this.filter = filter
  }

  /**
   * The next records, oldest first; none when there are none yet.
   *
   * @throws Error with the answer's status and detail
   */
  async next(): Promise<readonly TailedRecord[]> {
    const query = `limit=${PAGE}&sort=materialized_at&filter[materialized_at][gte]=${this.since}${this.filter}`
    let path = `/v1/attribution?${query}`
    for (;;) {
      const { status, body } = await this.client.get(path)
      if (status !== 200) throw new Error(`the service answered ${status}: ${detailIn(body)}`)
      const { data, page } = JSON.parse(body) as {
        readonly data: readonly TailedRecord[]
        readonly page: { readonly next_cursor?: string }
      }
      const news = data.filter(({ id, materialized_at }) => materialized_at > this.since || !this.shown.has(id))
      this.remember(data)
      // More than a page became valid at one instant, and all of it is known.
      if (news.length > 0 || page.next_cursor === undefined) return news
      path = `/v1/attribution?${query}&cursor=${page.next_cursor}`
    }
  }

  private remember(data: readonly TailedRecord[]): void {
    const last = data.at(-1)
    if (last === undefined) return
    if (last.materialized_at !== this.since) this.shown = new Set()
    this.since = last.materialized_at
    for (const { id, materialized_at } of data) if (materialized_at === this.since) this.shown.add(id)
  }
}

export const detailIn = (body: string): string => {
  try {
    return (JSON.parse(body) as { readonly detail?: string }).detail ?? ''
  } catch {
    return ''
  }
}
