/** The published degradation events of a tenant. */
import type { Broker } from '../../internal/broker/connect.js'
import { EVENTS, eventsSubject } from '../../streams/events.js'

/** @returns `from to` per event, in order */
export async function degradationEvents(broker: Broker, tenantId: string): Promise<string[]> {
  const subject = eventsSubject(tenantId, 'degradation.state.changed')
  const found: string[] = []
  for (let seq = 1; ; seq++) {
    const message = await broker.manager.direct
      .getMessage(EVENTS.name, { seq, next_by_subj: subject })
      .catch(() => null)
    if (message === null) return found
    const { data } = message.json<{ readonly data: { readonly from: string; readonly to: string } }>()
    found.push(`${data.from} ${data.to}`)
    seq = message.seq
  }
}
