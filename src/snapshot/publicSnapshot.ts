import { equalBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import { chunkName, MANIFEST_NAME, MAX_MANIFEST_BYTES, type Manifest, readManifest, SnapshotError } from './manifest.ts'
import { filesAt } from './snapshotFiles.ts'

/** A snapshot on a web server. */
export interface PublicSnapshot {
  /** its address for messages, without a query, which may hold a secret */
  readonly name: string
  /** @throws ManifestError, SnapshotError */
  manifest(): Promise<Manifest>
  /** The bytes of a chunk, which have its hash. @throws SnapshotError; the signal's reason */
  fetch(file: { readonly sha256: Uint8Array; readonly bytes: number }, signal: AbortSignal): Promise<Uint8Array>
}

/** A server may be busy for a while, or cut a connection. */
const ATTEMPTS = 5
const FIRST_PAUSE_MS = 500

/**
 * @param address http(s), of the manifest or of its directory
 * @param sleep resolves after a time; rejects with the signal's reason
 */
export function publicSnapshot(
  address: string,
  signal: AbortSignal,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
): PublicSnapshot {
  const url = new URL(address)
  const files = filesAt(url, signal)
  const name = `${url.origin}${url.pathname}`

  const read = async (file: string, maxBytes: number, check: (bytes: Uint8Array) => void): Promise<Uint8Array> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const bytes = await files.read(file, maxBytes)
        if (bytes === undefined) throw new SnapshotError(`${name}: there is no ${file}`)
        check(bytes)
        return bytes
      } catch (error) {
        if (!(error instanceof SnapshotError) || attempt === ATTEMPTS) throw error
        await sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1), signal)
      }
    }
  }
  return {
    name,
    manifest: async () => readManifest(await read(MANIFEST_NAME, MAX_MANIFEST_BYTES, () => undefined)),
    fetch: async ({ sha256: hash, bytes: size }, stop) => {
      stop.throwIfAborted()
      const file = chunkName({ sha256: hash })
      return read(file, size, (bytes) => {
        stop.throwIfAborted()
        if (bytes.length !== size || !equalBytes(sha256(bytes), hash)) {
          throw new SnapshotError(`${name}: ${file} is damaged, its bytes do not have its hash`)
        }
      })
    },
  }
}
