import { askAs } from '../ask.js'
import { command } from '../instance.js'
import { sendPlanted } from '../planted-calls.js'
import type { Instance } from '../service.js'

/** Trains a serving model and a candidate for the instance's tenant: no API request can create one. */
export async function trainModels(service: Instance): Promise<void> {
  const { credentials, baseUrl } = service
  await sendPlanted(askAs(baseUrl, { 'x-api-key': credentials.api_key }), 3_000, Date.now() - 3 * 60 * 60 * 1000)
  for (const args of [[], ['--candidate']]) {
    const training = await command(service, ['model', 'train', '--tenant', credentials.tenant_id, ...args])
    if (training.code !== 0) throw new Error(training.lines.join('\n'))
  }
}
