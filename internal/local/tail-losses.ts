import type { HttpServiceClient } from './replay/client.js'
import { detailIn } from './tail.js'

/** What was received and became no record, counted by the service and read again and again. */
export interface Loss {
  readonly what: 'passed_over' | 'rejected' | 'request_refused'
  readonly reason: string
  readonly count: number
  readonly last_at: string
  readonly intake: string
  readonly sender: string | null
  readonly credential: string | null
  readonly service: string | null
}

interface Reasons {
  readonly reasons: readonly Pick<Loss, 'reason' | 'service' | 'count' | 'last_at'>[]
}
interface Source extends Pick<Loss, 'credential' | 'intake' | 'sender'> {
  readonly passed_over: Reasons
  readonly rejected: Reasons
  readonly refused_requests: Reasons
}

const PATH = '/api/v1/sources?limit=200'
/** A tenant has some 200 sources. */
const PAGES_MAX = 4

export class TailLosses {
  private before: ReadonlyMap<string, Loss> | undefined
  private readonly client: Pick<HttpServiceClient, 'get'>
  private readonly service: string | undefined

  /** @param service only what its telemetry brought */
  constructor(client: Pick<HttpServiceClient, 'get'>, service?: string) {
    this.client = client
    this.service = service
  }

  /**
   * What was lost since the last time, the oldest first; none the first time.
   *
   * @throws Error with the answer's status and detail
   */
  async next(): Promise<readonly Loss[]> {
    const { before } = this
    const read = await this.read()
    if (read === undefined) return []
    const now = new Map(read.map((loss) => [keyOf(loss), loss]))
    this.before = now
    if (before === undefined) return []
    return [...now].flatMap(([key, loss]) => newOf(loss, before.get(key))).sort((one, other) => timeOrder(one, other))
  }

  private async read(): Promise<Loss[] | undefined> {
    const losses: Loss[] = []
    let path: string | undefined = PATH
    for (let pages = 0; path !== undefined && pages < PAGES_MAX; pages++) {
      const { status, body } = await this.client.get(path)
      // Busy for the moment: the next look has it.
      if (status === 429 || status >= 500) return undefined
      if (status !== 200) throw new Error(`the service answered ${status}: ${detailIn(body)}`)
      const { data, page } = JSON.parse(body) as {
        readonly data: readonly Source[]
        readonly page: { readonly next_cursor?: string }
      }
      losses.push(...data.flatMap(lossesOf))
      path = page.next_cursor === undefined ? undefined : `${PATH}&cursor=${page.next_cursor}`
    }
    return this.service === undefined ? losses : losses.filter(({ service }) => service === this.service)
  }
}

function lossesOf({ credential, intake, sender, passed_over, rejected, refused_requests }: Source): Loss[] {
  const of = (what: Loss['what'], { reasons }: Reasons): Loss[] =>
    reasons.map(({ reason, service, count, last_at }) => ({
      what,
      reason,
      count,
      last_at,
      intake,
      sender,
      credential,
      service,
    }))
  return [...of('passed_over', passed_over), ...of('rejected', rejected), ...of('request_refused', refused_requests)]
}

const keyOf = ({ what, reason, intake, sender, credential, service }: Loss): string =>
  JSON.stringify([what, reason, intake, sender, credential, service])

/** Counts begin with an hour of yesterday: at its end they fall. */
function newOf(loss: Loss, before: Loss | undefined): Loss[] {
  if (before !== undefined && loss.last_at <= before.last_at && loss.count <= before.count) return []
  return [{ ...loss, count: Math.max(1, loss.count - (before?.count ?? 0)) }]
}

const timeOrder = (one: Loss, other: Loss): number => (one.last_at < other.last_at ? -1 : 1)
