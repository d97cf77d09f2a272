export declare function verdictOf(json: string): { readonly code: 0 | 1 | 2; readonly lines: readonly string[] }
