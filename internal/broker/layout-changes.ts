import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamConfig } from '@nats-io/jetstream'
import { BUCKETS, OBJECT_BUCKETS } from '../../streams/buckets.js'
import { ConfigError } from '../config/settings.js'
import { type Broker, declaredStreams, findStream, placementOf, SIZED_STREAMS } from './connect.js'
import { undrained } from './drain.js'
import { isBrokerUnavailable } from './errors.js'
import { type FoundLayout, type Layout, smallLogOf, writeLayout } from './layout.js'

/** One property of a stream, of a bucket or of an object store that differs from a layout. */
export interface LayoutChange {
  /** The stream's name; those of buckets begin with KV_, those of object stores with OBJ_. */
  readonly stream: string
  readonly property: 'replicas' | 'bytes' | 'placement'
  readonly from: string
  readonly to: string
}

interface StreamChange {
  readonly stream: string
  readonly heldBytes: number
  readonly update: Partial<StreamConfig>
  readonly changes: readonly LayoutChange[]
}

/** What `applyLayout` would change, per stream. Missing streams are created by the next role that starts. */
export async function changesTo(broker: Broker, layout: Layout): Promise<LayoutChange[]> {
  return (await streamChanges(broker, layout)).flatMap(({ changes }) => changes)
}

/**
 * Why a layout cannot be applied; empty when it can.
 *
 * @param before undefined: the broker has no layout and no streams
 */
export async function obstaclesTo(broker: Broker, before: Layout | undefined, after: Layout): Promise<string[]> {
  const tooSmall = (await streamChanges(broker, after)).flatMap(({ stream, heldBytes, update }) =>
    update.max_bytes !== undefined && update.max_bytes < heldBytes
      ? [`${stream} holds ${heldBytes} bytes, more than ${update.max_bytes}`]
      : [],
  )
  const isRepartitioned = before !== undefined && after.partitions !== before.partitions
  return [...smallLogOf(after), ...tooSmall, ...(isRepartitioned ? await undrained(broker) : [])]
}

/**
 * Changes every stream, bucket and object store to a layout, and writes the layout last. Safe to repeat after a
 * failure.
 *
 * @param found the layout that it replaces; undefined: the broker has none
 * @throws ConfigError when the broker refuses a change, or another process has changed the layout meanwhile
 */
export async function applyLayout(broker: Broker, found: FoundLayout | undefined, layout: Layout): Promise<void> {
  let changed = 0
  const all = await streamChanges(broker, layout)
  for (const { stream, update } of all) {
    try {
      await repeatedly(() => broker.manager.streams.update(stream, update))
    } catch (cause) {
      throw new ConfigError(
        `the broker refuses the change of ${stream}: ${(cause as Error).message}; ${changed} of ${all.length} ` +
          'streams are changed, and the layout is not: repeat the command, or apply the old values',
        { cause },
      )
    }
    changed++
  }
  if (!(await writeLayout(broker, { ...layout, version: (found?.layout.version ?? 0) + 1 }, found?.revision))) {
    throw new ConfigError('another process has changed the layout meanwhile: look at the plan again')
  }
}

const ATTEMPTS_MAX = 20
const ATTEMPT_EVERY_MS = 500

/** On a busy cluster more replicas may outlast a request's wait; repeating the update is then no change. */
async function repeatedly(attempt: () => Promise<unknown>): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      await attempt()
      return
    } catch (cause) {
      if (!isBrokerUnavailable(cause) || failures === ATTEMPTS_MAX) throw cause
      await sleep(ATTEMPT_EVERY_MS)
    }
  }
}

async function streamChanges(broker: Broker, layout: Layout): Promise<StreamChange[]> {
  const sizes = new Map(declaredStreams(layout).map(({ name, max_bytes }) => [name, max_bytes]))
  const names = [
    ...sizes.keys(),
    ...BUCKETS.map(({ name }) => `KV_${name}`),
    ...OBJECT_BUCKETS.map(({ name }) => `OBJ_${name}`),
  ]
  const found: StreamChange[] = []
  for (const stream of names) {
    const info = await findStream(broker, stream)
    if (info === undefined) continue
    const { config, state } = info
    const changes: LayoutChange[] = []
    let update: Partial<StreamConfig> = {}
    const compare = (
      property: LayoutChange['property'],
      from: string,
      to: string,
      change: Partial<StreamConfig>,
    ): void => {
      if (from === to) return
      changes.push({ stream, property, from, to })
      update = { ...update, ...change }
    }
    compare('replicas', String(config.num_replicas), String(layout.replicas), { num_replicas: layout.replicas })
    const bytes = SIZED_STREAMS.has(stream) ? sizes.get(stream) : undefined
    if (bytes !== undefined) compare('bytes', String(config.max_bytes), String(bytes), { max_bytes: bytes })
    const { placement = undefined } = placementOf(layout)
    // An undefined value overrides the one that the client reads from the broker.
    compare('placement', placementText(config.placement), placementText(placement), {
      placement,
    } as Partial<StreamConfig>)
    if (changes.length > 0) found.push({ stream, heldBytes: state.bytes, update, changes })
  }
  return found
}

const placementText = (placement: { cluster?: string; tags?: readonly string[] } | undefined): string =>
  [placement?.cluster ?? '', ...(placement?.tags ?? [])].filter((part) => part !== '').join(',') || 'anywhere'
