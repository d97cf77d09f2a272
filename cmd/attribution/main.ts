/** The command line. One file per command; `attribution <command> --help` lists its options. */
import { Command } from 'commander'
import { unknownVariables } from '../../internal/config/unknown-variables.js'
import { serviceVersion } from '../../internal/config/version.js'
import { auditCommand } from './audit.js'
import { backupCommand } from './backup.js'
import { demoCommand } from './demo.js'
import { directoryCommand } from './directory.js'
import { doctorCommand } from './doctor.js'
import { eraseIdentityCommand } from './erase-identity.js'
import { identityProviderCommand } from './identity-provider.js'
import { importCommand } from './import.js'
import { keyCommand } from './key.js'
import { masterKeyCommand } from './master-key.js'
import { modelCommand } from './model.js'
import { pricesCommand } from './prices.js'
import { quarantineCommand } from './quarantine.js'
import { reattributeCommand } from './reattribute.js'
import { sandboxDataCommand } from './sandbox-data.js'
import { signingKeyCommand } from './signing-key.js'
import { sqlUserCommand } from './sql-user.js'
import { streamsCommand } from './streams.js'
import { tailCommand } from './tail.js'
import { tenantCommand } from './tenant.js'
import { upgradeCommand } from './upgrade.js'

const program = new Command('attribution')
  .description('Operates the Attribution Service.')
  .version(serviceVersion())
  .addCommand(demoCommand())
  .addCommand(tenantCommand())
  .addCommand(identityProviderCommand())
  .addCommand(keyCommand())
  .addCommand(sqlUserCommand())
  .addCommand(importCommand())
  .addCommand(directoryCommand())
  .addCommand(tailCommand())
  .addCommand(doctorCommand())
  .addCommand(backupCommand())
  .addCommand(modelCommand())
  .addCommand(auditCommand())
  .addCommand(masterKeyCommand())
  .addCommand(pricesCommand())
  .addCommand(signingKeyCommand())
  .addCommand(reattributeCommand())
  .addCommand(quarantineCommand())
  .addCommand(streamsCommand())
  .addCommand(upgradeCommand())
  .addCommand(eraseIdentityCommand())
  .addCommand(sandboxDataCommand())

for (const line of unknownVariables(process.env)) process.stderr.write(`attribution: ${line}\n`)
program.parseAsync().then(
  // A command may have set another exit code.
  () => process.exit(),
  (cause: unknown) => {
    process.stderr.write(`attribution: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exit(1)
  },
)
