import { Kvm } from '@nats-io/kv'
import { LAYOUT } from '../../streams/buckets.js'
import {
  type Config,
  ConfigError,
  type LAYOUT_SETTINGS,
  SETTINGS,
  shownFlag,
  shownVariable,
} from '../config/settings.js'
import { type Broker, ensureStreams, type Placement, placementOf } from './connect.js'
import { lastingObstacles, unfinishedBefore } from './drain.js'
import { brokerErrorCode, isLostRace, NO_SUCH_STREAM } from './errors.js'
import { mirrorBucket } from './mirror.js'
import { batchesAtOnce, leastLogBytes } from './stream-capacity.js'

/**
 * How a broker's streams, buckets and object stores are laid out. The broker has one, in the bucket `layout`; the
 * settings of processes may only agree with it.
 */
export interface Layout {
  /** Of the layout: each change has the next one. 0: not written yet. */
  readonly version: number
  /** Of INVOCATIONS; undefined until a process decides it. */
  readonly partitions?: number
  /** Whose hash chooses a partition. undefined: the trace's, as in 0.3.0; `openStreams` changes it. */
  readonly partitionsBy?: 'event'
  readonly replicas: number
  readonly invocationsBytesMax: number
  readonly observationsBytesMax: number
  readonly eventsBytesMax: number
  readonly keysBytesMax: number
  readonly placement?: Placement
}

/** What the settings of a process say about the layout; undefined: nothing. */
export type WantedLayout = Partial<Config<(typeof LAYOUT_SETTINGS)[number]>>

/** The number of partitions until a layout says otherwise. */
export const partitionsOf = ({ partitions }: Layout): number => partitions ?? SETTINGS.partitions.initial

/** The entry of the bucket. */
interface StoredLayout {
  readonly format: 1
  readonly version: number
  readonly partitions: number | null
  readonly partitions_by?: 'event'
  readonly replicas: number
  readonly invocations_bytes_max: number
  readonly observations_bytes_max: number
  readonly events_bytes_max: number
  /** Absent: written before KEYS was there. */
  readonly keys_bytes_max?: number
  readonly placement: Placement | null
}

const KEY = 'layout'

export interface FoundLayout {
  readonly layout: Layout
  readonly revision: number
}

/** @returns undefined when the broker has none yet; @throws ConfigError when a newer version has written it */
export async function readLayout(broker: Broker): Promise<FoundLayout | undefined> {
  const bucket = await broker.bucket(LAYOUT)
  try {
    const entry = await bucket.get(KEY)
    return entry?.operation === 'PUT'
      ? { layout: fromStored(entry.json<StoredLayout>()), revision: entry.revision }
      : undefined
  } catch (cause) {
    if (brokerErrorCode(cause) === NO_SUCH_STREAM) return undefined
    throw cause
  }
}

/**
 * The layout of a broker, checked against the settings of this process. A broker that has none gets one, as the
 * settings say.
 *
 * @param decidesPartitions whether this process decides the number of partitions if nobody has: streams do not show it
 * @throws ConfigError when a setting contradicts the layout, or the log would be too small for a new one; nothing is
 *   changed then
 */
export async function agreeOnLayout(broker: Broker, wanted: WantedLayout, decidesPartitions: boolean): Promise<Layout> {
  for (;;) {
    const found = await readLayout(broker)
    const before = found?.layout ?? initialLayout(wanted)
    const faults = contradictions(before, wanted)
    if (faults.length > 0) throw new ConfigError(faults.join('; '))
    const partitions =
      before.partitions ?? wanted.partitions ?? (decidesPartitions ? SETTINGS.partitions.initial : undefined)
    if (found !== undefined && partitions === before.partitions) return before
    const layout = { ...before, version: before.version + 1, ...(partitions !== undefined && { partitions }) }
    const [tooSmall] = smallLogOf(layout)
    if (tooSmall !== undefined) throw new ConfigError(tooSmall)
    if (await writeLayout(broker, layout, found?.revision)) return layout
  }
}

/**
 * Agrees on the layout, and creates what is missing.
 *
 * @throws ConfigError as `agreeOnLayout` does, or when 0.3.0 still runs on the broker
 */
export async function openStreams(broker: Broker, wanted: WantedLayout, decidesPartitions: boolean): Promise<Layout> {
  const layout = await agreeOnLayout(broker, wanted, decidesPartitions)
  await ensureStreams(broker, layout)
  return layout.partitionsBy === 'event' ? layout : await changeToEventPartitions(broker)
}

/** Two versions that choose partitions differently would give an event that comes twice two records. */
async function changeToEventPartitions(broker: Broker): Promise<Layout> {
  for (;;) {
    const { layout, revision } = (await readLayout(broker)) as FoundLayout
    if (layout.partitionsBy === 'event') return layout
    const obstacles = await lastingObstacles(() => unfinishedBefore(broker))
    // Another process of this version may have been first: it then runs, too.
    if ((await readLayout(broker))?.revision !== revision) continue
    if (obstacles.length > 0) throw new ConfigError(`upgrading.md says how to replace 0.3.0: ${obstacles.join('; ')}`)
    const changed: Layout = { ...layout, version: layout.version + 1, partitionsBy: 'event' }
    if (await writeLayout(broker, changed, revision)) return changed
  }
}

/**
 * Watches for another number of partitions than this process uses.
 *
 * @param onOther called with the number in the layout
 */
export async function watchPartitions(
  broker: Broker,
  partitions: number,
  onLost: (cause: unknown) => void,
  onOther: (partitions: number) => void,
): Promise<void> {
  await mirrorBucket<StoredLayout>(await broker.bucket(LAYOUT), onLost, (_, stored) => {
    if (stored !== undefined && stored.partitions !== null && stored.partitions !== partitions)
      onOther(stored.partitions)
  })
}

/**
 * @param revision of the entry that it replaces; undefined: there is none
 * @returns false when another process came first
 */
export async function writeLayout(broker: Broker, layout: Layout, revision: number | undefined): Promise<boolean> {
  const text = JSON.stringify(toStored(layout))
  try {
    if (revision === undefined) {
      const { name, history } = LAYOUT
      const kvm = new Kvm(broker.manager.jetstream())
      const bucket = await kvm.create(name, { history, replicas: layout.replicas, ...placementOf(layout) })
      await bucket.create(KEY, text)
    } else await (await broker.bucket(LAYOUT)).update(KEY, text, revision)
    return true
  } catch (cause) {
    if (isLostRace(cause)) return false
    throw cause
  }
}

/** What each setting of the layout is called, and its value there. */
const fieldsOf = (layout: Layout): Required<{ [N in keyof WantedLayout]: number | undefined }> => ({
  partitions: layout.partitions,
  streamReplicas: layout.replicas,
  invocationsBytesMax: layout.invocationsBytesMax,
  observationsBytesMax: layout.observationsBytesMax,
  eventsBytesMax: layout.eventsBytesMax,
  keysBytesMax: layout.keysBytesMax,
})

/** One text per setting that contradicts the layout: which, its value, the layout's, and what changes the layout. */
export function contradictions(layout: Layout, wanted: WantedLayout): string[] {
  return Object.entries(fieldsOf(layout)).flatMap(([name, has]) => {
    const value = wanted[name as keyof WantedLayout]
    if (value === undefined || has === undefined || value === has) return []
    const setting = SETTINGS[name as keyof WantedLayout]
    const { flag } = setting
    return `${shownFlag(setting)} (or ${shownVariable(setting)}) is ${value}, but the layout of the broker has ${has}: \
leave the setting out, or change the layout with "attribution streams apply ${flag} ${value}"`
  })
}

/** Says of a layout that its log might stand still when it is full; empty when it does not. */
export function smallLogOf(layout: Layout): string[] {
  const partitions = partitionsOf(layout)
  const least = leastLogBytes(batchesAtOnce(partitions))
  return layout.invocationsBytesMax >= least
    ? []
    : [
        `${shownFlag(SETTINGS.invocationsBytesMax)} must be at least ${least} with ${partitions} partitions: \
a full log of ${layout.invocationsBytesMax} could not drain`,
      ]
}

/** The layout with the settings' values in place of its own. */
export const changedLayout = (layout: Layout, wanted: WantedLayout, placement?: Placement): Layout => ({
  ...layout,
  ...(wanted.partitions !== undefined && { partitions: wanted.partitions }),
  replicas: wanted.streamReplicas ?? layout.replicas,
  invocationsBytesMax: wanted.invocationsBytesMax ?? layout.invocationsBytesMax,
  observationsBytesMax: wanted.observationsBytesMax ?? layout.observationsBytesMax,
  eventsBytesMax: wanted.eventsBytesMax ?? layout.eventsBytesMax,
  keysBytesMax: wanted.keysBytesMax ?? layout.keysBytesMax,
  ...(placement !== undefined && { placement }),
})

/** Of a new broker. */
export const initialLayout = (wanted: WantedLayout): Layout =>
  changedLayout(
    {
      version: 0,
      partitionsBy: 'event',
      replicas: SETTINGS.streamReplicas.initial,
      invocationsBytesMax: SETTINGS.invocationsBytesMax.initial,
      observationsBytesMax: SETTINGS.observationsBytesMax.initial,
      eventsBytesMax: SETTINGS.eventsBytesMax.initial,
      keysBytesMax: SETTINGS.keysBytesMax.initial,
    },
    wanted,
  )

const toStored = (layout: Layout): StoredLayout => ({
  format: 1,
  version: layout.version,
  partitions: layout.partitions ?? null,
  ...(layout.partitionsBy !== undefined && { partitions_by: layout.partitionsBy }),
  replicas: layout.replicas,
  invocations_bytes_max: layout.invocationsBytesMax,
  observations_bytes_max: layout.observationsBytesMax,
  events_bytes_max: layout.eventsBytesMax,
  keys_bytes_max: layout.keysBytesMax,
  placement: layout.placement ?? null,
})

function fromStored(stored: StoredLayout): Layout {
  if (stored.format !== 1) {
    throw new ConfigError(`the layout of the broker has format ${stored.format}: it was written by a newer version`)
  }
  return {
    version: stored.version,
    ...(stored.partitions !== null && { partitions: stored.partitions }),
    ...(stored.partitions_by !== undefined && { partitionsBy: stored.partitions_by }),
    replicas: stored.replicas,
    invocationsBytesMax: stored.invocations_bytes_max,
    observationsBytesMax: stored.observations_bytes_max,
    eventsBytesMax: stored.events_bytes_max,
    keysBytesMax: stored.keys_bytes_max ?? SETTINGS.keysBytesMax.initial,
    ...(stored.placement !== null && { placement: stored.placement }),
  }
}
