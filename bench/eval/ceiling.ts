import { logWeight, type PlantedEvent, type PlantedWorld, peopleWeights } from './plant.js'
import { LAYERS, MODELS, SHADOW } from './planted-company.js'

/**
 * The exact posterior of each service given everything that an event shows, under the rule by which it was planted:
 * no method that sees only the events can be better on the mean. The true service is not read, and who called only
 * where the event states it.
 *
 * @returns one probability a service of the company, in its order; sums to 1
 */
export function posterior({ company, withholding }: PlantedWorld, event: PlantedEvent): number[] {
  const layerAt = LAYERS.indexOf(event.layer)
  const modelAt = MODELS.findIndex(({ model }) => model === event.model)
  const logs = company.map((service) => {
    const labelled = service.name === SHADOW ? 0 : (withholding.labelled[layerAt] ?? 0)
    const ofPrincipal =
      event.layer === 'application' ? (event.principal === 'web-apps' ? service.webApps : 1 - service.webApps) : 1
    const ofPerson = event.statesIdentity ? (peopleWeights(service)[event.person - service.people[0]] ?? 0) : 1
    return (
      logWeight(service, event.inputTokens, event.outputTokens, event.atMs) +
      Math.log(service.layers[layerAt] ?? 0) +
      Math.log(service.models[modelAt] ?? 0) +
      Math.log(ofPrincipal) +
      Math.log(ofPerson) +
      Math.log(event.isLabelled ? labelled : 1 - labelled)
    )
  })
  const most = Math.max(...logs)
  const weights = logs.map((log) => Math.exp(log - most))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}
