import { join } from 'node:path'
import { loadExplorerConfig } from '../../../explorer/config/config.ts'
import { type RunningExplorer, startExplorer } from '../../../explorer/startExplorer.ts'
import { freePort } from '../startNode.ts'

/**
 * An explorer in this process, over an SQLite file in `directory` unless `settings` say otherwise.
 * @param settings of the explorer, by the names of its variables
 */
export async function startTestExplorer(
  nodeUrl: string,
  directory: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningExplorer> {
  const flags = {
    EXPLORER_NODE_URL: nodeUrl,
    EXPLORER_HOST: '127.0.0.1',
    EXPLORER_PORT: String(await freePort()),
    EXPLORER_DATABASE: join(directory, 'index.sqlite'),
    LOG_LEVEL: 'silent',
    ...settings,
  }
  return startExplorer(loadExplorerConfig({ flags, environment: {}, dotenv: {} }, directory))
}
