import { listenBesideApi, type OwnListenerSettings, type RunningListener } from '../../http/own-listener.js'
import { type IntakeDeps, intakeRequests } from './intake-requests.js'
import type { IntakeRoute } from './intake-route.js'

export type IntakeSettings = Omit<OwnListenerSettings, 'name' | 'headBytesMax'>

/**
 * Listens for what others send, beside the API: exporters of OpenTelemetry always send `Transfer-Encoding: chunked`,
 * which costs the API a connection each time (`deploy/decisions/intake.md`). Only the gateway process has the admission in memory, so that
 * it listens there.
 */
export function startIntake(
  settings: IntakeSettings,
  routes: readonly IntakeRoute[],
  deps: IntakeDeps,
): Promise<RunningListener> {
  const answer = intakeRequests(routes, deps)
  return listenBesideApi(
    { ...settings, name: 'intake' },
    (message, response) => void answer(message, response),
    deps.log,
  )
}
