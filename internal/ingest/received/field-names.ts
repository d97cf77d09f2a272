import { isContentKey } from '../../text/content-keys.js'

/** Words of names under which usage, models, providers and costs are stated. */
const TELLING = /token|usage|model|provider|cost|tier|cache|operation/i
/** Such words in what a caller asks of a model: settings, which say nothing of what it used. */
const SETTING = /max_?(?:\w*_)?tokens|max[A-Z]\w*Tokens|tokenizer/
/** Anything else may be a value that somebody has made a name of. */
const FORM = /^[A-Za-z][\w.\-/]{0,79}$/

/**
 * A name of a field, as it may be shown: those that seem to state usage, a model, a provider or a cost.
 *
 * @returns places in lists as `N`; undefined for other names
 */
export function tellingName(name: string): string | undefined {
  if (!TELLING.test(name) || !FORM.test(name) || SETTING.test(name)) return undefined
  if (name.split('.').some(isContentKey)) return undefined
  return name.replace(/(^|\.)\d+(?=\.|$)/g, '$1N')
}

/** Names under which nothing but a call of a model states what it used, or which model it was. */
const OF_CALL =
  /(?:input|output|prompt|completion|total|cached?|reasoning)[_.-]?tokens?(?![a-z])|token_?(?:count|usage)|(?:^|[._])(?:gen_?ai|llm)[._].*(?:model|usage)/i

export const isOfCall = (name: string): boolean => OF_CALL.test(name) && !SETTING.test(name)
