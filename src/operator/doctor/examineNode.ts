import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import type { Config } from '../../config/config.ts'
import { currentDatabase } from '../../datadir/currentDatabase.ts'
import { type DataPaths, dataPaths } from '../../datadir/dataDirectory.ts'
import { DatabaseError } from '../../storage/database.ts'
import { FORMAT } from '../../storage/format.ts'
import { refuseOtherFormat } from '../../storage/storedFormat.ts'
import { type Finding, ok, problem } from './finding.ts'
import { examineDisk, examineOpenFiles, examineSize, refusalOfDirectory } from './machine.ts'
import { examineClock, examinePeers, examinePorts } from './networkFindings.ts'
import { examineKeys, examineRuntime, examineSettings } from './settingFindings.ts'

/**
 * Runs `coind doctor`: finds what would keep a node from starting, signing in time or being reached. It may run while the node
 * runs, and asks only the seed nodes and peers that the settings name.
 * @returns findings by what was examined, in the order in which an operator fixes them
 */
export async function examineNode(config: Config): Promise<ReadonlyMap<string, readonly Finding[]>> {
  const paths = dataPaths(config.homedir)
  const refusal = refusalOfDirectory(config.homedir)
  // A user who cannot read the directory would take it for empty.
  if (refusal !== undefined) return new Map([['disk', [refusal]]])
  const keys = examineKeys(paths, config.signer !== undefined)
  return new Map([
    ['settings', examineSettings(config, paths)],
    ['Node.js', [examineRuntime(process.versions.node)]],
    ['keys', keys.findings],
    ['database', [examineDatabase(paths)]],
    ['disk', examineDisk(config.homedir, () => performance.now())],
    ['files', [examineOpenFiles(ownLimits())]],
    ['machine', examineSize(availableParallelism(), Math.min(totalmem(), process.constrainedMemory() || totalmem()))],
    ['ports', await examinePorts(config, keys.nodeId)],
    ['clock', [await examineClock(config.joining.seedNodeUrl, () => Date.now())]],
    ['peers', await examinePeers([...config.p2p.persistentPeers, ...config.p2p.seeds])],
  ])
}

/** Whether this version can continue the chain. The files alone are read: a node may have the database open. */
function examineDatabase(paths: DataPaths): Finding {
  const location = currentDatabase(paths)
  if (!existsSync(location)) return ok('no database yet')
  try {
    refuseOtherFormat(location)
    return ok(`format ${FORMAT}`)
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    return problem(error.message)
  }
}

function ownLimits(): string | undefined {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    // Linux has it.
    return undefined
  }
}
