import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import type { Broker } from '../../internal/broker/connect.js'
import { ConfigError } from '../../internal/config/settings.js'
import { type MasterKeys, readMasterKeys } from '../../internal/secrets/master-keys.js'
import { addMasterKey, dropMasterKeys, type Resealed, resealBuckets } from '../../internal/secrets/rotation.js'
import { BUCKETS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'

export const masterKeyCommand = (): Command =>
  new Command('master-key')
    .description('The key that seals every other secret.')
    .addCommand(
      new Command('rotate')
        .description(
          'Puts a new key into the master key file and seals everything anew by it, while the service runs. The key ' +
            'before it goes on to open for 24 hours, should something sealed by it come back.',
        )
        .option('--drop-old', 'drop the keys before it at once')
        .addOption(dataDirOption())
        .action(runRotate),
    )
    .addCommand(
      new Command('reseal')
        .description(
          'Seals everything anew by the first of the master keys, where those are given otherwise than in a file that ' +
            'this command may write.',
        )
        .addOption(dataDirOption())
        .action(runReseal),
    )

/** A process that had asked for the key just before the change has written what it sealed by then. */
const SETTLED_MS = 3_000

async function runRotate(options: InstanceOption & { readonly dropOld?: true }): Promise<void> {
  const config = readInstanceConfig(options)
  if (config.masterKey !== '') {
    throw new ConfigError(
      'the master key comes from ATTRIBUTION_MASTER_KEY: put a new one before it, parted by a comma, restart every ' +
        'process with both, and run "attribution master-key reseal"',
    )
  }
  const file = config.masterKeyFile
  const keys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const { before, after } = addMasterKey(file, Date.now())
  const result = await resealAll(broker, keys)
  dropMasterKeys(file, options.dropOld === true ? Number.POSITIVE_INFINITY : Date.now())
  await recordByCli(broker, 'master_key.rotate', after, { before: { key: before }, after: { key: after } })
  await broker.close()
  say(`sealed ${result.replaced} values anew by the key ${after}, which replaces ${before}`, result)
}

async function runReseal(options: InstanceOption): Promise<void> {
  const config = readInstanceConfig(options)
  const keys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const result = await resealAll(broker, keys)
  await broker.close()
  say(`sealed ${result.replaced} values anew by the key ${keys.current().id}`, result)
}

/** Until nobody has sealed anything by another key any more. */
async function resealAll(broker: Broker, keys: MasterKeys): Promise<Resealed> {
  let replaced = 0
  for (;;) {
    const pass = await resealBuckets(broker, BUCKETS, keys)
    replaced += pass.replaced
    if (pass.replaced === 0) return { ...pass, replaced }
    await sleep(SETTLED_MS)
  }
}

function say(line: string, { unopened }: Resealed): void {
  process.stdout.write(`${line}\n`)
  if (unopened === 0) return
  process.stderr.write(`${unopened} sealed values open with none of the master keys; they were left as they are\n`)
  process.exitCode = 2
}
