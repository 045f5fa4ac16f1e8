import { execFile, spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { DEVNET_ACCOUNTS } from '../src/cli/devnetAccounts.ts'
import { toBech32, toChecksumAddress } from '../src/primitives/address.ts'

/**
 * Builds the images and runs them for real: a validator from variables alone with an explorer, then four validators and a full node that
 * joins them.
 * Containers, volumes and the network that it makes are removed at its end.
 *
 * usage: node scripts/dockerTest.ts        needs Docker; with Docker Compose docker/compose.yaml is what runs
 * DOCKER_BUILD_OPTIONS: further options of `docker build`, separated by spaces
 */

const run = promisify(execFile)
const ROOT = new URL('..', import.meta.url).pathname
const PROJECT = `coind-test-${process.pid}`
/** Docker chooses the ports of this machine: the usual ones may be taken. */
const ENVIRONMENT = { ...process.env, RPC_PORT: '0', FULLNODE_RPC_PORT: '0' }
const IMAGE = 'coind'
const EXPLORER_IMAGE = 'coind-explorer'
const HOME = '/var/lib/coind'
const VALIDATORS = ['validator0', 'validator1', 'validator2', 'validator3']
const FULL_NODE = 'fullnode'
const [HOLDER, RECEIVER] = [DEVNET_ACCOUNTS[0]!, toBech32(DEVNET_ACCOUNTS[1]!.address)]
const WALLET = toChecksumAddress(HOLDER.address)
/** How long anything may take on a slow machine. */
const PATIENCE_MS = 180_000
/** A stopped node must be gone before Docker would kill it. */
const STOP_SECONDS = 30

async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('docker', args, { cwd: ROOT, env: ENVIRONMENT, maxBuffer: 64 * 1024 * 1024 })
  return stdout.trim()
}

function check(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem)
}

/** Sends a request to a container's own RPC port, or another one, and returns the JSON. */
async function ask<T>(container: string, path: string, body?: object, port = 8080): Promise<T> {
  const options =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const url = `http://127.0.0.1:${port}/${path}`
  const code = `console.log(await (await fetch(${JSON.stringify(url)}, ${JSON.stringify(options)})).text())`
  return JSON.parse(await docker('exec', container, 'node', '--input-type=module', '-e', code))
}

interface Status {
  readonly result: {
    readonly node_info: { readonly id: string }
    readonly sync_info: { readonly latest_block_height: string; readonly catching_up: boolean }
  }
}

async function rpc<T>(container: string, method: string, params: readonly unknown[] = []): Promise<T> {
  const { result } = await ask<{ result: T }>(container, '', { jsonrpc: '2.0', id: 1, method, params })
  return result
}

async function heightOf(container: string): Promise<number> {
  return Number((await ask<Status>(container, 'rpc/status')).result.sync_info.latest_block_height)
}

async function hashOf(container: string, height: number): Promise<string | undefined> {
  const block = await rpc<{ hash: string } | null>(container, 'eth_getBlockByNumber', [
    `0x${height.toString(16)}`,
    false,
  ])
  return block?.hash
}

/** Waits until `condition` holds. A container that does not answer yet counts as false; one that has ended ends the wait. */
async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  let problem: unknown
  while (Date.now() < deadline) {
    try {
      if (await condition()) return
      problem = undefined
    } catch (error) {
      problem = error
      if (/is not running/.test((error as Error).message)) break
    }
    await sleep(500)
  }
  throw new Error(`it did not come true in time: ${what}`, { cause: problem })
}

async function stop(container: string): Promise<void> {
  const startMs = Date.now()
  await docker('stop', '--time', String(STOP_SECONDS), container)
  const code = await docker('inspect', '--format', '{{.State.ExitCode}}', container)
  check(code === '0', `${container} ended with the code ${code}`)
  console.log(`  ${container} stopped in ${((Date.now() - startMs) / 1000).toFixed(1)} s with the code 0`)
}

/** Tests a validator of a new chain, as the README describes it. */
async function testValidator(): Promise<void> {
  const name = `${PROJECT}-single`
  const volume = `${name}-data`
  console.log('a validator from variables')
  try {
    const variables = ['NETWORK=testnet', 'MONIKER=single', `GENESIS_WALLET=${WALLET}`, 'RPC_JS_TRACERS=true'].flatMap(
      (line) => ['-e', line],
    )
    await docker('run', '-d', '--name', name, '-v', `${volume}:${HOME}`, '-p', '127.0.0.1::8080', ...variables, IMAGE)
    await until('it has decided three blocks', async () => (await heightOf(name)) >= 3)
    const balance = await rpc<string>(name, 'eth_getBalance', [WALLET, 'latest'])
    check(balance === '0x33b2e3c9fd0803ce8000000', `GENESIS_WALLET holds ${balance}`)
    check((await docker('exec', name, 'id', '-u')) !== '0', 'it runs as root')
    await testPackages(name)
    await testAccountCommands(name)
    await until('its port is open outside', async () => {
      const address = (await docker('port', name, '8080')).split('\n')[0]!
      return (await fetch(`http://${address}/health`)).ok
    })
    await until('Docker calls it healthy', async () => {
      return (await docker('inspect', '--format', '{{.State.Health.Status}}', name)) === 'healthy'
    })
    await testExplorer(name)
    const [height, hash] = [await heightOf(name), await hashOf(name, 1)]
    await stop(name)
    await docker('start', name)
    await until('it continues after its restart', async () => (await heightOf(name)) > height)
    check((await hashOf(name, 1)) === hash, 'the restart began another chain')
    await stop(name)
    // The keys and the chain are in the volume, not in the container.
    await docker('rm', name)
    await docker('run', '-d', '--name', name, '-v', `${volume}:${HOME}`, ...variables, IMAGE)
    await until('a new container continues with its volume', async () => (await heightOf(name)) > height)
    check((await hashOf(name, 1)) === hash, 'the new container began another chain')
    check(
      (await docker('exec', name, 'coind', 'keys', 'show', 'holder')).includes(WALLET),
      'the account key is missing',
    )
    await stop(name)
  } catch (error) {
    console.log(await lastLines(name))
    throw error
  } finally {
    await remove([name], [volume])
  }
}

/** Tests the packages that the image has next to the bundle. */
async function testPackages(name: string): Promise<void> {
  const tracer = '{ fault: () => 0, step: () => 0, result: () => bigInt(2).pow(80).toString() }'
  const traced = await rpc<string>(name, 'debug_traceCall', [{ from: WALLET, to: WALLET }, 'latest', { tracer }])
  check(traced === String(2n ** 80n), `a tracer in JavaScript gave ${traced}`)
  const read = "console.log(fs.statSync(url.fileURLToPath(import.meta.resolve('solc/soljson.js'))).size)"
  const head = "import fs from 'node:fs'; import url from 'node:url';"
  const evaluated = ['node', '--input-type=module', '-e', `${head} ${read}`]
  const size = await docker('exec', '-w', '/app', name, ...evaluated)
  check(Number(size) > 1_000_000, `solc has ${size} bytes`)
}

/** Tests an explorer of this node's chain, in its network. */
async function testExplorer(node: string): Promise<void> {
  const name = `${node}-explorer`
  const volume = `${name}-data`
  const options = ['--network', `container:${node}`, '-e', 'EXPLORER_NODE_URL=http://127.0.0.1:8080/']
  try {
    await docker('run', '-d', '--name', name, '-v', `${volume}:${HOME}`, ...options, EXPLORER_IMAGE)
    await until('the explorer has indexed three blocks', async () => {
      return ((await ask<{ readonly height: number | null }>(name, 'health', undefined, 8090)).height ?? 0) >= 3
    })
    const holder = await ask<{ readonly balance: string }>(name, `api/v1/addresses/${WALLET}`, undefined, 8090)
    check(BigInt(holder.balance) < 10n ** 27n, `the index says that GENESIS_WALLET holds ${holder.balance}`)
    await until('Docker calls the explorer healthy', async () => {
      return (await docker('inspect', '--format', '{{.State.Health.Status}}', name)) === 'healthy'
    })
    await stop(name)
  } catch (error) {
    console.log(await lastLines(name))
    throw error
  } finally {
    await remove([name], [volume])
  }
}

/** Tests commands in the node's container: they find its port and store their keys in the volume. */
async function testAccountCommands(name: string): Promise<void> {
  const secrets = ['-e', 'COIND_KEY_PASSWORD=correct horse', '-e', `COIND_PRIVATE_KEY=${HOLDER.privateKey}`]
  await docker('exec', ...secrets, name, 'coind', 'keys', 'import', 'holder')
  const sent = await docker(
    'exec',
    ...secrets.slice(0, 2),
    name,
    'coind',
    ...`tx bank send ${RECEIVER} 1COIN --from holder`.split(' '),
  )
  check((JSON.parse(sent) as { readonly code: number }).code === 0, `a native transfer gave ${sent}`)
  const balance = await ask<object>(name, `cosmos/bank/v1beta1/balances/${RECEIVER}/by_denom?denom=acoin`)
  check(JSON.stringify(balance).includes('"1000000000000000000"'), `the receiver has ${JSON.stringify(balance)}`)
  console.log(`  ${await docker('exec', name, 'coind', 'debug', 'invariants')}`)
}

/** Makes and removes the network of docker/compose.yaml. */
interface Network {
  up(): Promise<void>
  down(): Promise<void>
  /** name of a service's container */
  containerOf(service: string): string
}

function composeNetwork(): Network {
  const compose = ['compose', '-p', PROJECT, '-f', 'docker/compose.yaml']
  return {
    // Not the explorer, whose PostgreSQL is an image of others.
    up: async () => void (await docker(...compose, 'up', '-d', '--no-build', ...VALIDATORS, FULL_NODE)),
    down: async () => void (await docker(...compose, 'down', '-v', '--timeout', String(STOP_SECONDS))),
    containerOf: (service) => `${PROJECT}-${service}-1`,
  }
}

/** Makes the same network without Docker Compose. */
function plainNetwork(): Network {
  const containerOf = (service: string): string => `${PROJECT}-${service}`
  const [volume, joinedVolume] = [`${PROJECT}-network`, `${PROJECT}-joined`]
  const onNetwork = (service: string) => [
    '--name',
    containerOf(service),
    '--network',
    PROJECT,
    '--network-alias',
    service,
  ]
  return {
    containerOf,
    up: async () => {
      await docker('network', 'create', PROJECT)
      const options = ['--validators', '4', '--hostname-prefix', 'validator', '--output-dir', HOME]
      await docker('run', '--rm', '-v', `${volume}:${HOME}`, IMAGE, 'testnet', ...options)
      for (const service of VALIDATORS) {
        const home = `${HOME}/${service}`
        const options = ['-v', `${volume}:${HOME}`, '-w', home, '-e', `HOMEDIR=${home}`]
        await docker('run', '-d', ...onNetwork(service), ...options, IMAGE)
      }
      await until('the seed answers', async () => (await heightOf(containerOf(VALIDATORS[0]!))) >= 1)
      const options2 = ['-v', `${volume}:/network:ro`, '-v', `${joinedVolume}:${HOME}`, '-e', 'MONIKER=fullnode']
      const script = 'set -a && . /network/join.env && exec coind start'
      await docker('run', '-d', ...onNetwork(FULL_NODE), ...options2, '--entrypoint', 'sh', IMAGE, '-c', script)
    },
    down: async () => {
      await remove([...VALIDATORS, FULL_NODE].map(containerOf), [volume, joinedVolume])
      await docker('network', 'rm', PROJECT)
    },
  }
}

async function testNetwork(network: Network): Promise<void> {
  const all = [...VALIDATORS, FULL_NODE].map((service) => network.containerOf(service))
  const [seed, fullNode] = [all[0]!, all[4]!]
  try {
    await network.up()
    await until('all five have ten blocks', async () => Math.min(...(await Promise.all(all.map(heightOf)))) >= 10)
    await equalHashes(all, 10)
    await until('the full node has caught up', async () => {
      return !(await ask<Status>(fullNode, 'rpc/status')).result.sync_info.catching_up
    })
    check(
      (await rpc(fullNode, 'eth_syncing')) === false,
      'the full node has caught up, but eth_syncing does not say so',
    )
    await until('all know each other', async () => (await rpc(seed, 'net_peerCount')) === '0x4')

    console.log('  one validator and the full node stop, and come back')
    const last = all[3]!
    await stop(last)
    await stop(fullNode)
    const height = await heightOf(seed)
    await until('three validators continue', async () => (await heightOf(seed)) >= height + 5)
    await docker('start', last)
    await docker('start', fullNode)
    await until('both have caught up', async () => {
      const target = await heightOf(seed)
      return Math.min(await heightOf(last), await heightOf(fullNode)) >= Math.max(target - 2, height + 5)
    })
    await equalHashes(all, height + 5)
    for (const container of all) await stop(container)
  } catch (error) {
    for (const container of all) console.log(`--- ${container}\n${await lastLines(container)}`)
    throw error
  } finally {
    await network.down()
  }
}

async function equalHashes(containers: readonly string[], height: number): Promise<void> {
  const hashes = await Promise.all(containers.map((container) => hashOf(container, height)))
  check(hashes[0] !== undefined && new Set(hashes).size === 1, `the hashes of block ${height} differ: ${hashes}`)
  console.log(`  block ${height} is ${hashes[0]} on all ${containers.length}`)
}

async function lastLines(container: string): Promise<string> {
  const { stdout, stderr } = await run('docker', ['logs', '--tail', '15', container]).catch((error: Error) => ({
    stdout: '',
    stderr: error.message,
  }))
  return stdout + stderr
}

async function remove(containers: readonly string[], volumes: readonly string[]): Promise<void> {
  await docker('rm', '--force', '--volumes', ...containers)
  await docker('volume', 'rm', '--force', ...volumes)
}

const buildOptions = (process.env.DOCKER_BUILD_OPTIONS ?? '').split(' ').filter((option) => option !== '')
console.log('building the image')
await docker('build', ...buildOptions, '-t', IMAGE, '.')
await docker('build', ...buildOptions, '--target', 'explorer', '-t', EXPLORER_IMAGE, '.')
const size = Number(await docker('image', 'inspect', '--format', '{{.Size}}', IMAGE))
console.log(`  ${Math.round(size / 1e6)} MB with its base`)
// It would run its sources otherwise, which start more slowly.
const showEntry = "import('/app/bin/builtNode.js').then(({ builtEntry }) => console.log(builtEntry()?.pathname))"
const entry = await docker('run', '--rm', '--entrypoint', 'node', IMAGE, '-e', showEntry)
check(entry === '/app/dist/node/run.js', `the image does not run its bundle (${entry})`)
await testValidator()
const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0
console.log(
  `four validators and a full node, ${hasCompose ? 'by docker/compose.yaml' : 'by docker run (there is no Docker Compose)'}`,
)
await testNetwork(hasCompose ? composeNetwork() : plainNetwork())
console.log('all is well')
