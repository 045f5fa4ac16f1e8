import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_NAME, SnapshotError } from './manifest.ts'
import type { SnapshotFiles } from './verifySnapshot.ts'

/** The files of a snapshot in a directory. */
export function filesIn(directory: string): SnapshotFiles {
  return {
    place: directory,
    read: async (name, maxBytes) => {
      const path = join(directory, name)
      try {
        const file = await open(path)
        try {
          const { size } = await file.stat()
          if (size > maxBytes) throw new SnapshotError(`${name} has ${size} bytes, over ${maxBytes}`)
          return new Uint8Array(await file.readFile())
        } finally {
          await file.close()
        }
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        if (code === 'ENOENT') return undefined
        throw error instanceof SnapshotError ? error : new SnapshotError(`${path} cannot be read: ${message}`)
      }
    },
  }
}

/** Statuses of a web server for a file that it does not have. */
const ABSENT = [404, 410]
/** A server that sends nothing for so long is given up. */
const TIMEOUT_MS = 60_000

/**
 * The files of a snapshot on a web server.
 * @param url http(s), of the manifest, or of the directory with the files
 */
export function filesAt(url: URL, signal: AbortSignal): SnapshotFiles {
  const directory = new URL(url)
  if (directory.pathname.endsWith(`/${MANIFEST_NAME}`))
    directory.pathname = directory.pathname.slice(0, -MANIFEST_NAME.length)
  else if (!directory.pathname.endsWith('/')) directory.pathname += '/'
  return {
    // Without the query, which may hold a token.
    place: `${directory.origin}${directory.pathname}`,
    read: async (name, maxBytes) => {
      const file = new URL(directory)
      file.pathname += name
      try {
        const response = await fetch(file, { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) })
        if (response.status === 200) return await readBody(response, name, maxBytes)
        await response.body?.cancel()
        if (ABSENT.includes(response.status)) return undefined
        throw new SnapshotError(`${file.origin} answers with status ${response.status} for ${name}`)
      } catch (error) {
        if (error instanceof SnapshotError) throw error
        signal.throwIfAborted()
        throw new SnapshotError(`${name} cannot be fetched from ${file.origin}: ${reasonOf(error)}`)
      }
    },
  }
}

async function readBody(response: Response, name: string, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > maxBytes) throw new SnapshotError(`${name} has more than ${maxBytes} bytes`)
    parts.push(part)
  }
  return new Uint8Array(Buffer.concat(parts))
}

/** The error `fetch failed` has its reason in `cause`. */
function reasonOf(error: unknown): string {
  let cause = error
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause
  return cause instanceof Error ? cause.message.replaceAll(/\s+/g, ' ').slice(0, 200) : String(cause)
}
