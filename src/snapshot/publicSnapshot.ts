import type { Addresses } from './guardedHttp.ts'
import { chunkName, MANIFEST_NAME, MAX_MANIFEST_BYTES, type Manifest, readManifest, SnapshotError } from './manifest.ts'
import { WebFiles } from './webFiles.ts'

/** A snapshot on web servers. */
export interface PublicSnapshot {
  /** its address for messages, without a query, which may hold a secret */
  readonly name: string
  /** @throws ManifestError, SnapshotError, SnapshotUnavailableError */
  manifest(): Promise<Manifest>
  /** The bytes of a chunk, which have its hash. @throws SnapshotError, SnapshotUnavailableError; the signal's reason */
  fetch(file: { readonly sha256: Uint8Array; readonly bytes: number }, signal: AbortSignal): Promise<Uint8Array>
}

/** What tests replace. */
interface Surroundings {
  /** milliseconds, monotonic */
  readonly nowMs?: () => number
  readonly addresses?: Addresses
}

/**
 * The snapshot at an address. Its chunks come from the mirrors in the manifest, too.
 * @param address http(s), of the manifest or of its directory
 * @param sleep resolves after a time; rejects with the signal's reason
 */
export function publicSnapshot(
  address: string,
  signal: AbortSignal,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
  { nowMs = () => performance.now(), ...others }: Surroundings = {},
): PublicSnapshot {
  const files = new WebFiles({ address: new URL(address), signal, sleep, nowMs, ...others })
  return {
    name: files.name,
    manifest: async () => {
      const bytes = await files.read({ name: MANIFEST_NAME, maxBytes: MAX_MANIFEST_BYTES })
      if (bytes === undefined)
        throw new SnapshotError(`${files.name}: there is no ${MANIFEST_NAME}: check SNAPSHOT_MANIFEST_URL`)
      const manifest = readManifest(bytes)
      files.addMirrors(manifest.mirrors)
      return manifest
    },
    fetch: async (known, stop) => {
      const name = chunkName(known)
      const bytes = await files.read({ name, maxBytes: known.bytes, known }, stop)
      if (bytes === undefined) throw new SnapshotError(`${files.name}: there is no ${name}`)
      return bytes
    },
  }
}
