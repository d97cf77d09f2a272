export type OlderBuild =
  | { readonly folder: string; readonly reason?: undefined }
  | { readonly folder?: undefined; readonly reason: string }
export function olderBuild(root: string): Promise<OlderBuild>
