// Hyperlane's command line deploys its core on the devnet and on anvil, and a warp route of COIN between them; coins go to anvil and back.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPublicClient, createTestClient, erc20Abi, http, parseAbi, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const { RPC_URL, CHAIN_ID, PRIVATE_KEY, PORT } = process.env
const ANVIL_ID = 31337
const ANVIL_URL = `http://127.0.0.1:${PORT}`
const REGISTRY = 'registry'
const ROUTE = 'COIN/coind'
const account = privateKeyToAccount(PRIVATE_KEY)
const sent = parseEther('3')
const returned = parseEther('1')
const coind = createPublicClient({ transport: http(RPC_URL) })
const anvil = createPublicClient({ transport: http(ANVIL_URL) })

rmSync(REGISTRY, { recursive: true, force: true })
const second = spawn('anvil', ['--silent', '--port', PORT, '--chain-id', String(ANVIL_ID)], { stdio: 'inherit' })
const exited = once(second, 'exit')
try {
  await untilServing()
  const test = createTestClient({ mode: 'anvil', transport: http(ANVIL_URL) })
  await test.setBalance({ address: account.address, value: parseEther('100') })
  describe('coind', Number(CHAIN_ID), RPC_URL, 'COIN')
  describe('anvil', ANVIL_ID, ANVIL_URL, 'ETH')
  deployCore()
  await relay()
  writeAgentConfig()
  await bridge()
} finally {
  second.kill()
  await exited
}

/** Runs Hyperlane's command line with a registry of files alone. */
function hyperlane(...args) {
  const common = ['--registry', REGISTRY, '--yes', '--verbosity', 'info']
  const env = { ...process.env, HYP_KEY: PRIVATE_KEY, HOME: process.cwd() }
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/hyperlane', [...args, ...common], {
    encoding: 'utf8',
    env,
    maxBuffer: 2 ** 26,
  })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

/** JSON is YAML, too. */
function write(path, value) {
  const full = `${REGISTRY}/${path}`
  mkdirSync(full.slice(0, full.lastIndexOf('/')), { recursive: true })
  writeFileSync(full, JSON.stringify(value))
  return full
}

function describe(name, chainId, url, symbol) {
  write(`chains/${name}/metadata.yaml`, {
    ...{ name, displayName: name, chainId, domainId: chainId, protocol: 'ethereum', isTestnet: true },
    rpcUrls: [{ http: url }],
    nativeToken: { name: symbol, symbol, decimals: 18 },
    // A decided block is final.
    blocks: { confirmations: 1, reorgPeriod: 0, estimateBlockTime: 1 },
  })
}

function deployCore() {
  const owner = account.address
  const config = write('core-config.yaml', {
    owner,
    // Messages count when this account relays them, so that no validators of Hyperlane need to run.
    defaultIsm: { type: 'trustedRelayerIsm', relayer: owner },
    defaultHook: { type: 'merkleTreeHook' },
    requiredHook: {
      ...{ type: 'protocolFee', owner, beneficiary: owner },
      ...{ maxProtocolFee: String(parseEther('1')), protocolFee: '0' },
    },
  })
  for (const chain of ['coind', 'anvil']) hyperlane('core', 'deploy', '--chain', chain, '--config', config)
  console.log('the core on both chains')
}

/** A message that is relayed as it is sent, and one that waits and is relayed later. */
async function relay() {
  const isDelivered = (output) =>
    anvil.readContract({
      ...{ address: mailboxOf('anvil'), abi: parseAbi(['function delivered(bytes32) view returns (bool)']) },
      ...{ functionName: 'delivered', args: [output.match(/Message ID: (0x[0-9a-f]{64})/)[1]] },
    })
  const way = ['--origin', 'coind', '--destination', 'anvil']
  assert.equal(await isDelivered(hyperlane('send', 'message', '--relay', ...way)), true)
  const waiting = hyperlane('send', 'message', '--quick', ...way)
  assert.equal(await isDelivered(waiting), false)
  const [, id] = waiting.match(/Message ID: (0x[0-9a-f]{64})/)
  hyperlane('status', '--relay', '--origin', 'coind', '--id', id)
  assert.equal(await isDelivered(waiting), true)
  console.log('messages that are relayed at once and later')
}

/** The configuration of Hyperlane's validators and relayers. */
function writeAgentConfig() {
  const path = `${REGISTRY}/agent-config.json`
  hyperlane('registry', 'agent-config', '--chains', 'coind', 'anvil', '--out', path)
  const { chains } = JSON.parse(readFileSync(path, 'utf8'))
  assert.deepEqual(Object.keys(chains).toSorted(), ['anvil', 'coind'])
  for (const [name, { mailbox }] of Object.entries(chains)) assert.equal(mailbox, mailboxOf(name))
  console.log('the configuration of its agents')
}

function mailboxOf(chain) {
  const addresses = readFileSync(`${REGISTRY}/chains/${chain}/addresses.yaml`, 'utf8')
  return addresses.match(/^mailbox: "?(0x[0-9a-fA-F]{40})/m)[1]
}

async function bridge() {
  write(`deployments/warp_routes/${ROUTE}-deploy.yaml`, {
    coind: { type: 'native', owner: account.address },
    anvil: { type: 'synthetic', owner: account.address, name: 'COIN', symbol: 'COIN', decimals: 18 },
  })
  hyperlane('warp', 'deploy', '--id', ROUTE)
  const config = readFileSync(`${REGISTRY}/deployments/warp_routes/${ROUTE}-config.yaml`, 'utf8')
  const addressOf = (chain) =>
    config
      .split(/^ {2}- /m)
      .find((token) => token.includes(`chainName: ${chain}`))
      .match(/addressOrDenom: "?(0x[0-9a-fA-F]{40})/)[1]
  const [locked, wrapped] = [addressOf('coind'), addressOf('anvil')]
  const send = (origin, destination, amount, recipient) =>
    hyperlane(
      ...['warp', 'send', '--relay', '--id', ROUTE, '--origin', origin, '--destination', destination],
      ...['--amount', String(amount), '--recipient', recipient],
    )
  const wrappedOf = (address) =>
    anvil.readContract({ address: wrapped, abi: erc20Abi, functionName: 'balanceOf', args: [address] })

  send('coind', 'anvil', sent, account.address)
  assert.equal(await coind.getBalance({ address: locked }), sent)
  assert.equal(await wrappedOf(account.address), sent)
  console.log('a warp route: COIN locked here, its like minted on anvil')

  const receiver = privateKeyToAccount(generatePrivateKey()).address
  send('anvil', 'coind', returned, receiver)
  assert.equal(await coind.getBalance({ address: receiver }), returned)
  assert.equal(await coind.getBalance({ address: locked }), sent - returned)
  assert.equal(await wrappedOf(account.address), sent - returned)
  console.log('the way back: burnt on anvil, COIN paid here')
}

async function untilServing() {
  while (second.exitCode === null) {
    try {
      await anvil.getChainId()
      return
    } catch {
      await sleep(100)
    }
  }
  throw new Error(`anvil ended with ${second.exitCode}`)
}
