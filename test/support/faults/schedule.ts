/**
 * Which fault happens when, to what, and for how long: a pure function of a seed, so that a run can be repeated. What
 * the faults do is in `deployment.ts`.
 */
import { type Random, seededRandom } from '../../../internal/local/sandbox/random.js'

/** The first gateway and attributor, store, courier and exporter are children of `up`; it starts them again. */
const ROLES = ['gateway', 'attributor', 'store', 'courier', 'exporter', 'gateway-2', 'attributor-2'] as const
export type RoleName = (typeof ROLES)[number]
/** They have no supervisor that must see them die, so they can be started with a clock of their own. */
export const OWN_ROLES = ['gateway-2', 'attributor-2'] as const
export type OwnRole = (typeof OWN_ROLES)[number]
export const BROKERS = [0, 1, 2] as const
export type BrokerNumber = (typeof BROKERS)[number]
/**
 * Those of which a disk can be full: what else writes keeps nothing there that it needs. Not the store, whose engine
 * would also lose lines of its log of tokens by this form of it
 * (`deploy/decisions/failed-writes-of-the-embedded-engine.md`).
 */
const DISK_USERS = ['gateway', 'exporter', 'gateway-2', ...BROKERS] as const
export type DiskUser = (typeof DISK_USERS)[number]
/** Whose connections to a broker: those of the children of `up`, or those of the second gateway and attributor. */
export const SIDES = ['first', 'second'] as const
export type Side = (typeof SIDES)[number]
/** What becomes of connections. */
const TROUBLES = ['cut', 'held', 'delayed'] as const
export type Trouble = (typeof TROUBLES)[number]

export type Fault =
  | { readonly kind: 'role killed'; readonly role: RoleName }
  | { readonly kind: 'role stopped'; readonly role: RoleName; readonly ms: number }
  | { readonly kind: 'broker killed'; readonly broker: BrokerNumber; readonly ms: number }
  | { readonly kind: 'broker stopped'; readonly broker: BrokerNumber; readonly ms: number }
  /** The broker that leads the log of invocations when the fault happens. */
  | { readonly kind: 'leader killed'; readonly ms: number }
  | {
      readonly kind: 'brokers parted'
      readonly between: readonly [BrokerNumber, BrokerNumber]
      readonly trouble: Trouble
      readonly ms: number
    }
  | {
      readonly kind: 'clients parted'
      readonly side: Side
      readonly broker: BrokerNumber
      readonly trouble: Trouble
      readonly ms: number
    }
  /** The log of invocations gets a limit at which it has no capacity for new events. */
  | { readonly kind: 'log full'; readonly ms: number }
  /** A process can write no file beyond a few KB. A gateway reaches no broker meanwhile, so that it needs its spool. */
  | { readonly kind: 'disk full'; readonly user: DiskUser; readonly ms: number }
  /** A message that no reader can decode, in the log of a partition. */
  | { readonly kind: 'poison'; readonly partition: number }
  | { readonly kind: 'clock jumps'; readonly role: OwnRole; readonly byMs: number; readonly ms: number }
export type FaultKind = Fault['kind']

export type ScheduledFault = Fault & { readonly atMs: number }

export interface ScheduleOptions {
  readonly durationMs: number
  /** Bounds of the pause between the begin of two faults. */
  readonly gapMs: readonly [number, number]
  /** Bounds of the length of a fault. */
  readonly lengthMs: readonly [number, number]
  readonly partitions: number
}

/** A kill of a role is the commonest death, so there are three of them in each round. */
const KINDS: readonly FaultKind[] = [
  'role killed',
  'role killed',
  'role killed',
  'role stopped',
  'broker killed',
  'broker stopped',
  'leader killed',
  'brokers parted',
  'clients parted',
  'log full',
  'disk full',
  'poison',
  'clock jumps',
]
const CLOCK_JUMP_MS_MAX = 10_000
export const DELAY_MS = 60

/**
 * Every kind happens once before any happens again, in an order of chance. Faults may overlap. The last one is over by
 * the end.
 */
export function scheduleOf(seed: string, options: ScheduleOptions): readonly ScheduledFault[] {
  const random = seededRandom(`faults ${seed}`)
  const { durationMs, gapMs, lengthMs } = options
  const faults: ScheduledFault[] = []
  let left: FaultKind[] = []
  let atMs = random.whole(...gapMs)
  while (atMs + lengthMs[1] <= durationMs) {
    if (left.length === 0) left = shuffled(KINDS, random)
    const kind = left.pop() as FaultKind
    faults.push({ atMs, ...faultOf(kind, random, options) })
    atMs += random.whole(...gapMs)
  }
  return faults
}

function faultOf(kind: FaultKind, random: Random, { lengthMs, partitions }: ScheduleOptions): Fault {
  const ms = random.whole(...lengthMs)
  switch (kind) {
    case 'role killed':
      return { kind, role: random.pick(ROLES) }
    case 'role stopped':
      return { kind, role: random.pick(ROLES), ms }
    case 'broker killed':
    case 'broker stopped':
      return { kind, broker: random.pick(BROKERS), ms }
    case 'leader killed':
    case 'log full':
      return { kind, ms }
    case 'brokers parted': {
      const between = random.pick([
        [0, 1],
        [0, 2],
        [1, 2],
      ] as const)
      return { kind, between, trouble: random.pick(TROUBLES), ms }
    }
    case 'clients parted':
      return { kind, side: random.pick(SIDES), broker: random.pick(BROKERS), trouble: random.pick(TROUBLES), ms }
    case 'disk full':
      return { kind, user: random.pick(DISK_USERS), ms }
    case 'poison':
      return { kind, partition: random.whole(0, partitions - 1) }
    case 'clock jumps':
      return { kind, role: random.pick(OWN_ROLES), byMs: random.whole(-CLOCK_JUMP_MS_MAX, CLOCK_JUMP_MS_MAX), ms }
  }
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const result = [...list]
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[result[i], result[j]] = [result[j] as T, result[i] as T]
  }
  return result
}

/** One line, as it is printed. */
export function describeFault({ atMs, kind, ...details }: ScheduledFault): string {
  const shown = Object.entries(details).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.join('-') : value}`,
  )
  return `${(atMs / 1000).toFixed(1).padStart(6)} s  ${[kind, ...shown].join(', ')}`
}
