import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { ethers } from 'ethers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { genesisHash, genesisValidators, parseGenesis } from '../../../src/chain/genesis/genesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { createTestnet, type TestnetOptions } from '../../../src/cli/createTestnet.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { loadValidatorKey } from '../../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { loadNodeKey } from '../../../src/p2p/nodeKey.ts'
import { BECH32_OPERATOR, parseAddress, toChecksumAddress } from '../../../src/primitives/address.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const WALLET = parseAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-testnet-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true })
})

/** The same bytes in every run. */
function seeded(): (length: number) => Uint8Array {
  let count = 0
  return (length) => {
    const block = sha256(Uint8Array.of(++count))
    return new Uint8Array([...block, ...block]).slice(0, length)
  }
}

function create(options: Partial<TestnetOptions> = {}) {
  return createTestnet({
    directory: join(directory, 'net'),
    chainId: 'coin_76287-1',
    validators: 3,
    placement: { kind: 'machine', startingPort: 27_000 },
    wallet: WALLET,
    selfDelegationAcoin: 5n * 10n ** 18n,
    genesisTimeMs: Date.UTC(2026, 5, 1),
    randomBytes: seeded(),
    ...options,
  })
}

function operatorsOf(genesis: Genesis): readonly string[] {
  return genesis.app_state.staking.validators.map((validator) =>
    toChecksumAddress(parseAddress(validator.operator_address, BECH32_OPERATOR)),
  )
}

function configOf(home: string) {
  return loadConfig({ flags: {}, environment: {}, dotenv: parseEnv(readFileSync(join(home, '.env'), 'utf8')) }, '/root')
}

describe('createTestnet', () => {
  it('gives every node the same genesis, which holds the keys that the nodes have', () => {
    const { nodes, genesisHash: hash } = create({ fullNodes: 1 })
    expect(nodes.map(({ isValidator }) => isValidator)).toEqual([true, true, true, false])
    const texts = nodes.map(({ home }) => readFileSync(dataPaths(home).genesis, 'utf8'))
    expect(new Set(texts).size).toBe(1)
    const genesis = parseGenesis(texts[0]!)
    expect(bytesToHex(genesisHash(genesis))).toBe(`0x${hash}`)
    const keys = nodes.map(({ home }) => loadValidatorKey(dataPaths(home).validatorKey)!.publicKey)
    expect(genesisValidators(genesis).map(({ publicKey }) => publicKey)).toEqual(keys.slice(0, 3))
    expect(genesisValidators(genesis).map(({ power }) => power)).toEqual([5n, 5n, 5n])
    expect(nodes.map(({ nodeId }) => nodeId)).toEqual(nodes.map(({ home }) => loadNodeKey(dataPaths(home).nodeKey)!.id))
  })

  it('writes variables with which the nodes find one another on this machine', () => {
    const { nodes, genesisHash: hash } = create()
    const configs = nodes.map(({ home }) => configOf(home))
    const ports = configs.flatMap(({ rpc, p2p, metrics }) => [rpc.port, p2p.port, metrics.port])
    expect(new Set(ports).size).toBe(9)
    for (const [index, config] of configs.entries()) {
      expect(config.homedir).toBe(nodes[index]!.home)
      expect(config.chainId).toBe('coin_76287-1')
      expect(bytesToHex(config.genesis.hash!)).toBe(`0x${hash}`)
      expect(config.p2p.externalAddress).toBe(`127.0.0.1:${config.p2p.port}`)
      const others = nodes.filter((_, other) => other !== index)
      expect(config.p2p.persistentPeers).toEqual(
        others.map(({ nodeId, peerAddress }) => ({ id: nodeId, address: peerAddress })),
      )
    }
  })

  it('names hosts and leaves data directory and ports to the containers', () => {
    const { nodes, joinFile } = create({ placement: { kind: 'hosts', prefix: 'validator' } })
    expect(nodes[2]!.home).toBe(join(directory, 'net', 'validator2'))
    expect(nodes[2]!.variables).toMatchObject({
      MONIKER: 'validator2',
      EXTERNAL_P2P_ADDRESS: 'validator2:26656',
      PERSISTENT_PEERS: `${nodes[0]!.nodeId}@validator0:26656,${nodes[1]!.nodeId}@validator1:26656`,
    })
    expect(Object.keys(nodes[2]!.variables)).not.toContain('HOMEDIR')
    expect(configOf(nodes[2]!.home).rpc.port).toBe(8080)
    const joining = loadConfig(
      { flags: {}, environment: {}, dotenv: parseEnv(readFileSync(joinFile, 'utf8')) },
      '/root',
    ).joining
    expect(joining).toMatchObject({
      isJoining: true,
      seedNodeUrl: 'http://validator0:8080',
      seedNodeId: nodes[0]!.nodeId,
      seedPeerHost: 'validator0:26656',
    })
  })

  it('keeps an operator key for each validator but the first, whose operator is the wallet', () => {
    const { nodes, walletFile } = create()
    expect(walletFile).toBeUndefined()
    const genesis = parseGenesis(readFileSync(dataPaths(nodes[0]!.home).genesis, 'utf8'))
    const operators = operatorsOf(genesis)
    expect(operators[0]).toBe(toChecksumAddress(WALLET))
    for (const index of [1, 2]) {
      const path = join(dataPaths(nodes[index]!.home).config, 'operator_key.json')
      const { address, private_key } = JSON.parse(readFileSync(path, 'utf8'))
      expect(address).toBe(operators[index])
      expect(new ethers.Wallet(private_key).address).toBe(address)
      expect(statSync(path).mode & 0o777).toBe(0o600)
    }
  })

  it('makes a wallet where none is given', () => {
    const { nodes, walletFile } = create({ wallet: undefined })
    const { private_key } = JSON.parse(readFileSync(walletFile!, 'utf8'))
    const genesis = parseGenesis(readFileSync(dataPaths(nodes[0]!.home).genesis, 'utf8'))
    const operator = operatorsOf(genesis)[0]
    expect(new ethers.Wallet(private_key).address).toBe(operator)
  })

  it('writes nothing into a directory that holds something', () => {
    writeFileSync(join(directory, 'precious'), '')
    expect(() => create({ directory })).toThrow(/is not empty/)
  })

  it.each(['a #b c', "it's", 'say "x"', 'a=b'])('a path may be odd: %s', (name) => {
    const odd = join(directory, name)
    const { nodes } = create({ directory: odd })
    expect(configOf(nodes[1]!.home).homedir).toBe(join(odd, 'node1'))
  })
})
