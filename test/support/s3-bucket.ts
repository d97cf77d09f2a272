/** A tenant's own bucket: a real S3 server over TLS on loopback, with a look at each request before it is answered. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import S3rver from 's3rver'
import { RECEIVER_CERTIFICATE } from './receiver.js'
import { atEnd } from './run/at-end.js'

export const BUCKET = 'acme-finops'
export const ACCESS_KEY = 'S3RVER'
/** The one that the server knows. */
export const SECRET_KEY = 'S3RVER'

export interface S3Bucket {
  readonly port: number
  /** `PUT /acme-finops/key`, in order. */
  readonly requests: readonly string[]
  /** Returns true when it has answered the request, or leaves it without an answer. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean
  keys(): Promise<readonly string[]>
  read(key: string): Promise<Buffer>
}

export const digestOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** Ends with the test file. @param port a free one unless it is given */
export async function launchBucket(port = 0): Promise<S3Bucket> {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-s3-'))
  const s3 = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder,
    configureBuckets: [{ name: BUCKET }],
    // Else it takes the first part of any host name for a bucket.
    vhostBuckets: false,
  })
  await s3.configureBuckets()
  const answer = s3.callback()
  const requests: string[] = []
  const server = createServer(RECEIVER_CERTIFICATE, (request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    if (!bucket.intercept(request, response)) answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const plain = await s3.run()
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${plain.port}`,
    forcePathStyle: true,
    region: 'eu-central-1',
    credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY },
  })
  atEnd(async () => {
    client.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await s3.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const bucket: S3Bucket = {
    port: (server.address() as AddressInfo).port,
    requests,
    intercept: () => false,
    async keys() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }))
      return Contents.flatMap(({ Key }) => (Key === undefined ? [] : [Key])).sort()
    },
    async read(key) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }))
      return Buffer.from((await Body?.transformToByteArray()) ?? [])
    },
  }
  return bucket
}
