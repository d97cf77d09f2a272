declare module 's3rver' {
  import type { RequestListener } from 'node:http'
  /** The part of its API that the tests use. */
  export default class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
      readonly vhostBuckets?: boolean
      readonly configureBuckets: readonly { readonly name: string }[]
    })
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
  }
}
