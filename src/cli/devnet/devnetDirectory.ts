import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataPaths } from '../../app/dataDirectory.ts'
import { lockHome } from '../../app/homeLock.ts'
import { ConfigError } from '../../config/configError.ts'

/** Present in every directory that a devnet made: nothing else is ever deleted. */
const MARKER = 'devnet.json'

/**
 * Makes `directory` ready for a devnet, without its chain if `isReset`.
 * @throws ConfigError when it holds something else, or a node is running in it
 */
export async function prepareDevnet(directory: string, isReset: boolean, processId: number): Promise<void> {
  const marker = join(directory, MARKER)
  if (existsSync(directory) && !existsSync(marker) && readdirSync(directory).length > 0) {
    throw new ConfigError(`${directory} is not the directory of a devnet: name another one with --homedir`)
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(marker, `${JSON.stringify({ about: 'made by coind devnet; --reset deletes the chain in here' })}\n`)
  if (!isReset) return
  const paths = dataPaths(directory)
  const lock = await lockHome(paths, processId)
  for (const path of [paths.config, paths.db, paths.wal]) rmSync(path, { recursive: true, force: true })
  await lock.release()
}
