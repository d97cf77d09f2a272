import { OTHER_SENDERS, senderOf } from '../received/sender.js'
import { Tally } from '../received/tally.js'
import { gatewayLayerOf } from './span-events.js'
import { FACT } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/**
 * Senders of one request that are counted separately: an exporter has a few scopes, a collector some of each service.
 */
const SENDERS_MAX = 64

/** The senders of one request, each with what it brought: by instrumentation scope and service. */
export class Senders {
  private readonly known = new Map<string, Tally>()
  private scope: string | undefined
  private version = ''
  private service = ''
  private last: Tally | undefined

  get all(): readonly Tally[] {
    return [...this.known.values()]
  }

  /** One of them, for what cannot be told apart. */
  get any(): Tally {
    return this.last ?? this.find('', '', '')
  }

  /** What one scope sends comes one after the other. */
  of({ scope, scopeVersion, resource }: Telemetry): Tally {
    const stated = resource.get(FACT.service)
    const service = typeof stated === 'string' ? stated : ''
    const isSame = scope === this.scope && scopeVersion === this.version && service === this.service
    if (isSame && this.last !== undefined) return this.last
    this.scope = scope
    this.version = scopeVersion
    this.service = service
    this.last = this.find(scope, scopeVersion, service)
    return this.last
  }

  private find(scope: string, version: string, service: string): Tally {
    const isOther = this.known.size >= SENDERS_MAX
    const key = `${scope}\n${version}\n${service}`
    const known = this.known.get(key) ?? (isOther ? this.known.get(OTHER_SENDERS) : undefined)
    if (known !== undefined) return known
    const layer = gatewayLayerOf(scope) ?? 'application'
    const tally = new Tally(isOther ? senderOf(OTHER_SENDERS, '', '', layer) : senderOf(scope, version, service, layer))
    this.known.set(isOther ? OTHER_SENDERS : key, tally)
    return tally
  }
}
