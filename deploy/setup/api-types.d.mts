export const API_TYPES: string
export function ensureApiTypes(root: string): Promise<void>
export function areApiTypesCurrent(root: string): boolean
