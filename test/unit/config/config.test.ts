import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EXPLORER_VARIABLES } from '../../../explorer/config/variables.ts'
import { configurationPage, dotenvExample } from '../../../scripts/configurationDocs.ts'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { ConfigError } from '../../../src/config/configError.ts'
import type { RawValues } from '../../../src/config/settings.ts'
import { checkFreshGenesis, checkJoining, checkRestore } from '../../../src/config/startRules.ts'
import { VARIABLES } from '../../../src/config/variables.ts'
import { parseAddress, toBech32 } from '../../../src/primitives/address.ts'
import { codePoint } from '../../codePoint.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

function load(environment: RawValues, flags: RawValues = {}, dotenv: RawValues = {}): Config {
  return loadConfig({ flags, environment, dotenv }, '/home/someone')
}

function problemOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  throw new Error('nothing was thrown')
}

describe('loadConfig', () => {
  it('has the defaults of the documents', () => {
    const config = load({})
    expect(config).toMatchObject({
      network: 'mainnet',
      chainId: 'coin_7628-1',
      evmChainId: 7628n,
      homedir: '/home/someone/.coind',
      rpc: { host: '0.0.0.0', port: 8080, corsOrigins: ['*'] },
      p2p: { host: '0.0.0.0', port: 26656, persistentPeers: [], maxPeers: 64 },
      metrics: { host: '127.0.0.1', port: 9464 },
      pruning: 50_000,
      blockHistory: 0,
      genesis: { wallet: undefined, selfDelegationAcoin: 10n ** 24n, hash: undefined },
      evmEngine: 'wasm',
      log: { level: 'info', format: 'auto' },
    })
    expect(config.rpc.limits).toEqual({
      callGas: 50_000_000n,
      callTimeoutMs: 5000,
      logBlockRange: 10_000,
      logResults: 10_000,
      feeCapAcoin: 10n ** 18n,
      acceptsUnprotected: false,
      batchItems: 1000,
      responseBytes: 25_000_000,
      requestBytes: 5_242_880,
    })
  })

  it.each([
    ['mainnet', 'coin_7628-1', 7628n],
    ['testnet', 'coin_76287-1', 76287n],
    ['devnet', 'coin_76287-1', 76287n],
  ])('%s supplies its chain IDs', (network, chainId, evmChainId) => {
    expect(load({ NETWORK: network })).toMatchObject({ chainId, evmChainId })
  })

  it('takes the EVM chain ID from CHAIN_ID', () => {
    expect(load({ CHAIN_ID: 'other_9001-3' })).toMatchObject({ chainId: 'other_9001-3', evmChainId: 9001n })
  })

  it('prefers flags to the environment and the environment to .env, and takes an empty value for none', () => {
    const dotenv = { RPC_PORT: '1', MONIKER: 'file', LOG_LEVEL: 'debug' }
    const config = load({ RPC_PORT: '2', MONIKER: '', LOG_LEVEL: '  ' }, { RPC_PORT: '3', LOG_LEVEL: '' }, dotenv)
    expect([config.rpc.port, config.moniker, config.log.level]).toEqual([3, 'file', 'debug'])
  })

  it('ignores names that it does not know', () => {
    expect(load({ COIND_RPC_PORT: 'x', RPC_PORTS: 'y' }).rpc.port).toBe(8080)
  })

  it('reads every kind of value', () => {
    const id = 'ab'.repeat(20)
    const config = load({
      GENESIS_WALLET: toBech32(parseAddress(WALLET)),
      GENESIS_SELF_DELEGATION: '12.5',
      GENESIS_HASH: '0A'.repeat(32),
      PERSISTENT_PEERS: `${id}@example.org:26656, ${id}@[::1]:1`,
      SEEDS: `${id}@seed.example:1`,
      PRIVATE_PEER_IDS: `${id},12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X`,
      UNCONDITIONAL_PEER_IDS: id,
      PRUNING: 'archive',
      TRUSTED_PROXIES: '192.0.2.1, 10.0.0.0/8,::1,2001:db8::/32',
      RPC_CORS_ORIGINS: 'https://app.example,moz-extension://1234',
      RPC_TX_FEE_CAP: '0',
      HOMEDIR: 'data',
      JOIN_NETWORK: '1',
    })
    expect(config.genesis.wallet).toEqual(parseAddress(WALLET))
    expect(config.genesis.selfDelegationAcoin).toBe(125n * 10n ** 17n)
    expect(config.genesis.hash).toEqual(new Uint8Array(32).fill(10))
    expect(config.p2p.persistentPeers).toEqual([
      { id, address: 'example.org:26656' },
      { id, address: '[::1]:1' },
    ])
    expect(config.p2p).toMatchObject({
      seeds: [{ id, address: 'seed.example:1' }],
      privatePeerIds: [id, expect.stringMatching(/^12D3/)],
      unconditionalPeerIds: [id],
      exchangesPeers: true,
      isSeed: false,
      isBookStrict: true,
    })
    expect(config.pruning).toBe('archive')
    expect(config.rpc.trustedProxies).toEqual([
      { address: '192.0.2.1', prefix: 32 },
      { address: '10.0.0.0', prefix: 8 },
      { address: '::1', prefix: 128 },
      { address: '2001:db8::', prefix: 32 },
    ])
    expect(config.rpc.corsOrigins).toEqual(['https://app.example', 'moz-extension://1234'])
    expect(config.rpc.limits.feeCapAcoin).toBe(0n)
    expect(config.homedir).toBe(`${process.cwd()}/data`)
    expect(config.joining.isJoining).toBe(true)
  })

  it('reads a trust point, and durations in days or as Go writes them', () => {
    const { joining } = load({ TRUST_HEIGHT: '77', TRUST_HASH: 'Fe'.repeat(32), SYNC_MODE: 'blocks' })
    expect(joining.trustPoint).toEqual({ height: 77, hash: new Uint8Array(32).fill(0xfe) })
    expect(joining).toMatchObject({ syncMode: 'blocks', trustPeriodMs: undefined })
    expect(load({}).joining).toMatchObject({ syncMode: 'auto', trustPoint: undefined })
    const durations = { '14d': 1_209_600_000, '336h': 1_209_600_000, '1h30m': 5_400_000, '1ms': 1, '600s': 600_000 }
    for (const [text, ms] of Object.entries(durations)) {
      expect(load({ TRUST_PERIOD: text }).joining.trustPeriodMs).toBe(ms)
    }
  })

  it('takes the lowest and the highest value of a range', () => {
    expect(load({ RPC_PORT: '1' }).rpc.port).toBe(1)
    expect(load({ RPC_PORT: '65535' }).rpc.port).toBe(65535)
  })

  it('is frozen to the last leaf', () => {
    const frozen = (value: object): boolean =>
      ArrayBuffer.isView(value) ||
      (Object.isFrozen(value) &&
        Object.values(value).every((part) => typeof part !== 'object' || part === null || frozen(part)))
    expect(frozen(load({ GENESIS_WALLET: WALLET, PERSISTENT_PEERS: `${'ab'.repeat(20)}@a:1` }))).toBe(true)
  })

  it.each([
    ['RPC_PORT', 'abc', 'RPC_PORT is "abc": it must be a port from 1 to 65535'],
    ['RPC_PORT', '0', 'RPC_PORT is "0": it must be a port from 1 to 65535'],
    ['RPC_PORT', '65536', 'RPC_PORT is "65536": it must be a port from 1 to 65535'],
    ['RPC_PORT', '1e3', 'RPC_PORT is "1e3": it must be a port from 1 to 65535'],
    ['RPC_THREADS', '9', 'RPC_THREADS is "9": it must be a whole number from 1 to 8'],
    ['NETWORK', 'main', 'NETWORK is "main": it must be mainnet, testnet or devnet'],
    ['GENESIS_WALLET', '0x12', 'GENESIS_WALLET is "0x12": it must be an address: 0x and 40 hex digits, or coin1…'],
    [
      'GENESIS_WALLET',
      '0x70997970C51812dc3A010C7d01b50e0d17dc79c8',
      'GENESIS_WALLET is "0x70997970C51812dc3A010C7d01b50e0d17dc79c8" (a digit or capital letter is wrong: the checksum of EIP-55 does not fit): it must be an address: 0x and 40 hex digits, or coin1…',
    ],
    [
      'GENESIS_WALLET',
      'coin1qqqq',
      'GENESIS_WALLET is "coin1qqqq": it must be an address: 0x and 40 hex digits, or coin1…',
    ],
    [
      'GENESIS_SELF_DELEGATION',
      '0',
      'GENESIS_SELF_DELEGATION is "0": it must be an amount in COIN from 1 to 1000000000000',
    ],
    [
      'GENESIS_SELF_DELEGATION',
      '-1',
      'GENESIS_SELF_DELEGATION is "-1": it must be an amount in COIN from 1 to 1000000000000',
    ],
    ['GENESIS_HASH', 'ff', 'GENESIS_HASH is "ff": it must be 64 hex digits'],
    ['PRUNING', 'none', 'PRUNING is "none": it must be archive, or a number of blocks from 1 to 1000000000'],
    ['JOIN_NETWORK', 'yes', 'JOIN_NETWORK is "yes": it must be true or false'],
    ['EVM_ENGINE', 'revm', 'EVM_ENGINE is "revm": it must be wasm or reference'],
    ['EVM_ENGINE', 'constructor', 'EVM_ENGINE is "constructor": it must be wasm or reference'],
    ['EVM_SHADOW', 'always', 'EVM_SHADOW is "always": it must be true or false'],
    ['PUBLIC_RPC_URL', 'example.org', 'PUBLIC_RPC_URL is "example.org": it must be a URL, http://… or https://…'],
    ['PRIVATE_PEER_IDS', 'a@b:1', 'PRIVATE_PEER_IDS is "a@b:1": it must be node IDs separated by commas'],
    ['PERSISTENT_PEERS', 'a@b', 'PERSISTENT_PEERS is "a@b": it must be id@host:port, separated by commas'],
    ['SEED_NODE_ID', 'AB', 'SEED_NODE_ID is "AB": it must be a node ID, 40 hex digits, or a libp2p peer ID'],
    ['EXTERNAL_P2P_ADDRESS', 'host', 'EXTERNAL_P2P_ADDRESS is "host": it must be host:port'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL is "loud": it must be trace, debug, info, warn, error, fatal or silent'],
    ['SYNC_MODE', 'fast', 'SYNC_MODE is "fast": it must be auto, blocks or snapshot'],
    ['TRUST_HEIGHT', '0', 'TRUST_HEIGHT is "0": it must be a height from 1 to 9007199254740991'],
    ['TRUST_HASH', '0x12', 'TRUST_HASH is "0x12": it must be 64 hex digits'],
    ['TRUST_HEIGHT', '5', 'TRUST_HASH is not set: it must be set together with TRUST_HEIGHT'],
    ['TRUST_HASH', '0A'.repeat(32), 'TRUST_HEIGHT is not set: it must be set together with TRUST_HASH'],
    ...['14', '0d', '-1h', '100000000d', '1µs', '14 d', `${'9'.repeat(40)}h`].map((value): [string, string, string] => [
      'TRUST_PERIOD',
      value,
      `TRUST_PERIOD is "${value}": it must be a duration like 14d, 336h or 90m`,
    ]),
    ['MONIKER', 'a\nb', 'MONIKER is "a\\nb": it must be 1 to 70 printable characters'],
    ['CHAIN_ID', 'coin-1', 'CHAIN_ID is "coin-1": it must be <name>_<EVM chain ID>-<revision>, like coin_76287-1'],
    [
      'EVM_CHAIN_ID',
      '5',
      'EVM_CHAIN_ID is 5: it must be 7628, the number in CHAIN_ID coin_7628-1 (the default of NETWORK=mainnet)',
    ],
    ['SNAPSHOT_KEEP', '0', 'SNAPSHOT_KEEP is "0": it must be a whole number from 1 to 1000'],
    ['METRICS_PORT', '8080', 'METRICS_PORT is 8080: RPC_PORT has that port, too; choose another one'],
    ...['proxy.example', '10.0.0.0/33', '10.0.0.0/', '10.0.0/8', '::/129', 'fe80::1%eth0'].map(
      (value): [string, string, string] => [
        'TRUSTED_PROXIES',
        value,
        `TRUSTED_PROXIES is "${value}": it must be IP addresses, or ranges like 10.0.0.0/8, separated by commas`,
      ],
    ),
  ])('refuses %s=%s', (name, value, problem) => {
    expect(problemOf(() => load({ [name]: value }))).toBe(problem)
  })

  it('refuses snapshots of what is dropped too early', () => {
    const snapshots = { SNAPSHOT_INTERVAL: '1000' }
    expect(load({ ...snapshots, PRUNING: '100', BLOCK_HISTORY: '2000' }).snapshots).toEqual({ interval: 1000, keep: 2 })
    expect(load({ ...snapshots, PRUNING: 'archive' }).snapshots.interval).toBe(1000)
    expect(load({ PRUNING: '1', BLOCK_HISTORY: '1' }).snapshots.interval).toBe(0)
    expect(problemOf(() => load({ ...snapshots, PRUNING: '99' }))).toBe(
      'PRUNING is 99: with SNAPSHOT_INTERVAL it must be archive or at least 100',
    )
    expect(problemOf(() => load({ ...snapshots, BLOCK_HISTORY: '1999' }))).toBe(
      'BLOCK_HISTORY is 1999: with SNAPSHOT_INTERVAL it must be 0 or at least 2000',
    )
  })

  it('refuses an index of calls in blocks that cannot be executed again', () => {
    const index = { INDEX_TRACES: 'true', PRUNING: 'archive' }
    expect(load(index).indexTraces).toBe(true)
    expect(load({}).indexTraces).toBe(false)
    expect(problemOf(() => load({ ...index, PRUNING: '50000' }))).toBe(
      'PRUNING is 50000: INDEX_TRACES needs PRUNING=archive',
    )
    expect(problemOf(() => load({ ...index, BLOCK_HISTORY: '9' }))).toBe(
      'BLOCK_HISTORY is 9: INDEX_TRACES needs BLOCK_HISTORY=0',
    )
  })

  it('says where a wrong value comes from', () => {
    expect(problemOf(() => load({}, { RPC_PORT: 'x' }))).toMatch(/^--rpc-port is "x"/)
    expect(problemOf(() => load({}, {}, { RPC_PORT: 'x' }))).toMatch(/^RPC_PORT \(in \.env\) is "x"/)
  })

  it('does not show the address of the heartbeat or of a snapshot, which may hold a token', () => {
    for (const name of ['EXPLORER_HEARTBEAT_URL', 'SNAPSHOT_MANIFEST_URL']) {
      const problem = problemOf(() => load({ [name]: 'secret-token' }))
      expect(problem).toContain(name)
      expect(problem).not.toContain('secret-token')
    }
  })

  it('answers any text with a configuration or one line', () => {
    const names = Object.values(VARIABLES).map((entry) => entry.name)
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ unit: codePoint, maxLength: 200 }), (name, value) => {
        try {
          load({ [name]: value })
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError)
          expect((error as ConfigError).message).toMatch(/^[^\n\r]{1,400}$/)
        }
      }),
    )
  })
})

describe('the rules of a start', () => {
  it('creates a genesis for a wallet', () => {
    expect(checkFreshGenesis(load({ GENESIS_WALLET: WALLET }))).toEqual({
      wallet: parseAddress(WALLET),
      selfDelegationAcoin: 10n ** 24n,
    })
  })

  it('needs to know which snapshot a restore is of', () => {
    const force = { FORCE_SNAPSHOT_RESTORE: 'true' }
    expect(problemOf(() => checkRestore(load(force)))).toMatch(/not SNAPSHOT_MANIFEST_URL: set both/)
    checkRestore(load({ ...force, SNAPSHOT_MANIFEST_URL: 'https://s.example/m' }))
    checkRestore(load({}))
  })

  it.each<[string, RawValues, RegExp]>([
    ['no wallet', { GENESIS_WALLET: '' }, /^GENESIS_WALLET is not set/],
    ['the zero address', { GENESIS_WALLET: `0x${'0'.repeat(40)}` }, /zero address/],
    ['FORCE_SNAPSHOT_RESTORE', { FORCE_SNAPSHOT_RESTORE: 'true' }, /FORCE_SNAPSHOT_RESTORE.* fresh genesis/],
    ['a snapshot', { SNAPSHOT_MANIFEST_URL: 'https://s.example/m' }, /SNAPSHOT_MANIFEST_URL.* fresh genesis/],
    ['SYNC_MODE', { SYNC_MODE: 'snapshot' }, /SYNC_MODE=snapshot.* fresh genesis/],
    ['a genesis hash without a genesis', { GENESIS_HASH: '00'.repeat(32) }, /no genesis\.json/],
  ])('does not create a genesis with %s', (_, environment, problem) => {
    expect(problemOf(() => checkFreshGenesis(load({ GENESIS_WALLET: WALLET, ...environment })))).toMatch(problem)
  })
})

const ID = 'ab'.repeat(20)
const SEED: RawValues = {
  JOIN_NETWORK: 'true',
  SEED_NODE_URL: 'http://seed.example:8080',
  SEED_NODE_ID: ID,
  SEED_PEER_HOST: 'seed.example:26656',
}

describe('the exchange of addresses', () => {
  it('is what a seed is for', () => {
    expect(problemOf(() => load({ SEED_MODE: 'true', PEX: 'false' }))).toBe(
      'PEX is false, but SEED_MODE=true exchanges addresses: set PEX=true',
    )
  })

  it.each([
    [{ NETWORK: 'devnet' }, false],
    [{ NETWORK: 'testnet' }, true],
    [{ NETWORK: 'devnet', ADDR_BOOK_STRICT: 'true' }, true],
    [{ ADDR_BOOK_STRICT: 'false' }, false],
  ])('with %o takes only addresses of the Internet: %s', (values, isStrict) => {
    expect(load(values).p2p.isBookStrict).toBe(isStrict)
  })
})

describe('joining', () => {
  it('makes the seed a persistent peer, once', () => {
    const seed = { id: ID, address: 'seed.example:26656' }
    const other = { id: 'cd'.repeat(20), address: 'other.example:1' }
    expect(load(SEED).p2p.persistentPeers).toEqual([seed])
    const peers = `${other.id}@${other.address},${ID}@seed.example:26656`
    expect(load({ ...SEED, PERSISTENT_PEERS: peers }).p2p.persistentPeers).toEqual([other, seed])
    expect(load({ ...SEED, JOIN_NETWORK: 'false' }).p2p.persistentPeers).toEqual([])
    expect(checkJoining(load(SEED))).toBe('http://seed.example:8080')
    expect(checkJoining(load({ ...SEED, SEED_NODE_ID: '', SEED_PEER_HOST: '', SEEDS: `${ID}@a:1` }))).toBe(
      SEED.SEED_NODE_URL,
    )
    expect(checkJoining(load({ ...SEED, SEED_NODE_ID: '', SEED_PEER_HOST: '', PERSISTENT_PEERS: `${ID}@a:1` }))).toBe(
      'http://seed.example:8080',
    )
  })

  it.each<[RawValues, string]>([
    [
      { SEED_NODE_URL: '' },
      'SEED_NODE_URL is not set: JOIN_NETWORK=true needs the RPC address of a node to take the genesis from',
    ],
    [
      { SEED_NODE_URL: 'http://user:secret@seed.example' },
      'SEED_NODE_URL has a user name or password in it: it must be a public address',
    ],
    [
      { SEED_NODE_URL: 'seed.example:8080' },
      'SEED_NODE_URL is "seed.example:8080": it must be a URL, http://… or https://…',
    ],
    [{ SEED_NODE_ID: '' }, 'SEED_NODE_ID is not set: it must be set together with SEED_PEER_HOST'],
    [{ SEED_PEER_HOST: '' }, 'SEED_PEER_HOST is not set: it must be set together with SEED_NODE_ID'],
    [
      { SEED_NODE_ID: '', SEED_PEER_HOST: '' },
      'SEED_NODE_ID and SEED_PEER_HOST are not set: JOIN_NETWORK=true needs a peer to take the blocks from, or SEEDS to find one',
    ],
    [
      { PERSISTENT_PEERS: `${ID}@other.example:1` },
      'SEED_PEER_HOST is seed.example:26656, but PERSISTENT_PEERS has other.example:1 for SEED_NODE_ID: give both the same address',
    ],
    [
      { FORCE_SNAPSHOT_RESTORE: 'true' },
      'FORCE_SNAPSHOT_RESTORE is set, but not SNAPSHOT_MANIFEST_URL: set both, or neither',
    ],
    [{ MAX_PEERS: '0' }, 'MAX_PEERS is "0": it must be a whole number from 1 to 500'],
  ])('is refused with %o', (values, problem) => {
    expect(problemOf(() => checkJoining(load({ ...SEED, ...values })))).toBe(problem)
  })
})

describe('the documents', () => {
  it.each([
    ['docs/configuration.md', configurationPage],
    ['.env.example', dotenvExample],
  ])('%s is what scripts/configurationDocs.ts makes', (file, make) => {
    expect(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')).toBe(make())
  })

  it('.env.example names every variable, and with all of its lines on it is a valid configuration', () => {
    const lines = dotenvExample().replaceAll(/^#(?=[A-Z0-9_]+=)/gm, '')
    const values = parseEnv(lines)
    // The explorer has some of the node's.
    const all = [...Object.values(VARIABLES), ...Object.values(EXPLORER_VARIABLES)].map(({ name }) => name)
    expect(Object.keys(values).sort()).toEqual([...new Set(all)].sort())
    expect(load({}, {}, values)).toEqual(load({}))
  })
})

describe('the listeners of JSON-RPC', () => {
  it('are one, with the namespaces that wallets and explorers need', () => {
    expect(load({}).rpc).toMatchObject({
      namespaces: ['debug', 'eth', 'net', 'txpool', 'web3'],
      rights: { jsTracers: false, traceDepth: Number.POSITIVE_INFINITY },
      heavyCalls: { all: 8, client: 6, traces: 2 },
      privateListener: undefined,
    })
  })

  it('may be two: the private one has `trace` too, on the loopback interface', () => {
    expect(load({ PRIVATE_RPC_PORT: '8545', RPC_NAMESPACES: 'eth, Net' }).rpc.privateListener).toEqual({
      host: '127.0.0.1',
      port: 8545,
      namespaces: ['eth', 'net', 'trace'],
      hostNames: ['localhost'],
      jwtSecretFile: undefined,
    })
  })

  it('other machines reach the private one only with a secret', () => {
    const environment = { PRIVATE_RPC_PORT: '8545', PRIVATE_RPC_HOST: '0.0.0.0' }
    expect(problemOf(() => load(environment))).toContain('set RPC_JWT_SECRET_FILE')
    expect(load({ ...environment, RPC_JWT_SECRET_FILE: '/jwt' }).rpc.privateListener?.jwtSecretFile).toBe('/jwt')
    for (const host of ['localhost', '::1', '127.8.9.10']) load({ ...environment, PRIVATE_RPC_HOST: host })
    expect(problemOf(() => load({ ...environment, PRIVATE_RPC_HOST: '127.evil.example' }))).toContain('SECRET')
  })

  it.each([
    [{ RPC_NAMESPACES: 'eth,admin' }, 'one or more of debug, eth'],
    [{ RPC_NAMESPACES: ',' }, 'one or more of debug, eth'],
    [{ RPC_NAMESPACES: 'eth,testing' }, 'only on a devnet'],
    [{ PRIVATE_RPC_PORT: '8080' }, 'RPC_PORT has that port, too'],
    [{ PRIVATE_RPC_VHOSTS: 'a b' }, 'host names'],
  ])('%j is refused', (environment, why) => {
    expect(problemOf(() => load(environment))).toContain(why)
  })
})

describe('remote signers', () => {
  const key = 'f8f6b864ad6242754ddcf0011b634adb7a606442043219cbea564eb86b69245b'
  const tcp = (place: string, keys?: string) =>
    load({ PRIV_VALIDATOR_LADDR: `tcp://${place}`, ...(keys && { PRIV_VALIDATOR_SIGNER_KEYS: keys }) }).signer

  it('dial in to a TCP port or a Unix socket', () => {
    expect(load({}).signer).toBeUndefined()
    expect(tcp('127.0.0.1:26659')?.address).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 26659 })
    expect(tcp('[::1]:26659')?.address).toEqual({ kind: 'tcp', host: '::1', port: 26659 })
    expect(load({ PRIV_VALIDATOR_LADDR: 'unix:///run/coind.sock' }).signer?.address).toEqual({
      kind: 'unix',
      path: '/run/coind.sock',
    })
    for (const wrong of ['127.0.0.1:26659', 'tcp://127.0.0.1', 'unix://socket', 'http://127.0.0.1:1']) {
      expect(problemOf(() => load({ PRIV_VALIDATOR_LADDR: wrong }))).toContain('PRIV_VALIDATOR_LADDR')
    }
  })

  it('from the network need a key that is known, in hex or base64', () => {
    expect(problemOf(() => tcp('0.0.0.0:26659'))).toContain('set PRIV_VALIDATOR_SIGNER_KEYS')
    expect(tcp('0.0.0.0:26659', key)?.allowedKeys).toEqual([new Uint8Array(Buffer.from(key, 'hex'))])
    const base64 = Buffer.from(key, 'hex').toString('base64')
    expect(tcp('0.0.0.0:26659', `${key}, ${base64}`)?.allowedKeys).toHaveLength(2)
    expect(problemOf(() => tcp('0.0.0.0:26659', 'f8f6'))).toContain('PRIV_VALIDATOR_SIGNER_KEYS')
    expect(problemOf(() => load({ PRIV_VALIDATOR_SIGNER_KEYS: key }))).toContain('PRIV_VALIDATOR_LADDR is not')
    expect(problemOf(() => load({ PRIV_VALIDATOR_LADDR: 'unix:///s', PRIV_VALIDATOR_SIGNER_KEYS: key }))).toContain(
      'have no keys',
    )
  })

  it('need a port of their own', () => {
    expect(problemOf(() => tcp('127.0.0.1:8080'))).toContain('RPC_PORT has that port, too')
  })
})
