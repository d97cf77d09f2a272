/** `deploy/docs/intake/clients.md`, which `npm run generate` writes from the recordings. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { InvocationEvent } from '../../../internal/invocations/invocation-schema.js'
import { type Gap, gapsOf, type Known, knownOf } from './known.js'
import { type Compared, compare, type Recorded, recordedOf, unbilled } from './ledger.js'
import { type Recording, recordings } from './recording.js'
import { replay } from './replay.js'

const PAGE = fileURLToPath(new URL('../../../deploy/docs/intake/clients.md', import.meta.url))

/** A recording, and what came of it. */
export interface Client {
  readonly name: string
  readonly recording: Recording
  readonly records: readonly Recorded[]
  readonly compared: readonly Compared[]
  readonly unbilled: number
  readonly leftOut: ReadonlyMap<string, number>
  readonly gaps: readonly Gap[]
}

/** Sends every recording through the intakes. */
export async function replayedClients(): Promise<readonly Client[]> {
  const clients: Client[] = []
  for (const [name, recording] of recordings()) {
    const replayed = await replay(recording)
    const records = recordedOf(recording, replayed)
    const compared = compare(recording, records)
    const gaps = gapsOf(name, compared, unbilled(records))
    clients.push({ name, recording, records, compared, unbilled: unbilled(records), leftOut: replayed.leftOut, gaps })
  }
  return clients
}

/** Whether the page is that of these clients. The formatter pads its cells and breaks its lines. */
export const showsClients = (clients: readonly Client[]): boolean =>
  unformatted(readFileSync(PAGE, 'utf8')) === unformatted(clientsPage(clients))

export const writeClientsPage = (clients: readonly Client[]): void => writeFileSync(PAGE, clientsPage(clients))

const unformatted = (text: string): string => text.replace(/\s+/g, ' ').replace(/-{3,}/g, '---')

const INTRODUCTION = `# Clients

What these clients send was recorded: each ran unmodified in front of a provider that kept a ledger. Every test run
sends the recordings through the intake and compares records with ledger. \`npm run generate\` writes this page.

"Right" counts calls with one record that has the provider, the model, each class of tokens and the dollars of the
ledger. What is missing elsewhere stands below, by client.`

const STATED: readonly (readonly [what: string, fields: readonly (keyof InvocationEvent)[]])[] = [
  ['cache reads', ['cached_input_tokens']],
  ['cache writes', ['cache_write_tokens', 'cache_write_5m_tokens']],
  ['1-hour writes', ['cache_write_1h_tokens']],
  ['reasoning', ['reasoning_tokens']],
  ['tier', ['service_tier']],
  ['cost', ['estimated_cost_usd']],
  ['response id', ['response_id']],
]

function clientsPage(clients: readonly Client[]): string {
  const sorted = [...clients].sort((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1))
  const rows = sorted.map(
    (client) => `| ${titleOf(client)} | ${statedBy(client)} | ${rightOf(client)} of ${client.compared.length} |`,
  )
  const notes = sorted.flatMap((client) => noteOn(client, knownOf(client.name)))
  return [
    INTRODUCTION,
    ['| client, version | states, besides model and tokens | right |', '| --- | --- | --- |', ...rows].join('\n'),
    '## What is missing, and what to set',
    notes.join('\n'),
  ]
    .join('\n\n')
    .concat('\n')
}

const titleOf = ({ recording: { client, version } }: Client): string => `${client} ${version}`
const rightOf = ({ compared }: Client): number => compared.filter(({ differences }) => differences.length === 0).length

function statedBy({ records }: Client): string {
  const isStated = (field: keyof InvocationEvent): boolean => records.some(({ event }) => event[field] != null)
  return STATED.filter(([, fields]) => fields.some(isStated))
    .map(([what]) => what)
    .join(', ')
}

/** A line for each reason, since one reason often explains several differences. */
function noteOn(client: Client, { configure }: Known): string[] {
  const reasons = [...new Set(client.gaps.map(({ why }) => why))]
  if (reasons.length === 0 && configure === undefined) return []
  const said = reasons.map((why) => {
    const whats = client.gaps.filter((gap) => gap.why === why).map(({ what }) => what)
    return `${whats.join(', ')}: ${why}`
  })
  return [
    `- **${titleOf(client)}**: ${[...said, ...(configure === undefined ? [] : [`set ${configure}`])].join('; ')}.`,
  ]
}
