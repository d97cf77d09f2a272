export interface AptSource {
  uri: string
  suites: readonly string[]
  signedBy: string | undefined
}
export function parseStanzas(text: string): AptSource[]
export function parseLines(text: string): AptSource[]
export function machineSources(folder?: string): AptSource[]
