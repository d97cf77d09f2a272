/** A test's own connection to the broker of a running instance, with what its gateway was started with. */
import { type Broker, connectBroker } from '../../internal/broker/connect.js'
import { gatewayEnvironment, type RunningService } from './service.js'

export function connectInstance(service: RunningService): Promise<Broker> {
  const environment = gatewayEnvironment(service)
  return connectBroker({
    url: environment['ATTRIBUTION_NATS_URL'] ?? '',
    user: environment['ATTRIBUTION_NATS_USER'] ?? '',
    password: environment['ATTRIBUTION_NATS_PASSWORD'] ?? '',
    name: 'test',
  })
}
