export function processorSeconds(pid?: number | 'self'): number
