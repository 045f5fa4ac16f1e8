import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Finding, ok, problem, warning } from './finding.ts'

/* Checks of the machine: disk, memory, processors, open files. */

const GIB = 2 ** 30
/** Under this LevelDB may not be able to merge its files. */
const LEAST_FREE_BYTES = GIB
const GOOD_FREE_BYTES = 20 * GIB
/** Synced writes to measure, of about one record of the write-ahead log each. */
const SYNCED_WRITES = 20
const SYNCED_BYTES = 512
/** Each block waits for a few of them, one after another. */
const SLOW_SYNC_MS = 20
/** For LevelDB, segments, and the connections of peers and clients. */
const LEAST_FILES = 4_096
const LEAST_MEMORY_BYTES = 1.5 * GIB
const LEAST_PROCESSORS = 2

/** Says why this process cannot use the data directory; undefined: it can, or the directory does not exist yet. */
export function refusalOfDirectory(homedir: string): Finding | undefined {
  try {
    accessSync(homedir, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    return problem(`${homedir} cannot be used (${code}): run this as the user that runs the node, or change HOMEDIR`)
  }
}

/** Measures space and speed of the disk that has the data directory. Writes a small file there, and removes it. */
export function examineDisk(homedir: string, now: () => number): readonly Finding[] {
  try {
    const { bavail, bsize } = statfsSync(homedir)
    return [examineSpace(bavail * bsize), examineSync(syncMs(homedir, now))]
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return [warning(`${homedir} does not exist yet: the first start creates it`)]
    return [problem(`${homedir} cannot be written: ${ADVICE.get(code) ?? message}`)]
  }
}

/** Advice by the code of the system's error. */
const ADVICE: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOSPC', 'the disk is full; free some space'],
  ['EDQUOT', 'the quota is used up; raise it, or free some space'],
  ['EROFS', 'it is mounted read-only'],
  ['EIO', 'the disk fails; replace it'],
])

function examineSpace(freeBytes: number): Finding {
  const free = `${(freeBytes / GIB).toFixed(1)} GiB free`
  if (freeBytes < LEAST_FREE_BYTES) return problem(`${free}: the node stops when the disk is full; free some space`)
  if (freeBytes < GOOD_FREE_BYTES) return warning(`${free}: watch it, or set PRUNING and BLOCK_HISTORY`)
  return ok(free)
}

function examineSync(milliseconds: number): Finding {
  const took = `a synced write takes ${milliseconds.toFixed(1)} ms`
  if (milliseconds <= SLOW_SYNC_MS) return ok(took)
  return warning(`${took}: every block waits for synced writes; use a local SSD, not a network disk`)
}

/** Returns the median time of some synced writes in milliseconds. */
function syncMs(homedir: string, now: () => number): number {
  const directory = join(homedir, 'doctor')
  // What a killed one has left.
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  try {
    const file = openSync(join(directory, 'synced'), 'wx', 0o600)
    try {
      const times = Array.from({ length: SYNCED_WRITES }, () => {
        const begin = now()
        writeSync(file, Buffer.alloc(SYNCED_BYTES))
        fsyncSync(file)
        return now() - begin
      })
      return times.sort((a, b) => a - b)[SYNCED_WRITES / 2]!
    } finally {
      closeSync(file)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** @param limits text of /proc/self/limits; undefined where the system does not have it */
export function examineOpenFiles(limits: string | undefined): Finding {
  const limit = /^Max open files +(\S+)/m.exec(limits ?? '')?.[1]
  if (limit === undefined) return ok('not checked: this system does not report the limit of open files')
  if (limit === 'unlimited' || Number(limit) >= LEAST_FILES) return ok(`up to ${limit} open files`)
  return warning(`up to ${limit} open files: raise it to 65536 (LimitNOFILE= of systemd, --ulimit nofile= of docker)`)
}

/** @param memoryBytes of the machine, or the limit of a container */
export function examineSize(processors: number, memoryBytes: number): readonly Finding[] {
  const has = `${processors} processors, ${(memoryBytes / GIB).toFixed(1)} GiB of memory`
  const findings: Finding[] = []
  if (processors < LEAST_PROCESSORS) findings.push(warning(`${has}: a validator needs two processors to keep up`))
  if (memoryBytes < LEAST_MEMORY_BYTES) findings.push(warning(`${has}: under load the node uses up to 1 GiB`))
  return findings.length === 0 ? [ok(has)] : findings
}
