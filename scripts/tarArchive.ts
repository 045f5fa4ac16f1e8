/** A file of an archive. */
export interface ArchiveEntry {
  /** relative, with / */
  readonly path: string
  readonly isExecutable: boolean
  readonly contents: Uint8Array
}

const BLOCK_BYTES = 512
const NAME_BYTES = 100
const PREFIX_BYTES = 155

/**
 * Makes a tar archive (POSIX ustar) of regular files. The same files give the same bytes: they are
 * sorted by their paths, belong to root, and have one time.
 * @param timeSeconds since the epoch
 * @throws Error for a path that ustar has no room for
 */
export function tarArchive(entries: readonly ArchiveEntry[], timeSeconds: number): Buffer {
  const parts: Uint8Array[] = []
  for (const entry of entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const { contents } = entry
    parts.push(tarHeader({ ...entry, mode: entry.isExecutable ? 0o755 : 0o644, size: contents.length, timeSeconds }))
    parts.push(contents, Buffer.alloc((BLOCK_BYTES - (contents.length % BLOCK_BYTES)) % BLOCK_BYTES))
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)])
}

/** Returns the header of one entry. @param kind `0` for a regular file */
export function tarHeader({
  path,
  mode,
  size,
  timeSeconds,
  kind = '0',
  linkTarget = '',
}: {
  readonly path: string
  readonly mode: number
  readonly size: number
  readonly timeSeconds: number
  readonly kind?: string
  readonly linkTarget?: string
}): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  const [prefix, name] = splitPath(path)
  header.write(name, 0, 'latin1')
  writeOctal(header, mode, 100, 8)
  writeOctal(header, 0, 108, 8)
  writeOctal(header, 0, 116, 8)
  writeOctal(header, size, 124, 12)
  writeOctal(header, timeSeconds, 136, 12)
  header.write(kind, 156, 'latin1')
  header.write(linkTarget, 157, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  header.write(prefix, 345, 'latin1')
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

function splitPath(path: string): readonly [prefix: string, name: string] {
  if (path.length <= NAME_BYTES) return ['', path]
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    if (at <= PREFIX_BYTES && path.length - at - 1 <= NAME_BYTES) return [path.slice(0, at), path.slice(at + 1)]
  }
  throw new Error(`${path} is too long for an archive`)
}

function writeOctal(header: Buffer, value: number, at: number, length: number): void {
  header.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1')
}
