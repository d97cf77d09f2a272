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
        'Makes the next published key the signing key of every gateway. Tokens of the old key stay valid until they ' +
          'expire. Gateways rotate the key themselves every 30 days.',
      )
      .option('--emergency', 'for a stolen key: every token that it signed is rejected at once')
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
      process.stdout.write(`key ${rotation.kid} is now the signing key; it replaces ${before}\n`)
      return
    case 'too_soon':
      throw new ConfigError(
        `the next key was published too recently for every client to know it: wait until ` +
          `${new Date(rotation.againAtMs).toISOString()}, or use --emergency`,
      )
    case 'lost_race':
      throw new ConfigError('another process rotated the key at the same time')
  }
}
