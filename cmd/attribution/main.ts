/** The command line. One file per command; `attribution <command> --help` lists its options. */
import { Command } from 'commander'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { serviceVersion } from '../../internal/config/version.js'
import { keepFilesPrivate } from '../../internal/process/main.js'

/**
 * In the order in which the help lists them. One that is named is loaded alone: to load all takes a tenth of a second
 * more.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./demo.js')).demoCommand(),
  tenant: async () => (await import('./tenant.js')).tenantCommand(),
  'identity-provider': async () => (await import('./identity-provider.js')).identityProviderCommand(),
  key: async () => (await import('./key.js')).keyCommand(),
  'sql-user': async () => (await import('./sql-user.js')).sqlUserCommand(),
  import: async () => (await import('./import.js')).importCommand(),
  directory: async () => (await import('./directory.js')).directoryCommand(),
  tail: async () => (await import('./tail.js')).tailCommand(),
  doctor: async () => (await import('./doctor.js')).doctorCommand(),
  backup: async () => (await import('./backup.js')).backupCommand(),
  model: async () => (await import('./model.js')).modelCommand(),
  audit: async () => (await import('./audit.js')).auditCommand(),
  'master-key': async () => (await import('./master-key.js')).masterKeyCommand(),
  prices: async () => (await import('./prices.js')).pricesCommand(),
  energy: async () => (await import('./energy.js')).energyCommand(),
  'signing-key': async () => (await import('./signing-key.js')).signingKeyCommand(),
  reattribute: async () => (await import('./reattribute.js')).reattributeCommand(),
  quarantine: async () => (await import('./quarantine.js')).quarantineCommand(),
  streams: async () => (await import('./streams.js')).streamsCommand(),
  'erase-identity': async () => (await import('./erase-identity.js')).eraseIdentityCommand(),
  'sandbox-data': async () => (await import('./sandbox-data.js')).sandboxDataCommand(),
}

keepFilesPrivate()
const [, , named = ''] = process.argv
const wanted = Object.hasOwn(COMMANDS, named) ? [named] : Object.keys(COMMANDS)

const program = new Command('attribution').description('Operates the Attribution Service.').version(serviceVersion())
for (const name of wanted) {
  const command = await COMMANDS[name]?.()
  if (command !== undefined) program.addCommand(command)
}

for (const line of unknownVariables(process.env)) process.stderr.write(`attribution: ${line}\n`)
program.parseAsync().then(
  // A command may have set another exit code.
  () => process.exit(),
  (cause: unknown) => {
    process.stderr.write(`attribution: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exit(1)
  },
)
