import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import { connectService, type HttpServiceClient } from '../../internal/local/replay/client.js'

/** A command that uses the API of a running service. */
export interface ServiceOptions {
  readonly url: string
  readonly credentials: string
}

export const urlOption = (): Option => new Option('--url <url>', 'address of the API').default('http://127.0.0.1:8080')
export const credentialsOption = (): Option =>
  new Option('--credentials <file>', 'file with the API key, as api_key; ATTRIBUTION_API_KEY comes before it').default(
    '.data/credentials.json',
  )

/** @param limits of requests without an answer (`connectService`) */
export const connectApi = (
  { url, credentials }: ServiceOptions,
  limits: Parameters<typeof connectService>[4] = {},
): HttpServiceClient => connectService(url, apiKeyOf(credentials), 1, process.env['ATTRIBUTION_TLS_CERT_FILE'], limits)

/** Resolves when the text is written: the command ends its process, which would cut what a pipe has not taken yet. */
export const writeOut = (text: string): Promise<void> =>
  new Promise((resolve) => process.stdout.write(text, () => resolve()))

/** The key of the environment, where there is one: it need not be in a file that this service writes. */
function apiKeyOf(file: string): string {
  const { ATTRIBUTION_API_KEY: given } = process.env
  if (given !== undefined && given !== '') return given
  try {
    const { api_key: apiKey } = JSON.parse(readFileSync(file, 'utf8')) as { readonly api_key?: unknown }
    if (typeof apiKey === 'string') return apiKey
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read; set ATTRIBUTION_API_KEY, or name a file with --credentials`, {
      cause,
    })
  }
  throw new ConfigError(`${file} has no api_key`)
}
