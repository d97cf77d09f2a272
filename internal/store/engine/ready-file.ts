import { join } from 'node:path'

/** The file that a store writes when others may use it. It is removed before the store starts. */
export const storeReadyFile = (dataDir: string): string => join(dataDir, 'store', 'ready')
