import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Abi, createWalletClient, type Hex, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningExplorer } from '../../../explorer/startExplorer.ts'
import { INSTALLED_COMPILER } from '../../../explorer/verify/compilers.ts'
import { ACCOUNTS, CHAIN_ID, GWEI, KEYS, viemChain } from '../devChain.ts'
import { startQuickDevnet } from '../quickDevnet.ts'
import { mined } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { startTestExplorer } from './startTestExplorer.ts'

/*
 * Tools as people have them verify contracts at the explorer: forge, cast, Hardhat. Long: for `npm run test:long`, which has npm install
 * forge and Hardhat for itself (verifyTools/package.json): they are a quarter of a gigabyte. The tools would download
 * solc, and look up its version, from binaries.soliditylang.org; here they get the installed one, and what they ask of that host is
 * answered on this machine.
 */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const BIN = join(ROOT, 'node_modules/.bin')
const TOOLS = fileURLToPath(new URL('verifyTools', import.meta.url))
/** How long npm may take to download them. */
const INSTALL_MS = 600_000
const SOLC_HOST = 'binaries.soliditylang.org'
const VERSION = INSTALLED_COMPILER.version
const SHORT_VERSION = VERSION.split('+')[0]!
const OPENSSL = spawnSync('openssl', ['version']).status === 0

const SUM = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
library Sum { function add(uint256 a, uint256 b) public pure returns (uint256) { return a + b; } }
`
const VAULT = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
import {Sum} from "./Sum.sol";
contract Child { uint256 public y = 7; }
contract Vault {
  uint256 public immutable limit;
  address public immutable owner;
  Child public child;
  string public note;
  constructor(uint256 limit_, string memory note_) { limit = limit_; owner = msg.sender; note = note_; child = new Child(); }
  function more(uint256 x) external view returns (uint256) { return Sum.add(x, limit); }
}
`
/** solc as a program for forge, which knows the native one alone. */
const SOLC_PROGRAM = `#!${process.execPath}
const solc = require(${JSON.stringify(join(ROOT, 'node_modules/solc'))})
if (process.argv.includes('--version')) console.log('solc\\nVersion: ' + solc.version())
else process.stdout.write(solc.compile(require('node:fs').readFileSync(0, 'utf8')))
`

let node: TestNode
let explorer: RunningExplorer
let directory: string
let tools: string
let hardhat: string
let proxy: Server
let nonce = 0

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-verify-tools-'))
  tools = join(directory, 'tools')
  cpSync(TOOLS, tools, { recursive: true })
  // By the project's own Node.js: npm leaves out Hardhat's EVM on one older than 22.
  const env = { ...process.env, PATH: `${BIN}:${process.env.PATH}` }
  await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: tools, env })
  hardhat = join(tools, 'hardhat')
  node = await startQuickDevnet()
  explorer = await startTestExplorer(node.url, directory, { EXPLORER_COMPILER_CACHE: join(directory, 'compilers') })
}, INSTALL_MS)
afterAll(async () => {
  explorer.stop()
  await explorer.ended
  await node.stop()
  proxy?.close()
  rmSync(directory, { recursive: true })
})

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Runs a tool with nothing of our own environment; what it prints. */
async function run(program: string, args: readonly string[], cwd: string, environment: Record<string, string> = {}) {
  const env = { PATH: `${BIN}:/usr/bin:/bin`, HOME: join(directory, 'home'), CI: 'true', ...environment }
  const bin = program === 'cast' ? BIN : join(tools, 'node_modules/.bin')
  const { stdout, stderr } = await promisify(execFile)(join(bin, program), args, { cwd, env, timeout: 100_000 })
  return stdout + stderr
}

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
const get = async (path: string): Promise<any> => (await fetch(new URL(path, explorer.url))).json()
const matchOf = (address: string) => get(`v2/contract/${CHAIN_ID}/${address}`)

/** Waits until the index has the contract: a tool would be told that there is none. */
async function indexed(address: string): Promise<void> {
  while ((await get(`api/v1/contracts/${address}`)).creation !== 'known')
    await new Promise((next) => setTimeout(next, 100))
}

async function deploy(artifact: { abi: Abi; bytecode: Hex }, args: readonly unknown[]): Promise<Hex> {
  const writer = createWalletClient({ chain: viemChain(node.url), transport: http(node.url), account: ACCOUNTS[3]! })
  const fees = { gas: 4_000_000n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI, nonce: nonce++ }
  const { contractAddress } = await mined(node.url, await writer.deployContract({ ...artifact, args, ...fees }))
  await indexed(contractAddress!)
  return contractAddress!
}

const EXACT = { match: 'exact_match', runtimeMatch: 'exact_match', creationMatch: 'exact_match' }

describe.runIf(OPENSSL)('forge and cast', () => {
  let project: string
  let environment: Record<string, string>
  let sum: string
  let vault: string

  beforeAll(async () => {
    project = join(directory, 'forge')
    write(join(project, 'src/Sum.sol'), SUM)
    write(join(project, 'src/Vault.sol'), VAULT)
    const solc = join(directory, `home/.svm/${SHORT_VERSION}/solc-${SHORT_VERSION}`)
    chmodSync(write(solc, SOLC_PROGRAM), 0o755)
    configure()
    environment = await answerForSolcHost()
    sum = await create('src/Sum.sol:Sum')
    vault = await create('src/Vault.sol:Vault', '--libraries', library(), '--constructor-args', '42', 'a note')
  })

  /** With a section for Etherscan forge takes that also where Sourcify is asked for. */
  function configure(explorerUrl?: string): void {
    const solc = join(directory, `home/.svm/${SHORT_VERSION}/solc-${SHORT_VERSION}`)
    const own = `[profile.default]\nsolc = ${JSON.stringify(solc)}\noptimizer = true\n`
    const section =
      explorerUrl === undefined
        ? ''
        : `[etherscan]\ncoin = { key = "x", chain = ${CHAIN_ID}, url = "${explorerUrl}" }\n`
    write(join(project, 'foundry.toml'), own + section)
  }
  const library = (): string => `src/Sum.sol:Sum:${sum}`

  async function create(...args: readonly string[]): Promise<string> {
    const own = ['--offline', '--root', '.', '--rpc-url', node.url, '--private-key', KEYS[4]!, '--broadcast']
    const text = await run('forge', ['create', ...own, ...args], project)
    const [, address] = /Deployed to: (0x[0-9a-fA-F]{40})/.exec(text) ?? []
    await indexed(address!)
    return address!
  }

  const verify = (...args: readonly string[]) => {
    const own = ['--root', '.', '--compiler-version', VERSION, '--chain', String(CHAIN_ID), '--rpc-url', node.url]
    return run('forge', ['verify-contract', ...own, '--watch', '--delay', '1', ...args], project, environment)
  }

  /** A proxy that answers for the host of solc's releases, and the certificate that its clients trust. */
  async function answerForSolcHost(): Promise<Record<string, string>> {
    const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
    const subject = ['-subj', `/CN=${SOLC_HOST}`, '-addext', `subjectAltName=DNS:${SOLC_HOST}`]
    const kind = ['-addext', 'basicConstraints=critical,CA:FALSE', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
    await promisify(execFile)('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', certificate])
    const tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (_request, response) =>
      response.end(`soljson-v${VERSION}.js\n`),
    )
    proxy = createServer()
    proxy.on('connect', (_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      tls.emit('connection', socket)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    return { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, SSL_CERT_FILE: certificate }
  }

  it("verify a library at Sourcify's API", async () => {
    const text = await verify('--verifier', 'sourcify', '--verifier-url', explorer.url, sum, 'src/Sum.sol:Sum')
    expect(text).toContain('Status: `exact_match`')
    expect(await matchOf(sum)).toMatchObject(EXACT)
    const again = await verify('--verifier', 'sourcify', '--verifier-url', explorer.url, sum, 'src/Sum.sol:Sum')
    expect(again).toContain('already verified')
  })

  it("verify a contract with a library, immutables and arguments at Etherscan's, and read its source", async () => {
    const api = `${explorer.url}api`
    configure(api)
    const flags = [
      '--verifier',
      'etherscan',
      '--verifier-url',
      api,
      '--libraries',
      library(),
      '--guess-constructor-args',
    ]
    expect(await verify(...flags, vault, 'src/Vault.sol:Vault')).toContain('Contract successfully verified')
    expect(await matchOf(vault)).toMatchObject(EXACT)
    expect(await verify(...flags, vault, 'src/Vault.sol:Vault')).toContain('already verified')
    const explorerFlags = [
      '--chain',
      String(CHAIN_ID),
      '--explorer-api-url',
      api,
      '--explorer-url',
      explorer.url,
      '-e',
      'x',
    ]
    const text = await run('cast', ['source', ...explorerFlags, vault], project)
    expect(text).toContain(VAULT.trim())
    expect(text).toContain(SUM.trim())

    const ofChain = ['--chain', String(CHAIN_ID)]
    expect(await run('cast', ['interface', ...ofChain, vault], project)).toContain('function more(uint256 x)')
    const ofNode = [...ofChain, '--rpc-url', node.url, vault]
    const { creationBytecode } = await get(`v2/contract/${CHAIN_ID}/${vault}?fields=all`)
    expect(await run('cast', ['creation-code', ...ofNode], project)).toContain(creationBytecode.onchainBytecode)
    expect(await run('cast', ['artifact', ...ofNode], project)).toContain('"name": "more"')
  })

  it('find other sources to be no match, or a partial one', async () => {
    configure(`${explorer.url}api`)
    const other = await create('src/Vault.sol:Vault', '--libraries', library(), '--constructor-args', '43', 'another')
    const flags = ['--verifier', 'etherscan', '--verifier-url', `${explorer.url}api`, '--libraries', library()]
    write(join(project, 'src/Vault.sol'), VAULT.replace('x, limit', 'x, 2 * limit'))
    // It ends with exit code 0 even so.
    expect(await verify(...flags, other, 'src/Vault.sol:Vault')).toContain('Fail - Unable to verify')
    write(join(project, 'src/Vault.sol'), `${VAULT}// a comment\n`)
    expect(await verify(...flags, other, 'src/Vault.sol:Vault')).toContain('Contract successfully verified')
    expect(await matchOf(other)).toMatchObject({ match: 'match', runtimeMatch: 'match', creationMatch: 'match' })
    write(join(project, 'src/Vault.sol'), VAULT)
    expect(await verify(...flags, '--skip-is-verified-check', other, 'src/Vault.sol:Vault')).toContain(
      'successfully verified',
    )
    expect(await matchOf(other)).toMatchObject(EXACT)
  })
})

describe("Hardhat's plugin", () => {
  let artifact: { abi: Abi; bytecode: Hex }

  beforeAll(async () => {
    write(join(hardhat, 'package.json'), '{ "name": "verified", "type": "module", "private": true }')
    const source = VAULT.replace('import {Sum} from "./Sum.sol";\n', '').replace('Sum.add(x, limit)', 'x + limit')
    write(join(hardhat, 'contracts/Vault.sol'), source)
    const url = explorer.url.replace(/\/$/, '')
    const etherscan = { name: 'the explorer', url, apiUrl: `${url}/api` }
    const config = {
      solidity: { version: SHORT_VERSION, path: join(ROOT, 'node_modules/solc/soljson.js') },
      networks: { coin: { type: 'http', url: node.url } },
      chainDescriptors: { [CHAIN_ID]: { name: 'coin', blockExplorers: { etherscan } } },
      verify: { etherscan: { apiKey: 'x' }, blockscout: { enabled: false }, sourcify: { enabled: true, apiUrl: url } },
    }
    write(
      join(hardhat, 'hardhat.config.ts'),
      `import verify from '@nomicfoundation/hardhat-verify'\nexport default { plugins: [verify], ...${JSON.stringify(config)} }\n`,
    )
    await run('hardhat', ['build', '--build-profile', 'production'], hardhat)
    artifact = JSON.parse(readFileSync(join(hardhat, 'artifacts/contracts/Vault.sol/Vault.json'), 'utf8'))
  })

  it.each(['etherscan', 'sourcify'])('verifies a contract at the API of %s', async (provider) => {
    const address = await deploy(artifact, [provider.length, provider])
    const args = ['verify', provider, '--network', 'coin', address, String(provider.length), provider]
    expect(await run('hardhat', args, hardhat)).toContain('Contract verified successfully')
    expect(await matchOf(address)).toMatchObject(EXACT)
    expect(await run('hardhat', args, hardhat)).toContain('has already been verified')
  })
})
