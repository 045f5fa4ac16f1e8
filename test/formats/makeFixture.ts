import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { rpc, until } from '../e2e/rpc.ts'
import { startNode } from '../e2e/startNode.ts'
import { writeFixture } from './fixture.ts'

/**
 * Makes the fixture of the format that this version writes: runs a devnet for some blocks, twice, so that LevelDB has a table and a log,
 * and packs its data directory. It is run once for each format, by the last commit before the format is raised:
 *
 *   node test/formats/makeFixture.ts FORMAT
 */
const [format] = process.argv.slice(2).map(Number)
if (!Number.isInteger(format)) throw new Error('node test/formats/makeFixture.ts FORMAT')

const BLOCKS = 3

function packFiles(homedir: string): Record<string, string> {
  const entries = readdirSync(homedir, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(homedir, join(parentPath, name)))
    .filter((path) => /^(config|db|wal)\//.test(path) && !/LOG/.test(path))
  return Object.fromEntries(
    paths.toSorted().map((path) => [path, readFileSync(join(homedir, path)).toString('base64')]),
  )
}

const homedir = mkdtempSync(join(tmpdir(), 'coind-fixture-'))
for (let run = 0; run < 2; run++) {
  const node = await startNode({ homedir })
  const height = async (): Promise<number> => Number(await rpc<string>(node.url, 'eth_blockNumber'))
  const started = await height()
  await until('further blocks', async () => (await height()) >= started + BLOCKS)
  await node.kill('SIGTERM')
}
writeFixture(format!, { files: packFiles(homedir) })
rmSync(homedir, { recursive: true })
