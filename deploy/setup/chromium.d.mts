export interface Chromium {
  readonly path: string
  readonly libraries: string
}
export function ensureChromium(root: string): Promise<Chromium>
