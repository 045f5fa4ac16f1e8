import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../../config/configError.ts'
import { type DataPaths, waitForHome } from '../../datadir/dataDirectory.ts'
import { PACKAGE_ROOT } from '../../primitives/location.ts'
import { type DirectoryLock, isLockHeld, openDirectoryLock } from '../../storage/directoryLock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { acceptedChecksums, type GivenChecksums, planPlatform } from './checksums.ts'
import {
  ArchiveAbsent,
  checkVersionName,
  GENESIS_VERSION,
  openVersions,
  VersionRefused,
  type Versions,
  WrongChecksum,
} from './versions.ts'

/** Exit codes (src/cli/program.ts) after which only a person can help: wrong settings, and data that does not fit. */
const FINAL_CODES: readonly number[] = [64, 65]
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGQUIT', 'SIGUSR2']
/** Characters of a plan's checksum that an error shows: a SHA-256 with its name, and some more. */
const SHOWN_CHECKSUM = 100

/** Times in milliseconds. */
export interface Pace {
  /** before the first start after a crash; twice as long after each further one */
  readonly firstDelayMs: number
  readonly longestDelayMs: number
  /** a node that ran for this time does not count as crashing repeatedly */
  readonly steadyMs: number
  /** how often an archive is looked for, and how long one with another checksum must stay as it is */
  readonly lookMs: number
  /** how often a missing archive is reported */
  readonly tellMs: number
  /** how long a node that has asked for another version may take to end; then SIGTERM, and after as long SIGKILL */
  readonly endMs: number
  /** how long a node of a supervisor that was killed may take to end */
  readonly leftoverMs: number
}

export const PACE: Pace = {
  firstDelayMs: 1_000,
  longestDelayMs: 60_000,
  steadyMs: 600_000,
  lookMs: 5_000,
  tellMs: 60_000,
  endMs: 60_000,
  leftoverMs: 60_000,
}

export interface SuperviseOptions {
  readonly paths: Pick<DataPaths, 'homedir' | 'lock' | 'pid' | 'upgradeInfo' | 'versions'>
  /** of `coind start` */
  readonly flags: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly checksums: GivenChecksums
  readonly logger: Logger
  /** stops the node, and ends the supervision */
  readonly signal: AbortSignal
  readonly pace?: Pace
}

/** The node has ended in a way that no start can fix. */
class NodeEnded extends Error {
  override readonly name = 'NodeEnded'
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`the node exited with code ${exitCode} and is not restarted: its last log line has the reason`)
    this.exitCode = exitCode
  }
}

/** File left by a node that needs another version (src/execution/upgradeInfo.ts). */
interface UpgradeInfo {
  readonly name: string
  readonly height: number
  readonly info: string
}

/**
 * Runs the node in the current version until it is stopped, and switches to the version that the node asks for:
 * 1. Start the node. An earlier request for a version is removed: the node asks again at its start.
 * 2. If it ends without asking for a version, start it again after a growing delay, unless a start cannot help.
 * 3. If it has left `upgrade-info.json`, install that version, make it the current one, and continue with 1.
 *
 * Only the directories of versions and the link `current` record the progress, so a supervisor that was ended at any moment
 * can continue. It switches to a version only when the current one asks for it, and so never back.
 * @throws VersionRefused, NodeEnded, ConfigError
 */
export async function superviseNode(options: SuperviseOptions): Promise<void> {
  const { paths, logger, signal, pace = PACE } = options
  const lock = await lockVersions(paths.versions)
  try {
    const versions = openVersions(paths.versions)
    await installGenesis(versions, options)
    let crashes = 0
    while (!signal.aborted) {
      // 1.
      const name = versions.current()
      if (name !== undefined && !versions.isInstalled(name)) {
        throw new VersionRefused(`the current version "${name}" is not in ${versions.directory}`)
      }
      const pause = (milliseconds: number): Promise<void> => sleep(milliseconds, undefined, { signal })
      await unlessStopped(waitForHome(paths, pace.leftoverMs, pause), signal)
      if (signal.aborted) return
      rmSync(paths.upgradeInfo, { force: true })
      const startMs = performance.now()
      const end = await runNode(name === undefined ? undefined : versions.program(name), options)
      if (signal.aborted) return
      // 3.
      if (existsSync(paths.upgradeInfo)) {
        crashes = 0
        await changeVersion(versions, name, options)
        continue
      }
      // 2.
      if (end.code === 0) {
        logger.info('the node was stopped by another process and is not restarted')
        return
      }
      if (end.code !== null && FINAL_CODES.includes(end.code)) throw new NodeEnded(end.code)
      crashes = performance.now() - startMs >= pace.steadyMs ? 1 : crashes + 1
      const delayMs = Math.min(pace.longestDelayMs, pace.firstDelayMs * 2 ** (crashes - 1))
      logger.error({ ...end, crashes, delayMs }, 'the node failed and is restarted')
      await unlessStopped(sleep(delayMs, undefined, { signal }), signal)
    }
  } finally {
    await lock.close()
  }
}

/** Locks the directory of versions: two supervisors would unpack over each other. @throws ConfigError */
async function lockVersions(directory: string): Promise<DirectoryLock> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  try {
    return await openDirectoryLock(join(directory, 'lock'))
  } catch (error) {
    if (!isLockHeld(error)) throw error
    throw new ConfigError(`another coind supervise is using ${directory}: stop it first`)
  }
}

/** Installs the first version if there is an archive. Without one, this installation runs until the first upgrade. */
async function installGenesis(versions: Versions, options: SuperviseOptions): Promise<void> {
  if (versions.current() !== undefined) return
  if (!versions.isInstalled(GENESIS_VERSION) && !existsSync(versions.archive(GENESIS_VERSION))) {
    options.logger.info(
      { versions: versions.directory },
      'no version is installed in HOMEDIR/versions: this installation runs until an upgrade',
    )
    return
  }
  await install(versions, GENESIS_VERSION, undefined, options)
  versions.setCurrent(GENESIS_VERSION)
}

/** Switches to the version that the node has asked for. @param current the node's own version */
async function changeVersion(
  versions: Versions,
  current: string | undefined,
  options: SuperviseOptions,
): Promise<void> {
  const { paths, logger, signal } = options
  const { name, height, info } = readUpgradeInfo(paths.upgradeInfo)
  checkVersionName(name)
  logger.info({ name, height, current }, 'the chain needs another version')
  if (name === current) {
    throw new VersionRefused(
      `the installed version "${name}" does not support the upgrade "${name}" at height ${height}: install the right version`,
    )
  }
  if (!(await install(versions, name, info, options))) return
  // A stop that came meanwhile: the next start asks once more.
  if (signal.aborted) return
  versions.setCurrent(name)
  logger.info({ name, height }, 'the version is installed and is now the current one')
}

/**
 * Installs a version; waits for its archive where that is not there, or is still being copied.
 * @param info of the plan
 * @returns false when it was stopped while it waited
 * @throws VersionRefused
 */
async function install(
  versions: Versions,
  name: string,
  info: string | undefined,
  { checksums, logger, signal, pace = PACE }: SuperviseOptions,
): Promise<boolean> {
  const archive = versions.archive(name)
  const platform = planPlatform(process.platform, process.arch)
  let toldMs = Number.NEGATIVE_INFINITY
  let wrong: string | undefined
  for (;;) {
    const checksumFile = `${archive}.sha256`
    const { accepted, unusable } = acceptedChecksums({ given: checksums.get(name), info, checksumFile }, platform)
    if (accepted.length === 0 && unusable !== undefined) {
      throw new VersionRefused(
        `the plan's info has the checksum ${JSON.stringify(unusable.slice(0, SHOWN_CHECKSUM))} for ${platform}, but expected "sha256:" and 64 hex digits. Compare ` +
          `the checksum of ${archive} with the published one, and pass it with --sha256 ${name}=…`,
      )
    }
    if (accepted.length === 0) {
      throw new VersionRefused(
        `the checksum of ${archive} is unknown: the plan's info has no checksum for ${platform}. Compare it with the published one, and ` +
          `pass it with --sha256 ${name}=… or in ${checksumFile}`,
      )
    }
    try {
      await versions.install(name, accepted)
      return true
    } catch (error) {
      if (error instanceof WrongChecksum) {
        // Twice the same: it is not being copied.
        if (wrong === error.message) throw error
        wrong = error.message
      } else if (!(error instanceof ArchiveAbsent)) throw error
      else if (performance.now() - toldMs >= pace.tellMs) {
        toldMs = performance.now()
        const { sha256 } = accepted[0]!
        logger.error({ archive, sha256, info }, 'the node is stopped until the archive of the next version is present')
      }
    }
    if (!(await unlessStopped(sleep(pace.lookMs, true, { signal }), signal))) return false
  }
}

/** @throws VersionRefused when it is not what a node writes */
function readUpgradeInfo(path: string): UpgradeInfo {
  try {
    const { name, height, info = '' } = JSON.parse(readFileSync(path, 'utf8')) as Partial<UpgradeInfo>
    if (typeof name === 'string' && typeof height === 'number' && typeof info === 'string')
      return { name, height, info }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new VersionRefused(`${path} is not a valid request of a node for another version`)
}

interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Runs the node to its end, and passes signals on to it. It ends with this process, however that ends: its channel closes then.
 * @param program undefined: that of this installation
 */
function runNode(
  program: string | undefined,
  { paths, flags, environment, logger, signal, pace = PACE }: SuperviseOptions,
): Promise<End> {
  const own = [process.execPath, fileURLToPath(new URL('bin/coind.js', PACKAGE_ROOT))]
  const [command, ...args] = [...(program === undefined ? own : [program]), 'start', ...flags]
  const child = spawn(command!, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...environment, HOMEDIR: paths.homedir, COIND_LAUNCHED: '1' },
  })
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const listeners = PASSED_ON.map((name) => ({ name, listener: () => void child.kill(name) }))
  for (const { name, listener } of listeners) process.on(name, listener)
  const watch = endAfterUpgrade(child, paths.upgradeInfo, logger, pace)
  return new Promise<End>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signalName) => resolve({ code, signal: signalName }))
  }).finally(() => {
    clearInterval(watch)
    signal.removeEventListener('abort', stop)
    for (const { name, listener } of listeners) process.off(name, listener)
  })
}

/** Ends a node that has asked for another version, if it does not end by itself within seconds. */
function endAfterUpgrade(
  child: ChildProcess,
  upgradeInfo: string,
  logger: Logger,
  { endMs, lookMs }: Pace,
): NodeJS.Timeout {
  let sinceMs: number | undefined
  const check = (): void => {
    if (!existsSync(upgradeInfo)) return
    sinceMs ??= performance.now()
    const waitedMs = performance.now() - sinceMs
    if (waitedMs < endMs) return
    const name = waitedMs < 2 * endMs ? 'SIGTERM' : 'SIGKILL'
    logger.warn({ signal: name }, 'the node needs another version and has not exited: sending it a signal')
    child.kill(name)
  }
  return setInterval(check, lookMs)
}

/** Returns undefined when the stop signal ended the wait. */
async function unlessStopped<T>(wait: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await wait
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}
