export function parseVersion(text: string): readonly [number, number, number] | undefined
export function isAtLeast(text: string, least: string): boolean
