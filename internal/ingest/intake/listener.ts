import type { Config } from '../../config/settings.js'
import { listenBesideApi, type RunningListener } from '../../http/own-listener.js'
import { type IntakeDeps, intakeRequests } from './intake-requests.js'
import type { IntakeRoute } from './intake-route.js'

export interface IntakeSettings extends Config<'tlsCertFile' | 'tlsKeyFile'> {
  readonly host: string
  /** 0: there is no intake. */
  readonly port: number
}

/**
 * Listens for what others send, beside the API: exporters of OpenTelemetry always send `Transfer-Encoding: chunked`,
 * which the API refuses (`deploy/decisions/intake.md`). Only the gateway process has the admission in memory, so that
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
