import { dropMasterKeys } from '../../secrets/rotation.js'

const HOUR_MS = 60 * 60 * 1000

/**
 * Removes from the file, now and every hour, the keys that a rotation has replaced and that no secret is sealed with.
 */
export function dropMasterKeysHourly(file: string, print: (line: string) => void): void {
  const drop = (): void => {
    try {
      dropMasterKeys(file, Date.now())
    } catch (cause) {
      print((cause as Error).message)
    }
  }
  drop()
  setInterval(drop, HOUR_MS).unref()
}
