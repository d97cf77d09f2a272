export function processorSeconds(): number
