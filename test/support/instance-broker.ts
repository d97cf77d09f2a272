/** The broker of a running service, as an operator reaches it. */
import { type Broker, connectBroker } from '../../internal/broker/connect.js'
import { EVENTS, eventsSubject } from '../../streams/events.js'
import { gatewayEnvironment, type RunningService } from './service.js'

export function connectInstance(service: RunningService): Promise<Broker> {
  const env = gatewayEnvironment(service)
  return connectBroker({
    url: env['ATTRIBUTION_NATS_URL'] ?? '',
    user: env['ATTRIBUTION_NATS_USER'] ?? '',
    password: env['ATTRIBUTION_NATS_PASSWORD'] ?? '',
    name: 'test',
  })
}

/** What was published of a tenant's degradation, in order: `from to`. */
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
