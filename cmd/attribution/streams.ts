import { Command, InvalidArgumentError, Option } from 'commander'
import type { Broker, Placement } from '../../internal/broker/connect.js'
import {
  changedLayout,
  type FoundLayout,
  initialLayout,
  type Layout,
  readLayout,
  type WantedLayout,
} from '../../internal/broker/layout.js'
import { applyLayout, changesTo, type LayoutChange, obstaclesTo } from '../../internal/broker/layout-changes.js'
import { ConfigError, LAYOUT_SETTINGS, SETTINGS } from '../../internal/config/settings.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'

interface StreamsOptions extends InstanceOption, WantedLayout {
  readonly placementCluster?: string
  readonly placementTags?: string
  readonly json?: true
}

export const streamsCommand = (): Command =>
  new Command('streams')
    .description(
      'The layout of the broker: partitions, replicas, sizes and placement of streams, buckets and object stores.',
    )
    .addCommand(
      withLayoutOptions(
        new Command('plan')
          .description('Shows the layout and what `apply` with the same options would change. Changes nothing.')
          .action((options: StreamsOptions) => onBroker(options, runPlan)),
      ),
    )
    .addCommand(
      withLayoutOptions(
        new Command('apply')
          .description(
            'Changes the layout, and all streams, buckets and object stores that differ from it. Roles that set an ' +
              'old value no longer start. The number of partitions changes only once all events are worked off, ' +
              'while no gateway and no attributor runs.',
          )
          .action((options: StreamsOptions) => onBroker(options, runApply)),
      ),
    )

function withLayoutOptions(command: Command): Command {
  for (const name of LAYOUT_SETTINGS) {
    const { flag, parse } = SETTINGS[name]
    const read = (text: string): number => {
      try {
        return parse(text) as number
      } catch (cause) {
        throw new InvalidArgumentError(`It must be ${(cause as Error).message}.`)
      }
    }
    command.addOption(
      new Option(`${flag} <number>`, 'the value of the layout that roles set by the same option').argParser(read),
    )
  }
  return command
    .option('--placement-cluster <name>', 'put streams into this cluster; "" for any')
    .option('--placement-tags <tags>', 'put streams on servers with these tags, comma-separated; "" for any')
    .addOption(dataDirOption())
    .option('--json', 'print JSON')
}

interface Plan {
  readonly found: FoundLayout | undefined
  readonly before: Layout | undefined
  readonly after: Layout
  readonly changes: readonly LayoutChange[]
  readonly obstacles: readonly string[]
}

async function onBroker(options: StreamsOptions, run: typeof runPlan): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  try {
    const found = await readLayout(broker)
    const before = found?.layout
    const after = changedLayout(before ?? initialLayout({}), options, placementIn(options, before))
    const changes = await changesTo(broker, after)
    await run(broker, { found, before, after, changes, obstacles: await obstaclesTo(broker, before, after) }, options)
  } finally {
    await broker.close()
  }
}

function placementIn({ placementCluster, placementTags }: StreamsOptions, before?: Layout): Placement | undefined {
  if (placementCluster === undefined && placementTags === undefined) return undefined
  const cluster = placementCluster ?? before?.placement?.cluster ?? ''
  const tags = placementTags?.split(',').filter((tag) => tag !== '') ?? before?.placement?.tags ?? []
  return { ...(cluster !== '' && { cluster }), tags }
}

async function runPlan(_: Broker, plan: Plan, { json }: StreamsOptions): Promise<void> {
  process.stdout.write(json === true ? `${JSON.stringify(asJson(plan))}\n` : asText(plan))
  for (const obstacle of plan.obstacles) process.stderr.write(`cannot be applied: ${obstacle}\n`)
  if (plan.obstacles.length > 0) process.exitCode = 1
}

async function runApply(broker: Broker, plan: Plan, { json }: StreamsOptions): Promise<void> {
  const { found, before, after, changes, obstacles } = plan
  if (obstacles.length > 0) throw new ConfigError(`nothing is changed: ${obstacles.join('; ')}`)
  await applyLayout(broker, found, after)
  // A new broker has no log of audit entries yet.
  if (before !== undefined) {
    await recordByCli(broker, 'streams.apply', 'layout', { before: shownOf(before), after: shownOf(after) })
  }
  process.stdout.write(
    json === true ? `${JSON.stringify(asJson(plan))}\n` : `applied, ${changes.length} changes of streams\n`,
  )
}

const shownOf = ({ partitions, replicas, placement, ...sizes }: Layout) => ({
  partitions: partitions ?? null,
  replicas,
  invocations_bytes_max: sizes.invocationsBytesMax,
  observations_bytes_max: sizes.observationsBytesMax,
  events_bytes_max: sizes.eventsBytesMax,
  keys_bytes_max: sizes.keysBytesMax,
  placement: placement === undefined ? null : { cluster: placement.cluster ?? null, tags: [...(placement.tags ?? [])] },
})

const asJson = ({ before, after, changes, obstacles }: Plan) => ({
  before: before === undefined ? null : shownOf(before),
  after: shownOf(after),
  changes,
  obstacles,
})

function asText({ before, after, changes }: Plan): string {
  const was: Readonly<Record<string, unknown>> = before === undefined ? {} : shownOf(before)
  const layout = Object.entries(shownOf(after)).map(([name, value]) => {
    const [from, to] = [JSON.stringify(was[name] ?? null), JSON.stringify(value)]
    return `  ${name.padEnd(24)} ${from === to ? to : `${from} -> ${to}`}\n`
  })
  const streams = changes.map(
    ({ stream, property, from, to }) => `  ${stream.padEnd(28)} ${property.padEnd(10)} ${from} -> ${to}\n`,
  )
  const changed = streams.length === 0 ? 'every stream is as the layout says\n' : `changes\n${streams.join('')}`
  return `layout\n${layout.join('')}${changed}`
}
