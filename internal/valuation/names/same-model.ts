import { modelNames } from './model-names.js'

/** The model of a call, as one who saw it states it. */
export interface StatedModel {
  readonly provider: string
  readonly requestedModel: string
  readonly servedModel: string
}

/** Whether two who saw a call may mean one model: `gpt-4o` and `openai/gpt-4o-2024-08-06`. */
export function isSameModel(one: StatedModel, other: StatedModel): boolean {
  const names = spellingsOf(one)
  return spellingsOf(other).some((name) => names.includes(name))
}

const spellingsOf = ({ provider, requestedModel, servedModel }: StatedModel): readonly string[] =>
  requestedModel === servedModel
    ? spellings(provider, servedModel)
    : [...spellings(provider, servedModel), ...spellings(provider, requestedModel)]

/** Under which names a model may be listed, with its date and region and without. */
function spellings(provider: string, model: string): readonly string[] {
  const key = `${provider}\n${model}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const { candidates, opaque } = modelNames(provider, model)
  const names = [...candidates, ...opaque].map(({ name }) => name)
  if (kept.size === KEPT_MAX) kept.clear()
  kept.set(key, names)
  return names
}
const kept = new Map<string, readonly string[]>()
const KEPT_MAX = 1_000
