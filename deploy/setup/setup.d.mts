export const ROOT: string
export interface SetUpOptions {
  ownsNats?: boolean
  ownsStore?: boolean
  beside?: () => Promise<unknown>
}
export function setUp(options?: SetUpOptions): Promise<void>
