import type { ServiceEntry } from '../../directory/directory.js'
import type { InvocationEvent } from '../../invocations/invocation-schema.js'
import type { HttpServiceClient } from '../replay/client.js'
import { type SandboxCompany, sandboxCompany } from './company.js'
import { sandboxEvents } from './traffic.js'

/** A sandbox, reached through the API like its users do. */
export type SandboxApi = Pick<HttpServiceClient, 'post'>

export interface SandboxData {
  readonly seed: number
  /** Days of data up to now, including today. */
  readonly days: number
  readonly nowMs: number
  /** Called with the number of events accepted so far. */
  readonly onProgress: (taken: number) => void
}

export interface LoadedSandbox {
  readonly services: number
  readonly identities: number
  readonly events: number
  /** Events that the sandbox already had. */
  readonly duplicates: number
}

const EVENTS_A_REQUEST = 1_000

/**
 * Fills a sandbox with the data of a seed through the public API. Safe to repeat: existing data is unchanged.
 *
 * @throws Error when the service rejects a request
 */
export async function loadSandbox(
  api: SandboxApi,
  { seed, days, nowMs, onProgress }: SandboxData,
): Promise<LoadedSandbox> {
  const company = sandboxCompany(seed)
  await addToDirectory(api, company)

  let [events, duplicates] = [0, 0]
  const send = async (batch: readonly InvocationEvent[]): Promise<void> => {
    const lines = batch.map((event) => JSON.stringify(event)).join('\n')
    const { status, body } = await api.post('/api/v1/invocations', 'application/x-ndjson', lines)
    if (status !== 202) throw new Error(`events were refused (${status}): ${body}`)
    const { rejected, results } = JSON.parse(body) as BulkAnswer
    if (rejected > 0) throw new Error(`${rejected} of ${batch.length} events were rejected`)
    events += batch.length
    duplicates += results.filter(({ duplicate }) => duplicate).length
    onProgress(events)
  }
  let batch: InvocationEvent[] = []
  for (const event of sandboxEvents(company, seed, days, nowMs)) {
    batch.push(event)
    if (batch.length < EVENTS_A_REQUEST) continue
    await send(batch)
    batch = []
  }
  if (batch.length > 0) await send(batch)
  return { services: company.services.length, identities: company.identities.length, events, duplicates }
}

interface BulkAnswer {
  readonly rejected: number
  readonly results: readonly { readonly duplicate?: boolean }[]
}

const CONFLICT = 409

/**
 * Adds entries to the directory. Those that are there already are unchanged.
 *
 * @throws Error when the service rejects one
 */
export async function addToDirectory(
  api: SandboxApi,
  { services, identities }: Pick<SandboxCompany, 'identities'> & { readonly services: readonly ServiceEntry[] },
): Promise<void> {
  for (const { name, owner, aliases } of services) await tell(api, 'services', { name, owner, aliases })
  for (const identity of identities) await tell(api, 'identities', identity)
}

async function tell(api: SandboxApi, kind: string, entry: object): Promise<void> {
  const { status, body } = await api.post(`/api/v1/directory/${kind}`, 'application/json', JSON.stringify(entry))
  if (status !== 201 && status !== CONFLICT) throw new Error(`the directory refused an entry (${status}): ${body}`)
}
