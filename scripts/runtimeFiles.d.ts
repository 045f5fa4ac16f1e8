/** the manifest of a bundle, in its directory */
export const MANIFEST: string
export const SEALED_MANIFEST: string
/** Whether dist/node has the bundle of these sources. */
export function isBundled(): boolean
export function runtimePackageFiles(): readonly string[]
export function filesBelow(root: string, path: string): readonly string[]
