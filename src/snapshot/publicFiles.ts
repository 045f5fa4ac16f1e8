import {
  chunkName,
  MANIFEST_NAME,
  MAX_MANIFEST_BYTES,
  type Manifest,
  type ManifestChunk,
  readManifest,
  SnapshotError,
} from './manifest.ts'
import { REAL_TIME } from './snapshotFiles.ts'
import { WebFiles, type WebFilesOptions } from './webFiles.ts'

/** A file that a manifest lists. */
interface ListedFile {
  readonly sha256: Uint8Array
  readonly bytes: number
}

/** Files on web servers that a manifest lists: of a snapshot, or of blocks. */
export interface PublicFiles<Manifest, File extends ListedFile> {
  /** their address for messages, without a query, which may hold a secret */
  readonly name: string
  /** @throws ManifestError, SnapshotError, SnapshotUnavailableError */
  manifest(): Promise<Manifest>
  /**
   * Fetches the bytes of a file, which have its hash. @throws SnapshotError,
   * SnapshotUnavailableError; the signal's reason
   */
  fetch(file: File, signal: AbortSignal): Promise<Uint8Array>
}

/** A kind of manifest, with its names for the operator. */
export interface ManifestKind<Manifest, File> {
  /** @throws ManifestError */
  readonly read: (bytes: Uint8Array) => Manifest
  readonly nameOf: (file: File) => string
  /** where the operator has set the address */
  readonly setting: string
}

/** A snapshot among files on web servers. */
export const SNAPSHOT_FILES: ManifestKind<Manifest, Pick<ManifestChunk, 'sha256' | 'bytes'>> = {
  read: readManifest,
  nameOf: chunkName,
  setting: 'SNAPSHOT_MANIFEST_URL',
}

/** Options that tests replace. */
type Surroundings = Pick<WebFilesOptions, 'sleep' | 'nowMs' | 'addresses'>

/**
 * Returns the files at an address. They come from the mirrors in the manifest, too.
 * @param address http(s), of the manifest or of its directory
 */
export function publicFiles<Manifest extends { readonly mirrors: readonly string[] }, File extends ListedFile>(
  address: URL,
  kind: ManifestKind<Manifest, File>,
  signal: AbortSignal,
  surroundings: Surroundings = REAL_TIME,
): PublicFiles<Manifest, File> {
  const files = new WebFiles({ address, signal, ...surroundings })
  return {
    name: files.name,
    manifest: async () => {
      const bytes = await files.read({ name: MANIFEST_NAME, maxBytes: MAX_MANIFEST_BYTES })
      if (bytes === undefined)
        throw new SnapshotError(`${files.name}: there is no ${MANIFEST_NAME}: check ${kind.setting}`)
      const manifest = kind.read(bytes)
      files.addMirrors(manifest.mirrors)
      return manifest
    },
    fetch: async (known, stop) => {
      const name = kind.nameOf(known)
      const bytes = await files.read({ name, maxBytes: known.bytes, known }, stop)
      if (bytes === undefined) throw new SnapshotError(`${files.name}: there is no ${name}`)
      return bytes
    },
  }
}
