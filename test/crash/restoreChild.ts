import fs from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { Logger } from '../../src/telemetry/logger.ts'

/**
 * Restores a snapshot into a data directory as a start does: `restoreChild.ts HOMEDIR MANIFEST_URL NOW_MS KILL_AT`. It is killed by itself
 * after the change of a file or of a database with the number KILL_AT (0: never). It writes what it reports as one line of JSON, see
 * {@link RestoreReport}.
 */
const [homedir, url, nowMs, killAt] = process.argv.slice(2) as [string, string, string, string]

/** How a restore ended that was not killed. */
export interface RestoreReport {
  /** changes of files and databases */
  readonly changes: number
  /** lines of the log */
  readonly log: readonly string[]
  /** name and message of the error that ended it */
  readonly failure?: readonly [string, string] | undefined
}

Date.now = () => Number(nowMs)

let changes = 0
function changed(): void {
  changes++
  if (changes === Number(killAt)) process.kill(process.pid, 'SIGKILL')
}

const { renameSync, rmSync, writeFileSync, mkdirSync } = fs
fs.renameSync = (from, to) => {
  renameSync(from, to)
  changed()
}
fs.rmSync = (path, options) => {
  rmSync(path, options)
  changed()
}
fs.writeFileSync = (path, data, options) => {
  writeFileSync(path, data, options)
  changed()
}
fs.mkdirSync = ((path: string, options: fs.MakeDirectoryOptions) => {
  const made = mkdirSync(path, options)
  changed()
  return made
}) as typeof fs.mkdirSync
const { rename, rm, mkdir } = files
files.rename = async (from, to) => {
  await rename(from, to)
  changed()
}
files.rm = async (path, options) => {
  await rm(path, options)
  changed()
}
files.mkdir = (async (path: string, options: fs.MakeDirectoryOptions) => {
  const made = await mkdir(path, options)
  changed()
  return made
}) as typeof files.mkdir
syncBuiltinESMExports()

const { Database } = await import('../../src/storage/database.ts')
const { write } = Database.prototype
Database.prototype.write = async function (batch, options) {
  await write.call(this, batch, options)
  changed()
}

const { loadConfig } = await import('../../src/config/config.ts')
const { beginFromSnapshot } = await import('../../src/node/start/beginFromSnapshot.ts')
const { openHome } = await import('../../src/node/start/openHome.ts')

const log: string[] = []
const note = (fields: unknown, text?: string): void => void log.push(text ?? String(fields))
const logger = { info: note, warn: note } as unknown as Logger

async function restore(): Promise<RestoreReport['failure']> {
  const environment = {
    NETWORK: 'testnet',
    HOMEDIR: homedir,
    FORCE_SNAPSHOT_RESTORE: 'true',
    SNAPSHOT_MANIFEST_URL: url,
  }
  try {
    const config = loadConfig({ flags: {}, environment, dotenv: {} }, homedir)
    const home = await openHome(config, {}, logger)
    const { signal } = new AbortController()
    try {
      await beginFromSnapshot({ config, home, logger, allowsOlder: false, signal })
    } finally {
      await home.lock.release()
    }
    return undefined
  } catch (error) {
    const { name, message } = error as Error
    return [name, message]
  }
}

const failure = await restore()
process.stdout.write(JSON.stringify({ changes, log, failure } satisfies RestoreReport))
