import { createHash } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  createReadStream,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { bytesToHex } from '../../primitives/bytes.ts'
import { syncDirectory, writeFileDurably } from '../../storage/writeFileDurably.ts'
import type { Checksum } from './checksums.ts'
import { BadArchive, unpackArchive } from './unpackArchive.ts'

/** A version cannot be installed, which only a person can change. */
export class VersionRefused extends Error {
  override readonly name = 'VersionRefused'
}

/** The archive has another checksum: it is another file, or is still being copied. */
export class WrongChecksum extends VersionRefused {}

/** The archive of the version is absent; an operator may still provide it. */
export class ArchiveAbsent extends Error {
  override readonly name = 'ArchiveAbsent'
}

/** The version of a chain's first block. */
export const GENESIS_VERSION = 'genesis'
/** A symbolic link to the directory of the version that runs. */
const CURRENT = 'current'
const ARCHIVE = '.tar.gz'
/** In the directory of a version: SHA-256 of the archive that it was unpacked from. */
const CHECKSUM_FILE = '.archive-sha256'
/** Behind names while they are made. No name of a version has this character. */
const UNFINISHED = '~'
const NAME = /^[A-Za-z0-9._-]{1,64}$/
const RESERVED: readonly string[] = ['.', '..', CURRENT, 'lock']

/** @throws VersionRefused for a name that cannot be a directory below HOMEDIR/versions/ */
export function checkVersionName(name: string): void {
  if (NAME.test(name) && !RESERVED.includes(name) && !name.endsWith(ARCHIVE)) return
  throw new VersionRefused(
    `${JSON.stringify(name)} is not a valid version name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -; the name must not be one of ` +
      `${RESERVED.join(' ')}, or end with ${ARCHIVE}`,
  )
}

/** HOMEDIR/versions/: `<name>/` has a version, `<name>.tar.gz` is what it is unpacked from, `current` leads to the one that runs. */
export interface Versions {
  readonly directory: string
  /** the name of the version that runs; undefined before any was chosen */
  current(): string | undefined
  /** Makes an installed version the one that runs, durably. */
  setCurrent(name: string): void
  isInstalled(name: string): boolean
  /** where the operator puts the archive */
  archive(name: string): string
  /** path of the program */
  program(name: string): string
  /**
   * Unpacks a version, unless it is there from an archive with one of these checksums. It is complete and synced before it gets its name.
   * @throws VersionRefused, WrongChecksum, ArchiveAbsent
   */
  install(name: string, accepted: readonly Checksum[]): Promise<void>
}

/** Opens the directory and removes what was not finished in it. Only one process may do so. @param directory HOMEDIR/versions */
export function openVersions(directory: string): Versions {
  for (const name of readdirSync(directory)) {
    if (name.includes(UNFINISHED)) rmSync(join(directory, name), { recursive: true, force: true })
  }
  const versions: Versions = {
    directory,
    current: () => {
      try {
        const name = readlinkSync(join(directory, CURRENT))
        checkVersionName(name)
        return name
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'ENOENT') return undefined
        if (code === 'EINVAL')
          throw new VersionRefused(`${join(directory, CURRENT)} must be a symbolic link to a version`)
        throw error
      }
    },
    setCurrent: (name) => {
      const link = join(directory, CURRENT)
      rmSync(link + UNFINISHED, { force: true })
      symlinkSync(name, link + UNFINISHED)
      renameSync(link + UNFINISHED, link)
      syncDirectory(directory)
    },
    isInstalled: (name) => existsSync(versions.program(name)),
    archive: (name) => join(directory, name + ARCHIVE),
    program: (name) => join(directory, name, 'bin', 'coind'),
    install: async (name, accepted) => {
      checkVersionName(name)
      const target = join(directory, name)
      const unpackedFrom = checksumOf(target)
      if (accepted.some(({ sha256 }) => sha256 === unpackedFrom)) return
      if (unpackedFrom === undefined && existsSync(target)) {
        throw new VersionRefused(
          `${target} exists and was not unpacked by coind supervise: move it away, and put its archive at ${versions.archive(name)}`,
        )
      }
      await unpack(versions, name, accepted)
    },
  }
  return versions
}

/**
 * Returns the checksum of the archive that a version was unpacked from; undefined when it was not
 * unpacked by this program.
 */
function checksumOf(version: string): string | undefined {
  const path = join(version, CHECKSUM_FILE)
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
}

/**
 * Unpacks a version:
 * 1. Compare the checksum of the archive, before anything else reads the file.
 * 2. Unpack it next to its final place. The checksum is compared again while unpacking: the file may have changed meanwhile.
 * 3. Note the checksum in the directory, and rename it. From then on a directory with the name holds the whole version.
 */
async function unpack(versions: Versions, name: string, accepted: readonly Checksum[]): Promise<void> {
  const { directory } = versions
  const archive = versions.archive(name)
  const file = openArchive(archive)
  const target = join(directory, name)
  const unfinished = target + UNFINISHED
  try {
    // 1.
    checkSum(archive, await sha256Of(file), accepted)
    // 2.
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { mode: 0o755 })
    const sha256 = await unpackArchive(file, unfinished)
    checkSum(archive, sha256, accepted)
    if (!isProgram(join(unfinished, 'bin', 'coind'))) throw new BadArchive('it has no program bin/coind')
    // 3.
    writeFileDurably(join(unfinished, CHECKSUM_FILE), `${sha256}\n`, 0o644)
    rmSync(target, { recursive: true, force: true })
    renameSync(unfinished, target)
    syncDirectory(directory)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (error instanceof BadArchive) {
      throw new VersionRefused(`cannot unpack ${archive}: ${error.message}`, { cause: error })
    }
    throw error
  } finally {
    closeSync(file)
  }
}

/** @throws ArchiveAbsent; VersionRefused when it is not a regular file */
function openArchive(path: string): number {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new ArchiveAbsent(`${path} does not exist`)
    throw error
  }
  if (fstatSync(file).isFile()) return file
  closeSync(file)
  throw new VersionRefused(`${path} is not a file`)
}

async function sha256Of(file: number): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream('', { fd: file, start: 0, autoClose: false })) hash.update(chunk as Buffer)
  return bytesToHex(hash.digest()).slice(2)
}

/** @throws WrongChecksum */
function checkSum(archive: string, found: string, accepted: readonly Checksum[]): void {
  if (accepted.some(({ sha256 }) => sha256 === found)) return
  const wanted = accepted.map(({ sha256, source }) => `${sha256} (${source})`).join(' or ')
  throw new WrongChecksum(
    `the checksum of ${archive} is wrong: sha256 is ${found}, expected ${wanted}. Nothing was unpacked.`,
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
