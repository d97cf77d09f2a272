import { Command, InvalidArgumentError } from 'commander'
import { createPublisher } from '../../internal/broker/publisher.js'
import {
  findQuarantinedMessage,
  type Quarantined,
  quarantinedFrom,
  quarantineState,
  type ReplayDeps,
  type ReplayMark,
  replayQuarantined,
} from '../../internal/broker/quarantine-log.js'
import { bucketRecords } from '../../internal/broker/records.js'
import { ConfigError } from '../../internal/config/settings.js'
import { identityHash } from '../../internal/ids/identity-hash.js'
import { identityKeysCache, idHex } from '../../internal/ids/ids.js'
import { eventsIn, tenantsIn } from '../../internal/local/quarantine/contents.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { QUARANTINE_REPLAYS, SIGNING_KEYS } from '../../streams/buckets.js'
import { logOfQuarantined } from '../../streams/quarantine.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'

interface ListOptions extends InstanceOption {
  readonly from: number
  readonly limit: number
  readonly json?: true
}

interface ReplayOptions extends InstanceOption {
  readonly all?: true
  readonly log?: string
  readonly json?: true
}

const LIST_MAX = 1_000

export const quarantineCommand = (): Command =>
  new Command('quarantine')
    .description(
      'The quarantine: messages and single events that could not be processed, kept until they are replayed.',
    )
    .addCommand(
      new Command('list')
        .description('Lists the quarantined messages, oldest first.')
        .option('--from <sequence>', 'start at this sequence', readSequence, 1)
        .option('--limit <number>', `messages to list, ${LIST_MAX} at most`, readLimit, 50)
        .addOption(dataDirOption())
        .option('--json', 'print one JSON object per line')
        .action(runList),
    )
    .addCommand(
      new Command('show')
        .description(
          'Prints a quarantined message as JSON: its log, the reason, and the events in it as far as they are ' +
            'readable. Identities are shown as hashes, as in records.',
        )
        .argument('<sequence>', 'sequence of the message in `list`', readSequence)
        .addOption(dataDirOption())
        .action(runShow),
    )
    .addCommand(
      new Command('replay')
        .description(
          'Moves messages back from quarantine to their logs, for a release that can process them. A message ' +
            'that fails again returns to quarantine under a new sequence. If the command is interrupted, run it ' +
            'again.',
        )
        .argument('[sequence]', 'sequence of the message in `list`', readSequence)
        .option('--all', 'all messages that are in quarantine now, oldest first')
        .option('--log <subject>', 'subject to publish it to, such as invocations.a.0, instead of the recorded one')
        .addOption(dataDirOption())
        .option('--json', 'print the result as JSON')
        .action(runReplay),
    )

function readSequence(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a sequence, such as 12.')
  return Number(text)
}

function readLimit(text: string): number {
  const limit = readSequence(text)
  if (limit > LIST_MAX) throw new InvalidArgumentError(`It must be at most ${LIST_MAX}.`)
  return limit
}

async function runList({ from, limit, ...options }: ListOptions): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  try {
    const { messages } = await quarantineState(broker.manager)
    let listed = 0
    for await (const message of quarantinedFrom(broker.manager, from)) {
      if (listed++ === limit) {
        process.stderr.write(`more messages: --from ${message.sequence}\n`)
        break
      }
      const shown = shownOf(message)
      process.stdout.write(options.json === true ? `${JSON.stringify(shown)}\n` : asLine(shown))
    }
    if (options.json !== true) process.stdout.write(`${messages} in quarantine\n`)
  } finally {
    await broker.close()
  }
}

async function runShow(sequence: number, options: InstanceOption): Promise<void> {
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  try {
    const message = await find(sequence, broker)
    const masterKeys = readMasterKeys(config)
    const keyOf = identityKeysCache(await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'identities'))
    const events = eventsIn(message, (tenantId, identity) => idHex(identityHash(keyOf(tenantId), identity)))
    process.stdout.write(`${JSON.stringify({ ...shownOf(message), events }, null, 2)}\n`)
  } finally {
    await broker.close()
  }
}

async function runReplay(sequence: number | undefined, options: ReplayOptions): Promise<void> {
  if ((sequence === undefined) === (options.all === undefined)) {
    throw new ConfigError('name a sequence, or use --all')
  }
  if (options.all === true && options.log !== undefined) throw new ConfigError('--log is for one message')
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const { publish } = createPublisher(broker.connection)
  const marks = bucketRecords<ReplayMark>(await broker.bucket(QUARANTINE_REPLAYS), async () => undefined)
  const deps = { manager: broker.manager, publish, marks, clock: Date.now }
  const done = { replayed: 0, left: 0 }
  try {
    if (sequence === undefined) {
      // Messages that fail again come after it.
      const { lastSequence } = await quarantineState(broker.manager)
      for await (const message of quarantinedFrom(broker.manager, 1)) {
        if (message.sequence > lastSequence) break
        await replay(message, undefined, deps, done)
      }
    } else {
      const message = await find(sequence, broker)
      await replay(message, checkedLog(message, options.log), deps, done)
    }
  } finally {
    const target = sequence === undefined ? 'all' : String(sequence)
    if (done.replayed > 0) await recordByCli(broker, 'quarantine.replay', target, { after: { ...done } })
    await broker.close()
  }
  process.stdout.write(options.json === true ? `${JSON.stringify(done)}\n` : `${done.replayed} replayed\n`)
  if (done.left > 0) process.exitCode = 1
}

async function replay(
  message: Quarantined,
  log: string | undefined,
  deps: ReplayDeps,
  done: { replayed: number; left: number },
): Promise<void> {
  const { kind } = await replayQuarantined(message, deps, log)
  if (kind === 'replayed') {
    done.replayed++
    return
  }
  done.left++
  process.stderr.write(`${message.sequence} was not replayed: ${WHY[kind]}\n`)
}

const WHY = {
  unknown_log: 'its log is not recorded; name it with --log',
  doubtful:
    'an earlier replay was interrupted too long ago to tell whether the message arrived; if its events have no ' +
    'records, replay it again with --log',
} as const

async function find(sequence: number, { manager }: Parameters<typeof recordByCli>[0]): Promise<Quarantined> {
  const message = await findQuarantinedMessage(manager, sequence)
  if (message === undefined) throw new ConfigError(`message ${sequence} is not in quarantine`)
  return message
}

function checkedLog({ reader }: Quarantined, log: string | undefined): string | undefined {
  if (log === undefined) return undefined
  const { subjects = '' } = logOfQuarantined(reader) ?? {}
  if (subjects !== '' && log.startsWith(subjects) && /^\w+$/.test(log.slice(subjects.length))) return log
  throw new ConfigError(`--log must be a subject that ${reader} reads: ${subjects}<name>`)
}

const shownOf = (message: Quarantined) => ({
  sequence: message.sequence,
  quarantined_at: message.quarantinedAt,
  reader: message.reader,
  log: message.log,
  reason: message.reason,
  tenant_ids: tenantsIn(message),
  bytes: message.data.length,
})

const asLine = ({ sequence, quarantined_at, log, reason, tenant_ids }: ReturnType<typeof shownOf>): string =>
  `${[sequence, quarantined_at, log, tenant_ids.length === 0 ? 'tenant unknown' : tenant_ids.join(','), reason].join(
    '  ',
  )}\n`
