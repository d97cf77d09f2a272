import type { ModelCall } from './event.js'
import { PROVIDERS, siteOf } from './hosts.js'
import { MODEL_FORMS } from './model-forms.js'

/**
 * Who sold a call: the owner of the host, else whom a gateway says that it asked, else, behind a host that nobody knows,
 * whose model it is. The class of a client says nothing: OpenAI's speaks to all others, too.
 *
 * @param named by the headers of the answer: a name, or a URL
 * @param api whose API it is by the form of the answer
 * @param models the best first
 */
export function sellerOf(
  request: { readonly url: URL; readonly headers: Headers },
  named: string | undefined,
  api: string | undefined,
  models: readonly (string | null | undefined)[],
): Pick<ModelCall, 'provider' | 'region'> {
  const site = siteOf(request.url.host)
  const gateway = named ?? request.headers.get('x-portkey-provider') ?? undefined
  const behind = gateway !== undefined && /:\/\/|\./.test(gateway) ? siteOf(gateway)?.provider : gateway
  const region = site?.region === 'global' ? undefined : site?.region
  return {
    provider: site?.provider ?? behind ?? ofModels(models) ?? (api === 'openai' ? undefined : api) ?? 'unknown',
    region,
  }
}

/** By the whole name, the part before a slash (`azure/gpt-4o`), or the part after it. */
function ofModels(models: readonly (string | null | undefined)[]): string | undefined {
  for (const model of models) {
    const name = model?.toLowerCase() ?? ''
    const first = name.slice(0, Math.max(0, name.indexOf('/')))
    const provider = ofForm(name) ?? (PROVIDERS.has(first) ? first : ofForm(name.slice(name.lastIndexOf('/') + 1)))
    if (provider !== undefined) return provider
  }
  return undefined
}

const ofForm = (name: string): string | undefined => MODEL_FORMS.find(({ form }) => form.test(name))?.provider
