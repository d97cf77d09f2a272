export const ROOT: string
export interface SetUpOptions {
  ownsNats?: boolean
  ownsStore?: boolean
}
export function setUp(options?: SetUpOptions): Promise<void>
