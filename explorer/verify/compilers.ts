import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ConfigError } from '../../src/config/configError.ts'

/** A compiler that may run. */
interface Entry {
  /** in the cache folder and at the mirror; undefined: the installed package solc */
  readonly file: string | undefined
  /** 64 hex digits */
  readonly sha256: string
}

/** The compilers that may run, and where their files are. */
export interface Compilers {
  /** The newest first. */
  readonly versions: readonly string[]
  /** The version that a client means, such as `v0.8.37+commit.f401782d` or without the v; undefined: no such version. */
  find(version: string): string | undefined
  /**
   * The text of a compiler of {@link versions}, with the hash that the list says.
   * @throws CompilerMissing
   */
  load(version: string, stop?: AbortSignal): Promise<Uint8Array>
}

/** A listed compiler is not available now. The message tells the operator what to do. */
export class CompilerMissing extends Error {
  override readonly name = 'CompilerMissing'
}

/** The package solc that is installed with the explorer. */
export const INSTALLED_COMPILER = {
  version: '0.8.37+commit.f401782d',
  sha256: '221d7a667378b5068d913e75fe092507e061363cd1d23b64c49ae82febabad4c',
} as const

/** The largest compiler has 34 MB. */
const MAX_COMPILER_BYTES = 64 * 1024 * 1024
const DOWNLOAD_MS = 300_000

const hash = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, 'sha256 must have 64 hex digits')
  .transform((text) => text.replace(/^0x/, '').toLowerCase())
/** A name in a folder, never a path. */
const file = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/, 'file must be a name without a folder')
const version = z
  .string()
  .regex(/^[0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9.+-]{0,80}$/, 'a version must look like 0.8.20+commit.a1b79de6')
const ownList = z.record(version, z.object({ file, sha256: hash }))
/** As solc-bin publishes it: https://binaries.soliditylang.org/bin/list.json */
const solcBinList = z.object({ builds: z.array(z.object({ path: file, longVersion: version, sha256: hash })) })

interface CompilerPlaces {
  /** the operator's list, a JSON file; undefined: the installed compiler alone */
  readonly list: string | undefined
  readonly cache: string
  /** where files are that the cache lacks; undefined: nowhere */
  readonly mirror: string | undefined
}

/**
 * Reads the list of compilers.
 * @throws ConfigError
 */
export async function openCompilers({ list, cache, mirror }: CompilerPlaces): Promise<Compilers> {
  const listed = list === undefined ? [] : await readList(list)
  const { version: installed, sha256 } = INSTALLED_COMPILER
  const own: Entry = { file: undefined, sha256 }
  // The list may name the installed version, too: then it is the same by its hash, or the operator wants another one.
  const isOther = ([name, entry]: readonly [string, Entry]): boolean => name !== installed || entry.sha256 !== sha256
  const entries = new Map<string, Entry>([[installed, own], ...listed.filter(isOther)])
  return {
    versions: [...entries.keys()].sort((a, b) => b.localeCompare(a, 'en', { numeric: true })),
    find: (text) => {
      const name = text.startsWith('v') ? text.slice(1) : text
      return entries.has(name) ? name : undefined
    },
    load: (name, stop) => load(name, entries.get(name)!, { cache, mirror }, stop),
  }
}

async function readList(path: string): Promise<readonly (readonly [string, Entry])[]> {
  const problem = (reason: string): ConfigError => new ConfigError(`EXPLORER_COMPILERS: ${path}: ${reason}`)
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw problem((error as Error).message)
  }
  const isSolcBin = typeof value === 'object' && value !== null && 'builds' in value
  const { data, error } = isSolcBin ? solcBinList.safeParse(value) : ownList.safeParse(value)
  if (data === undefined) {
    const issue = error.issues[0]!
    const message = issue.code === 'invalid_key' ? issue.issues[0]!.message : issue.message
    throw problem(`${issue.path.join('.')}: ${message}`)
  }
  return 'builds' in data && Array.isArray(data.builds)
    ? data.builds.map(({ longVersion, path: own, sha256 }) => [longVersion, { file: own, sha256 }] as const)
    : Object.entries(data as z.infer<typeof ownList>)
}

async function load(
  name: string,
  { file: own, sha256 }: Entry,
  { cache, mirror }: Omit<CompilerPlaces, 'list'>,
  stop: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (own === undefined) {
    const bytes = await readFile(fileURLToPath(import.meta.resolve('solc/soljson.js')))
    if (sha256Of(bytes) === sha256) return bytes
    throw new CompilerMissing(`the installed package solc is not version ${name}: run npm ci`)
  }
  const path = join(cache, own)
  const cached = await readIfThere(path)
  if (cached !== undefined && sha256Of(cached) === sha256) return cached
  if (mirror === undefined) {
    throw new CompilerMissing(
      cached === undefined
        ? `the compiler ${name} is not in ${cache}: put ${own} there, or set EXPLORER_COMPILER_MIRROR`
        : `the sha256 of ${path} differs from the list of compilers: delete the file, or correct EXPLORER_COMPILERS`,
    )
  }
  const bytes = await download(new URL(own, mirror.endsWith('/') ? mirror : `${mirror}/`), stop)
  if (sha256Of(bytes) !== sha256) {
    throw new CompilerMissing(
      `the sha256 of the mirror's ${own} differs from the list of compilers: correct EXPLORER_COMPILERS or EXPLORER_COMPILER_MIRROR`,
    )
  }
  await mkdir(cache, { recursive: true, mode: 0o700 })
  // Renamed when it is complete: other explorers may read it.
  const temporary = `${path}.${process.pid}`
  await writeFile(temporary, bytes)
  await rename(temporary, path)
  return bytes
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function download(url: URL, stop: AbortSignal | undefined): Promise<Uint8Array> {
  const timeout = AbortSignal.timeout(DOWNLOAD_MS)
  try {
    const response = await fetch(url, {
      redirect: 'error',
      signal: stop === undefined ? timeout : AbortSignal.any([stop, timeout]),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const parts: Uint8Array[] = []
    let length = 0
    for await (const part of response.body ?? []) {
      length += part.length
      if (length > MAX_COMPILER_BYTES) throw new Error(`more than ${MAX_COMPILER_BYTES} bytes`)
      parts.push(part)
    }
    return Buffer.concat(parts)
  } catch (error) {
    const { cause } = error as Error
    const reason = cause instanceof Error ? cause.message : (error as Error).message
    throw new CompilerMissing(
      `cannot download ${url.href} (${reason}): check EXPLORER_COMPILER_MIRROR, or put the file into EXPLORER_COMPILER_CACHE`,
    )
  }
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
