import { Command } from 'commander'
import { keyInState } from '../../internal/access/oauth/key-ring.js'
import { openKeyRing, rotateSigningKey } from '../../internal/access/oauth/key-rotation.js'
import { ConfigError } from '../../internal/config/settings.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { TOKEN_KEYS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'

export const signingKeyCommand = (): Command =>
  new Command('signing-key').description('The key that signs access tokens.').addCommand(
    new Command('rotate')
      .description(
        'Lets the next published key sign from now on, on every gateway. Tokens of the key before stay good until ' +
          'they expire. Gateways do this by themselves every 30 days.',
      )
      .option('--emergency', 'the key was stolen: every token that it has signed is refused at once')
      .addOption(dataDirOption())
      .action(runRotate),
  )

async function runRotate(options: InstanceOption & { readonly emergency?: true }): Promise<void> {
  const config = readInstanceConfig(options)
  const masterKeys = readMasterKeys(config)
  const broker = await connectInstanceBroker(config)
  const bucket = await broker.bucket(TOKEN_KEYS)
  const before = keyInState(await openKeyRing(bucket, masterKeys, config.mode, Date.now()), 'current').kid
  const how = options.emergency === true ? 'emergency' : 'planned'
  const rotation = await rotateSigningKey(bucket, masterKeys, config.mode, Date.now(), how)
  switch (rotation.kind) {
    case 'rotated':
      await recordByCli(broker, 'signing_key.rotate', rotation.kid, {
        before: { key: before },
        after: { key: rotation.kid, how },
      })
      await broker.close()
      process.stdout.write(`the key ${rotation.kid} signs from now on, in the place of ${before}\n`)
      return
    case 'too_soon':
      throw new ConfigError(
        `the next key was published a moment ago, and not everyone knows it: wait until ` +
          `${new Date(rotation.againAtMs).toISOString()}, or use --emergency`,
      )
    case 'lost_race':
      throw new ConfigError('somebody else has rotated the key in the same moment')
  }
}
