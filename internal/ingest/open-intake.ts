import type { Config } from '../config/settings.js'
import type { RunningListener } from '../http/own-listener.js'
import { adapterRoutes } from './adapters/adapter-routes.js'
import { startGrpcIntake } from './grpc/grpc-listener.js'
import { type IntakeDeps, intakeRoom } from './intake/intake-requests.js'
import { type IntakeSettings, startIntake } from './intake/listener.js'
import { type OtlpDeps, otlpRoutes } from './otlp/otlp-routes.js'

type Ports = Config<'intakePort' | 'intakeGrpcPort'>

/** Listens for what others send: over HTTP, and OTLP over gRPC where there is a port for it. */
export async function openIntake(
  { intakePort, intakeGrpcPort, ...settings }: Omit<IntakeSettings, 'port'> & Ports,
  deps: Omit<IntakeDeps, 'room'> & OtlpDeps,
): Promise<RunningListener> {
  const shared = { ...deps, room: intakeRoom() }
  const otlp = otlpRoutes(deps)
  const http = await startIntake({ ...settings, port: intakePort }, [...otlp, ...adapterRoutes()], shared)
  const grpc = await startGrpcIntake({ ...settings, port: intakeGrpcPort }, otlp, shared)
  return {
    async drain(isReplaced) {
      await Promise.all([http.drain(isReplaced), grpc.drain(isReplaced)])
    },
  }
}
