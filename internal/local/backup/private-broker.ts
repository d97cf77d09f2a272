import { type Broker, connectBroker } from '../../broker/connect.js'
import { Supervisor } from '../supervisor/children.js'
import { natsServerRole } from '../supervisor/nats-server.js'
import { freePort, openInstance } from '../supervisor/supervised-instance.js'

const USER = 'attribution'

/** A broker that runs for as long as some work takes, and how other processes connect to it. */
export interface PrivateBroker {
  readonly broker: Broker
  readonly address: { readonly natsUrl: string; readonly natsUser: string; readonly natsPassword: string }
}

/** Runs a broker on a data folder for as long as some work takes, on a free port of loopback. */
export async function withPrivateBroker<T>(
  dataDir: string,
  natsServerBin: string,
  say: (line: string) => void,
  work: (of: PrivateBroker) => Promise<T>,
): Promise<T> {
  const { files, secrets } = openInstance(dataDir, false)
  const port = await freePort()
  const role = natsServerRole(natsServerBin, files, {
    ...{ port, user: USER, password: secrets.natsPassword },
    // A restore syncs the whole folder at its end.
    durability: 'process',
  })
  const supervisor = new Supervisor({ logsDir: files.logsDir, print: say, onChange: () => undefined })
  try {
    await supervisor.startAll([role])
    const url = `nats://127.0.0.1:${port}`
    const broker = await connectBroker({ url, user: USER, password: secrets.natsPassword, name: 'attribution-restore' })
    try {
      return await work({ broker, address: { natsUrl: url, natsUser: USER, natsPassword: secrets.natsPassword } })
    } finally {
      await broker.close()
    }
  } finally {
    await supervisor.stop()
  }
}
