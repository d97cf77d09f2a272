import { CHECKPOINTS, MEMBERS } from '../../../streams/buckets.js'
import { EXPORTERS, EXPORTS } from '../../../streams/exports.js'
import { STAGES, type StageName } from '../../../streams/invocations.js'
import type { Broker } from '../../broker/connect.js'
import { serviceVersion } from '../../config/version.js'
import { type Finding, failure, ok, warning } from './finding.js'

/** Roles that report themselves. Without the first two nothing is admitted or attributed; others' work waits. */
const REQUIRED = ['gateway', 'attributor']
const BACKGROUND = ['courier', 'sentinel', 'trainer']
/** One that is alone says rarely that it lives (`internal/broker/members.ts`). */
const EXPIRED_MS = MEMBERS.ttlMs

/** The processes that run, by their heartbeats. @param nowMs the broker's time */
export async function* checkRoles(broker: Broker, nowMs: number): AsyncGenerator<Finding> {
  const members = await liveMembers(broker, nowMs)
  for (const role of [...REQUIRED, ...BACKGROUND]) {
    const count = members.filter((member) => member.role === role).length
    const isRequired = REQUIRED.includes(role)
    if (count > 0) yield ok(role, count === 1 ? 'one process' : `${count} processes`)
    else if (isRequired) yield failure(role, `none runs: start one, its last words are in logs/${role}.log`)
    else yield warning(role, `none runs: its work waits. Start one, unless another machine has it`)
  }
  const { num_waiting: exporters } = await broker.manager.consumers.info(EXPORTS.name, EXPORTERS.durable_name)
  yield exporters > 0
    ? ok('exporter', 'waits for work')
    : warning('exporter', 'none waits for work: exports stay queued')
  yield stages(members)
  yield versions(members)
  yield parsers(members)
}

interface Member {
  readonly role: string
  readonly version: string
  readonly http: string | undefined
  /** Of an attributor that does not run all stages: those that it runs. */
  readonly parts: readonly string[] | undefined
}

async function liveMembers(broker: Broker, nowMs: number): Promise<Member[]> {
  const bucket = await broker.bucket(MEMBERS)
  const members: Member[] = []
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation !== 'PUT' || nowMs - entry.created.getTime() > EXPIRED_MS) continue
    const { version, http, parts } = entry.json<Omit<Member, 'role'>>()
    members.push({ role: key.slice(0, key.indexOf('.')), version, http, parts })
  }
  return members
}

/** What waits for a stage that nobody runs (`--stages`) waits for ever. */
export function stages(members: readonly Pick<Member, 'role' | 'parts'>[]): Finding {
  const attributors = members.filter(({ role }) => role === 'attributor')
  const runs = (stage: StageName): boolean => attributors.some(({ parts }) => parts?.includes(stage) ?? true)
  // The lane is run by those that run stage A. Without any attributor, the finding is about the role.
  const missing = STAGES.filter((stage) => stage !== 'l' && attributors.length > 0 && !runs(stage))
  if (missing.length === 0) return ok('stages', 'each is run')
  return failure('stages', `no attributor runs ${missing.join(', ')}: start one with --stages ${missing.join(',')}`)
}

function versions(members: readonly Member[]): Finding {
  const own = serviceVersion()
  const others = new Set(members.flatMap(({ role, version }) => (version === own ? [] : `${role} ${version}`)))
  if (others.size === 0) return ok('versions', own)
  return warning('versions', `this command is ${own}, but ${[...others].join(', ')} runs: finish the upgrade`)
}

/** What parses HTTP in the gateways: they should not differ, since a request may be read differently by each. */
function parsers(members: readonly Member[]): Finding {
  const builds = [...new Set(members.flatMap(({ http }) => http ?? []))].sort()
  if (builds.length < 2) return ok('HTTP parser', builds[0] ?? 'of no gateway is known')
  return warning('HTTP parser', `gateways differ (${builds.join(', ')}): start them all on the same Node and system`)
}

/** The time of the broker. @throws when it has no checkpoints yet */
export async function brokerTimeMs({ manager }: Broker): Promise<number> {
  const { ts } = await manager.streams.info(`KV_${CHECKPOINTS.name}`)
  return ts === undefined ? Date.now() : Date.parse(ts)
}
