/** Where a load goes, and how much of it. */
export interface Load {
  readonly port: number
  /** Keep-alive connections, each with one request in flight. */
  readonly connections: number
  readonly seconds: number
  /** Mean pause of a connection between answer and next request; 0: as fast as it goes. */
  readonly pauseMs: number
}

/** The result of a load. Anything but 202, and every broken connection, has failed the run before this. */
export interface LoadResult {
  readonly eventsPerSecond: number
  /** 202s that the generator has seen. */
  readonly accepted: number
  /** Events whose answers it did not wait for when the time was up: of at most one request a connection. */
  readonly unseenMax: number
  /** Microseconds from the request's first byte sent to the answer read. */
  readonly p50Us: number
  readonly p99Us: number
}

/** A load generator in a process of its own. */
export interface LoadGenerator {
  readonly name: string
  run(load: Load): Promise<LoadResult>
}
