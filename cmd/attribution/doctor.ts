import { Command, Option } from 'commander'
import { type Check, checkIntake } from '../../internal/local/doctor/intake.js'
import { connectApi, credentialsOption, type ServiceOptions, urlOption } from './service.js'

interface DoctorOptions extends ServiceOptions {
  readonly part: 'intake'
  readonly intakeUrl: string
  readonly json?: true
}

/** A person waits. */
const LIMITS = { answerMsMax: 5_000, giveUpMs: 3_000 }

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'Checks whether a part works. intake: sends a probe to the intake port and follows it to its record, which costs nothing and has ' +
        'the service attribution-doctor.',
    )
    .addOption(new Option('--part <part>', 'what to check').choices(['intake']).default('intake'))
    .option('--intake-url <url>', 'address of the intake port', 'http://127.0.0.1:4318')
    .addOption(urlOption())
    .addOption(credentialsOption())
    .option('--json', 'print each check as JSON, one per line')
    .action(run)

async function run({ intakeUrl, credentials, url, json }: DoctorOptions): Promise<void> {
  const api = connectApi({ url, credentials }, LIMITS)
  const intake = connectApi({ url: intakeUrl, credentials }, LIMITS)
  try {
    for await (const check of checkIntake(api, intake)) {
      process.stdout.write(json === true ? `${JSON.stringify(check)}\n` : lineOf(check))
      if (!check.isOk) process.exitCode = 1
    }
  } finally {
    await Promise.all([api.close(), intake.close()])
  }
}

const lineOf = ({ name, isOk, detail }: Check): string => `${isOk ? 'ok  ' : 'FAIL'} ${name.padEnd(10)} ${detail}\n`
