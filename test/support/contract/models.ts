import { askAs } from '../ask.js'
import { command } from '../instance.js'
import { sendPlanted } from '../planted-calls.js'
import type { Instance } from '../service.js'

/** Gives the instance's tenant a model that serves and one that could: no request makes one. */
export async function trainModels(service: Instance): Promise<void> {
  const { credentials, baseUrl } = service
  await sendPlanted(askAs(baseUrl, { 'x-api-key': credentials.api_key }), 6_000, Date.now() - 3 * 60 * 60 * 1000)
  for (const args of [[], ['--candidate']]) {
    const training = await command(service, ['model', 'train', '--tenant', credentials.tenant_id, ...args])
    if (training.code !== 0) throw new Error(training.lines.join('\n'))
  }
}
