import { Command } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import { serviceVersion } from '../../internal/config/version.js'
import { otherVersions } from '../../internal/local/doctor/check-roles.js'
import { finishUpgrade, OWN_VERSION, readSchemaState } from '../../internal/store/migrations/finished-upgrades.js'
import { recordByCli } from './audited.js'
import {
  connectInstanceBroker,
  connectInstanceStore,
  dataDirOption,
  type InstanceOption,
  readInstanceConfig,
} from './connect.js'

export const upgradeCommand = (): Command =>
  new Command('upgrade')
    .description('The upgrade to this version.')
    .addCommand(
      new Command('status')
        .description('Shows the schema, and whether the version before may still be started.')
        .addOption(dataDirOption())
        .action((options: InstanceOption) => onInstance(options, async () => undefined)),
    )
    .addCommand(
      new Command('finish')
        .description('Ends the time in which the version before may still be started. Do it once you will not go back.')
        .addOption(dataDirOption())
        .action((options: InstanceOption) =>
          onInstance(options, async ({ broker, store, version, finished, others }) => {
            if (others !== '') throw new ConfigError(`not yet: ${others} runs. Replace it first`)
            if (version < OWN_VERSION) throw new ConfigError('not yet: start an attributor of this version first')
            if (version > OWN_VERSION)
              throw new ConfigError('the schema is that of a newer version: finish with that one')
            if (finished === OWN_VERSION) return
            await finishUpgrade(store)
            await recordByCli(broker, 'upgrade.finish', serviceVersion(), { after: { schema_version: OWN_VERSION } })
          }),
        ),
    )

interface Found {
  readonly broker: Awaited<ReturnType<typeof connectInstanceBroker>>
  readonly store: ReturnType<typeof connectInstanceStore>
  readonly version: number
  readonly finished: number
  /** Roles of other versions that run; empty: none. */
  readonly others: string
}

async function onInstance(options: InstanceOption, act: (found: Found) => Promise<void>): Promise<void> {
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  const store = connectInstanceStore(config)
  try {
    const before = (await readSchemaState(store)) ?? { version: 0, finished: 0 }
    await act({ broker, store, ...before, others: await otherVersions(broker, Date.now()) })
    const { version, finished } = (await readSchemaState(store)) ?? before
    const goesBack = finished >= version ? 'older versions no longer start' : 'the version before still starts'
    process.stdout.write(`${serviceVersion()}, schema ${version} of ${OWN_VERSION}: ${goesBack}\n`)
  } finally {
    await store.close()
    await broker.close()
  }
}
