import type { NatsConnection } from '@nats-io/transport-node'
import { claimsSubject } from '../../../streams/gateways.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'
import type { Claim, ClaimVerdict } from './claim.js'
import type { KeyOwners } from './key-owners.js'
import { type ClaimAnswer, decodeAnswers, encodeClaims, type PeerId } from './peer-messages.js'

const UNANSWERED = counter(
  'claims_unanswered_total',
  'Keys that the gateway which owns them was asked for, and did not answer in time.',
)

export interface ClaimRequestsDeps {
  readonly connection: NatsConnection
  readonly sender: PeerId
  readonly owners: KeyOwners
  /** An owner that has not answered within this time counts as silent. */
  readonly answerWithinMs: number
  /** Sends a claim again, to the key's current owner. */
  readonly resend: (claim: Claim) => void
  readonly clock: () => number
  readonly log: Logger
}

/** A claim whose owner answered 'wait' is sent again after this time, */
const RESEND_MS = 20
/** and for this long. */
const WAIT_MAX_MS = 2_000

/** The requesting side: sends claims to the owners of their keys and reports each verdict once. */
export class ClaimRequests {
  private readonly deps: ClaimRequestsDeps
  private readonly unanswered = new Set<Claim>()
  /** Claims whose owner answered 'wait'. */
  private waiting: Claim[] = []
  private resendTimer: NodeJS.Timeout | undefined
  /** Owners that did not answer the latest request; each is logged once. */
  private readonly silentOwners = new Set<string>()
  private isClosed = false

  constructor(deps: ClaimRequestsDeps) {
    this.deps = deps
  }

  async send(owner: string, claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) this.unanswered.add(claim)
    const answers = await this.request(owner, claims)
    this.logSilence(owner, claims.length, answers !== undefined)
    for (const [i, claim] of claims.entries()) {
      // False if `close` has already reported this claim as unanswered.
      if (this.unanswered.delete(claim)) this.onAnswer(claim, answers?.[i])
    }
  }

  /** Forgets that a departed gateway was silent. */
  forgetOwner(owner: string): void {
    this.silentOwners.delete(owner)
  }

  /** Reports every claim in flight, and those in `unsent`, as unanswered. */
  close(unsent: readonly Claim[]): void {
    const claims = [...this.unanswered, ...this.waiting, ...unsent]
    this.unanswered.clear()
    this.waiting = []
    this.isClosed = true
    clearTimeout(this.resendTimer)
    for (const claim of claims) this.report(claim, { kind: 'unanswered', ticket: claim, isInFlight: false })
  }

  /** @returns undefined if the owner does not answer in time, or not intelligibly */
  private request(owner: string, claims: readonly Claim[]): Promise<ClaimAnswer[] | undefined> {
    const { connection, sender, answerWithinMs } = this.deps
    return new Promise((resolve) => {
      // After a stall of this process the timer fires first although the answer has arrived: let it be read.
      const timer = setTimeout(() => setImmediate(() => resolve(undefined)), answerWithinMs)
      const decide = (answers: ClaimAnswer[] | undefined): void => {
        clearTimeout(timer)
        resolve(answers)
      }
      connection.request(claimsSubject(owner), encodeClaims(sender, claims), { timeout: 2 * answerWithinMs }).then(
        ({ data }) => decide(decodeAnswers(data, claims.length)),
        () => decide(undefined),
      )
    })
  }

  private logSilence(owner: string, claims: number, hasAnswered: boolean): void {
    if (hasAnswered) {
      this.silentOwners.delete(owner)
    } else if (!this.silentOwners.has(owner) && !this.isClosed) {
      this.silentOwners.add(owner)
      this.deps.log.warn({ owner, claims }, 'a peer gateway does not answer claims for the keys it owns')
    }
  }

  private onAnswer(claim: Claim, answer: ClaimAnswer | undefined): void {
    switch (answer?.kind) {
      case undefined:
        return this.report(claim, { kind: 'unanswered', ticket: claim, isInFlight: false })
      case 'proceed':
        return this.report(claim, { kind: 'proceed', ticket: claim })
      case 'same':
      case 'conflict':
        return this.report(claim, answer)
      case 'wait':
        claim.waitingSinceMs ??= this.deps.clock()
        this.waiting.push(claim)
        if (!this.isClosed) this.resendTimer ??= setTimeout(() => this.resendWaiting(), RESEND_MS)
    }
  }

  private resendWaiting(): void {
    const { owners, clock, resend } = this.deps
    this.resendTimer = undefined
    const claims = this.waiting
    this.waiting = []
    const nowMs = clock()
    for (const claim of claims) {
      const owner = owners.ownerOf(claim.key)
      const isInFlight = owner !== undefined && nowMs - (claim.waitingSinceMs ?? nowMs) >= WAIT_MAX_MS
      if (owner === undefined || isInFlight) {
        this.report(claim, { kind: 'unanswered', ticket: claim, isInFlight })
        continue
      }
      claim.owner = owner
      resend(claim)
    }
  }

  private report(claim: Claim, verdict: ClaimVerdict): void {
    if (verdict.kind === 'unanswered') UNANSWERED.inc()
    try {
      claim.onVerdict(verdict)
    } catch (cause) {
      // One failing callback must not leave the other claims of the batch without a verdict.
      this.deps.log.error({ err: cause }, "a request failed while handling the verdict on its key's claim")
    }
  }
}
