import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KEYS } from '../e2e/devChain.ts'
import { startTestExplorer } from '../e2e/explorer/startTestExplorer.ts'
import { freePort, startNode } from '../e2e/startNode.ts'
import { postgresPrograms, startPostgres } from '../postgres/startPostgres.ts'
import type { Client, ClientEnvironment, Command } from './client.ts'
import { CLIENTS } from './clients.ts'
import { seedChain } from './seedChain.ts'

/**
 * `npm run test:clients [-- NAME …]`: installs programs and libraries of others with their versions pinned, lets each talk to one devnet, and prints a table. What this
 * machine cannot run is skipped and named. Installed clients are kept in node_modules/.cache. docs/clients.md has the results.
 */
const HERE = fileURLToPath(new URL('.', import.meta.url))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/coind-clients/', import.meta.url))
const BINARIES = fileURLToPath(new URL('../../node_modules/.bin/', import.meta.url))
const INSTALLED = '.installed'
/** What names a client's packages. */
const LISTS = ['package.json', 'requirements.txt', 'pom.xml', 'Cargo.toml']
const TIMEOUT_MS = 900_000
/** What is shown of the log of a node that ended. */
const MAX_LOG_LENGTH = 8_000

interface Result {
  readonly name: string
  readonly version: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** why it was skipped, or seconds */
  readonly note: string
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !CLIENTS.some((client) => client.name === name))
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${CLIENTS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const chosen = names.length === 0 ? CLIENTS : CLIENTS.filter(({ name }) => names.includes(name))

const grpcPort = await freePort()
const node = await startNode({
  environment: {
    GRPC_PORT: String(grpcPort),
    RPC_NAMESPACES: 'eth,net,web3,txpool,debug,trace',
    RPC_JS_TRACERS: 'true',
    RPC_ALLOW_UNPROTECTED_TXS: 'true',
    INDEX_TRACES: 'true',
    PRUNING: 'archive',
  },
})
const directory = mkdtempSync(join(tmpdir(), 'coind-clients-'))
// OpenZeppelin's proxies are compiled by an older compiler, a package of that client.
const explorer = await startTestExplorer(node.url, directory, {
  EXPLORER_COMPILERS: join(HERE, 'hardhat2/compilers.json'),
  EXPLORER_COMPILER_CACHE: join(CACHE, 'hardhat2/node_modules/solc-of-proxies'),
})
const results: Result[] = []
try {
  const seeded = await seedChain(node.url)
  for (const [index, client] of chosen.entries()) {
    console.log(`\n== ${client.name}: ${client.version} ==\n${client.does}`)
    const environment = {
      ...seeded,
      RPC_URL: node.url,
      WS_URL: node.wsUrl,
      COMET_URL: `${node.url}rpc`,
      REST_URL: node.url.replace(/\/$/, ''),
      GRPC_ADDRESS: `127.0.0.1:${grpcPort}`,
      EXPLORER_URL: explorer.url,
      PORT: String(await freePort()),
      // The first account deploys and pays what the chain has before, the last one signs.
      PRIVATE_KEY: KEYS[1 + (index % (KEYS.length - 2))]!,
    }
    results.push(await runClient(client, environment))
    if (node.process.exitCode !== null || node.process.signalCode !== null) {
      throw new Error(`the node ended:\n${node.output().slice(-MAX_LOG_LENGTH)}`)
    }
  }
} finally {
  explorer.stop()
  await explorer.ended
  await node.stop()
  rmSync(directory, { recursive: true })
}
console.log()
for (const { name, version, outcome, note } of results) {
  console.log(`${outcome.padEnd(8)} ${name.padEnd(16)} ${note.padStart(6)}  ${version}`)
}
const failed = results.filter(({ outcome }) => outcome === 'failed').length
console.log(`${results.filter(({ outcome }) => outcome === 'passed').length} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function runClient(client: Client, environment: ClientEnvironment): Promise<Result> {
  const { name, version } = client
  const result = (outcome: Result['outcome'], note: string): Result => ({ name, version, outcome, note })
  const missing = client.needs.filter((command) => spawnSync('which', [command]).status !== 0)
  if (missing.length > 0) return result('skipped', `needs ${missing.join(', ')}`)
  const [tool, ...flags] = client.check ?? []
  if (tool !== undefined && spawnSync(tool, flags).status !== 0) return result('skipped', client.otherwise ?? '')
  const postgres = client.needsPostgres === true ? postgresPrograms() : undefined
  if (client.needsPostgres === true && postgres === undefined) return result('skipped', 'needs postgresql')
  const program = client.variable === undefined ? undefined : process.env[client.variable]
  if (client.variable !== undefined && program === undefined)
    return result('skipped', `${client.variable} names no program`)
  const folder = join(CACHE, name)
  mkdirSync(folder, { recursive: true })
  cpSync(join(HERE, name), folder, { recursive: true })
  const lists = LISTS.map((list) => join(folder, list)).filter(existsSync)
  const packages = [JSON.stringify(client.install), ...lists.map((list) => readFileSync(list, 'utf8'))].join('\n')
  const mark = join(folder, INSTALLED)
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...environment,
    PATH: [dirname(process.execPath), BINARIES, process.env.PATH].join(delimiter),
  }
  // The explorer answers in this process meanwhile.
  const run = async ([command, ...args]: Command): Promise<boolean> => {
    const stdio = ['ignore', 'inherit', 'inherit'] as const
    const [code] = await once(
      spawn(command, args, { cwd: folder, env, stdio: [...stdio], timeout: TIMEOUT_MS }),
      'exit',
    )
    return code === 0
  }
  const beginMs = performance.now()
  // A source that has changed is compiled again, which is quick; packages are fetched again for another list of them.
  const isInstalled = client.isCompiled !== true && existsSync(mark) && readFileSync(mark, 'utf8') === packages
  if (!isInstalled) {
    rmSync(mark, { force: true })
    for (const command of client.install) if (!(await run(command))) return result('failed', 'install')
    writeFileSync(mark, packages)
  }
  const database = postgres === undefined ? undefined : await startPostgres(postgres)
  if (database !== undefined) env.POSTGRES_URL = database.url
  const isGreen = await run(client.run)
  database?.stop()
  return result(isGreen ? 'passed' : 'failed', `${((performance.now() - beginMs) / 1_000).toFixed(0)} s`)
}
