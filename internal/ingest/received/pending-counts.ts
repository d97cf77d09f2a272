import type { ErrorCode } from '../../problems/problem-catalogue.js'
import { type Counts, CountsBySource, type Source } from './counts.js'
import { UNNAMED_SENDER } from './sender.js'
import type { Tally } from './tally.js'

/** Whose events they are. */
export interface Credential {
  readonly tenantId: string
  readonly principal: string
}

/** Where admission and intakes count what they receive. */
export interface OnReceived {
  /** What a request held, once its answer is known: what a sender has to repeat is counted with the repeat. */
  readonly add: (credential: Credential, intake: string, tallies: readonly Tally[], nowMs: number) => void
  /** A request that was refused whole. @param intake '' for the API */
  readonly refused: (credential: Credential, intake: string, code: ErrorCode, nowMs: number) => void
  /** Where events of the API are counted; to be used at once, and not kept. */
  readonly ofApi: (credential: Credential) => Counts
}

/** What this process has received since it was last stored, by tenant. */
export class PendingCounts implements OnReceived {
  private byTenant = new Map<string, CountsBySource>()
  /** Events of one credential come one after the other. */
  private last: { readonly credential: Credential; readonly counts: Counts } | undefined

  readonly add = (credential: Credential, intake: string, tallies: readonly Tally[], nowMs: number): void => {
    const sources = this.of(credential.tenantId)
    for (const tally of tallies) {
      sources.of({ ...tally.sender, principal: shownPrincipal(credential), intake }).addTally(tally, nowMs)
    }
  }

  readonly refused = (credential: Credential, intake: string, code: ErrorCode, nowMs: number): void => {
    this.of(credential.tenantId).of(unnamed(credential, intake)).refuseRequest(code.toLowerCase(), nowMs)
  }

  readonly ofApi = (credential: Credential): Counts => {
    if (this.last?.credential === credential) return this.last.counts
    const counts = this.of(credential.tenantId).of(unnamed(credential, ''))
    this.last = { credential, counts }
    return counts
  }

  of(tenantId: string): CountsBySource {
    const known = this.byTenant.get(tenantId)
    if (known !== undefined) return known
    const sources = new CountsBySource()
    this.byTenant.set(tenantId, sources)
    return sources
  }

  /** The same for a reader; undefined when nothing is pending. */
  peek(tenantId: string): CountsBySource | undefined {
    return this.byTenant.get(tenantId)
  }

  /** All of it, which is then no longer pending. */
  take(): ReadonlyMap<string, CountsBySource> {
    const taken = this.byTenant
    this.byTenant = new Map()
    this.last = undefined
    return taken
  }
}

const unnamed = (credential: Credential, intake: string): Source => ({
  ...UNNAMED_SENDER,
  principal: shownPrincipal(credential),
  intake,
})

/** Sources are machines: calls that people send with their own sign-in count together. */
const shownPrincipal = ({ principal }: Credential): string => (principal.startsWith('usr_') ? '' : principal)
