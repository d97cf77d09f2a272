import { DEGRADATION_STATES } from '../../records/interpretation.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'
import type { ServingBoard } from './serving-board.js'

const SERVING = gauge(
  'model_serving_tenants',
  'Tenants by what names their calls that no fact decides: `none` a model in service, `model_recalled` an earlier one.',
  ['state'],
)

/** Sets which models serve when the metrics are read. No label names a tenant. */
export function measureServing(board: Pick<ServingBoard, 'of'>, tenantIds: () => Iterable<string>): void {
  whenRead(() => {
    const counts = new Map<string, number>(DEGRADATION_STATES.map((state) => [state, 0]))
    for (const tenantId of tenantIds()) {
      const { state } = board.of(tenantId)
      counts.set(state, (counts.get(state) ?? 0) + 1)
    }
    for (const [state, count] of counts) SERVING.set({ state }, count)
  })
}
