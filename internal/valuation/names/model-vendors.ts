/** Which provider is meant by the names of models alone: by the part before a slash, else by their forms. */
import { canonicalProvider, isGateway } from '../../records/provider-names.js'
import { MODEL_FORMS } from '../../sdk/model-forms.js'

/** Clouds give names of their own form to the models of others. */
const CLOUD_FORMS = MODEL_FORMS.filter(({ provider }) => provider === 'bedrock' || provider === 'vertex_ai')

/**
 * The provider of a call by the names of its models: first that which stands before a slash (`openai/gpt-4o`,
 * `litellm/azure/gpt-4o`) or whose resource it is, then that whose form a name has.
 *
 * @param models the best first
 */
export function providerOfModels(models: readonly (string | undefined)[]): string | undefined {
  let byForm: string | undefined
  for (const model of models) {
    if (model === undefined) continue
    const name = model.trim().toLowerCase()
    const explicit = providerIn(name)
    if (explicit !== undefined) return explicit
    byForm ??= MODEL_FORMS.find(({ form }) => form.test(name))?.provider
  }
  return byForm
}

function providerIn(name: string): string | undefined {
  const cloud = CLOUD_FORMS.find(({ form }) => form.test(name))?.provider
  if (cloud !== undefined) return cloud
  const slash = name.indexOf('/')
  if (slash <= 0) return undefined
  const first = name.slice(0, slash)
  const rest = name.slice(slash + 1)
  return canonicalProvider(first) ?? (isGateway(first) ? (providerIn(rest) ?? providerOfModels([rest])) : undefined)
}
