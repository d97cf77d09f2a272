export function debianSuite(release?: string): string | undefined
export function fetchDebianPackage(wanted: {
  name: string
  also?: readonly string[]
  suites?: readonly string[]
  into: string
  accepts?: (folder: string) => Promise<boolean>
}): Promise<string>
export function explainApt(output: string): string
