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
    .description('The master key, which encrypts every other secret.')
    .addCommand(
      new Command('rotate')
        .description(
          'Adds a new key to the master key file and re-encrypts every secret with it, while the service runs. ' +
            'The old key can still decrypt for 24 hours, in case a backup brings back a secret that it encrypted.',
        )
        .option('--drop-old', 'remove the old keys at once')
        .addOption(dataDirOption())
        .action(runRotate),
    )
    .addCommand(
      new Command('reseal')
        .description(
          'Re-encrypts every secret with the first master key, for instances whose master keys are not in a file ' +
            'that this command can write.',
        )
        .addOption(dataDirOption())
        .action(runReseal),
    )

/** By then a process that read the key just before the change has stored what it sealed. */
const SETTLED_MS = 3_000

async function runRotate(options: InstanceOption & { readonly dropOld?: true }): Promise<void> {
  const config = readInstanceConfig(options)
  if (config.masterKey !== '') {
    throw new ConfigError(
      'the master key comes from ATTRIBUTION_MASTER_KEY: set the variable to the new key, a comma and the old key, ' +
        'restart every process, and run "attribution master-key reseal"',
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
  printResult(`re-encrypted ${result.replaced} secrets with key ${after}, which replaces ${before}`, result)
}

async function runReseal(options: InstanceOption): Promise<void> {
  const config = readInstanceConfig(options)
  const keys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const result = await resealAll(broker, keys)
  await broker.close()
  printResult(`re-encrypted ${result.replaced} secrets with key ${keys.current().id}`, result)
}

/** Repeats until a pass finds no secret that is sealed with another key. */
async function resealAll(broker: Broker, keys: MasterKeys): Promise<Resealed> {
  let replaced = 0
  for (;;) {
    const pass = await resealBuckets(broker, BUCKETS, keys)
    replaced += pass.replaced
    if (pass.replaced === 0) return { ...pass, replaced }
    await sleep(SETTLED_MS)
  }
}

function printResult(line: string, { unopened }: Resealed): void {
  process.stdout.write(`${line}\n`)
  if (unopened === 0) return
  process.stderr.write(`${unopened} secrets cannot be decrypted with any of the master keys; they are unchanged\n`)
  process.exitCode = 2
}
