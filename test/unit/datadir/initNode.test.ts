import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createGenesis } from '../../../src/chain/genesis/createGenesis.ts'
import { formatGenesis, genesisHash, genesisValidators } from '../../../src/chain/genesis/genesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { ConfigError } from '../../../src/config/configError.ts'
import type { RawValues } from '../../../src/config/settings.ts'
import { type DataPaths, dataPaths, lockHome } from '../../../src/datadir/dataDirectory.ts'
import { type ConsensusKeyFile, checkInit, initNode, needsGenesis } from '../../../src/datadir/initNode.ts'
import { parseAddress, toAddress } from '../../../src/primitives/address.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const NOW_MS = Date.UTC(2026, 0, 1)

let paths: DataPaths
beforeEach(() => {
  paths = dataPaths(mkdtempSync(join(tmpdir(), 'coind-init-')))
})
afterEach(() => {
  rmSync(paths.homedir, { recursive: true })
})

function config(values: RawValues = {}): Config {
  const environment = { NETWORK: 'testnet', GENESIS_WALLET: WALLET, ...values }
  return loadConfig({ flags: {}, environment, dotenv: {} }, paths.homedir)
}

/** A key file whose key is `byte`, 32 times. */
function keyFile(byte: number): ConsensusKeyFile {
  const publicKey = new Uint8Array(32).fill(byte)
  return {
    load: () => (existsSync(paths.validatorKey) ? new Uint8Array(readFileSync(paths.validatorKey)) : undefined),
    create: () => {
      writeFileSync(paths.validatorKey, publicKey)
      return publicKey
    },
  }
}

function problemOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    const { message } = error as ConfigError
    expect(message).not.toMatch(/[\n\r]/)
    return message
  }
  throw new Error('nothing was thrown')
}

const init = (values: RawValues = {}, key = keyFile(1)) => initNode(config(values), paths, key, { nowMs: NOW_MS })

describe('initNode', () => {
  it('creates a genesis, and does nothing the second time', () => {
    const first = init()
    expect(first.isFresh).toBe(true)
    expect(first.warnings).toEqual([])
    expect(first.genesis.chain_id).toBe('coin_76287-1')
    const file = readFileSync(paths.genesis, 'utf8')
    expect(file).toBe(formatGenesis(first.genesis))
    expect(() => checkInit(config({ GENESIS_WALLET: '' }), paths)).not.toThrow()
    const second = init()
    expect(second).toEqual({ ...first, isFresh: false })
    expect(readFileSync(paths.genesis, 'utf8')).toBe(file)
    expect(existsSync(`${paths.genesis}.new`)).toBe(false)
    expect(statSync(paths.config).mode & 0o077).toBe(0)
  })

  it('uses an existing consensus key', () => {
    mkdirSync(paths.config)
    writeFileSync(paths.validatorKey, new Uint8Array(32).fill(9))
    expect(genesisValidators(init().genesis)[0]?.publicKey).toEqual(new Uint8Array(32).fill(9))
  })

  it.each<[RawValues, RegExp]>([
    [{ GENESIS_WALLET: '' }, /^GENESIS_WALLET is not set/],
    [{ JOIN_NETWORK: 'true' }, /^SEED_NODE_URL is not set/],
    [{ JOIN_NETWORK: 'true', SEED_NODE_URL: 'http://seed:8080' }, /^SEED_NODE_ID and SEED_PEER_HOST are not set/],
    [{ SNAPSHOT_MANIFEST_URL: 'https://s.example' }, /^SNAPSHOT_MANIFEST_URL/],
    [{ FORCE_SNAPSHOT_RESTORE: 'true' }, /^FORCE_SNAPSHOT_RESTORE/],
  ])('leaves nothing behind when it refuses %o', (values, problem) => {
    expect(problemOf(() => checkInit(config(values), paths))).toMatch(problem)
    expect(existsSync(paths.config)).toBe(false)
  })

  it.each(['db', 'wal'] as const)('does not begin a new chain over an old %s', (part) => {
    mkdirSync(paths[part])
    writeFileSync(join(paths[part], 'CURRENT'), '')
    expect(problemOf(() => init())).toMatch(/genesis\.json is missing, but .* holds a chain/)
  })

  it('warns of a small self-delegation and of a wallet that has no effect', () => {
    expect(init({ GENESIS_SELF_DELEGATION: '999999' }).warnings).toEqual([expect.stringMatching(/^only 999999 COIN/)])
    const other = `0x${'12'.repeat(20)}`
    expect(init({ GENESIS_WALLET: other }).warnings).toEqual([
      expect.stringMatching(/^GENESIS_WALLET 0x1212.* has no effect$/),
      expect.stringMatching(/^only/),
    ])
  })

  it('refuses an existing genesis that does not fit', () => {
    init()
    expect(problemOf(() => init({ NETWORK: 'mainnet' }))).toMatch(/CHAIN_ID is coin_7628-1, but .* is for coin_76287-1/)
    expect(problemOf(() => init({ GENESIS_HASH: '00'.repeat(32) }))).toMatch(/^GENESIS_HASH is 0000/)
    writeFileSync(paths.validatorKey, new Uint8Array(32).fill(2))
    expect(problemOf(() => init())).toMatch(/not the key of a validator/)
    rmSync(paths.validatorKey)
    expect(problemOf(() => init())).toMatch(/priv_validator_key\.json is missing/)
    expect(existsSync(paths.validatorKey)).toBe(false)
    writeFileSync(paths.genesis, '{"app_name": "coind"')
    expect(problemOf(() => init())).toMatch(/genesis\.json: genesis: not JSON/)
  })

  it('accepts the hash of its genesis as GENESIS_HASH', () => {
    const hash = Buffer.from(init().genesisHash).toString('hex')
    expect(init({ GENESIS_HASH: hash }).isFresh).toBe(false)
  })
})

const PEER = `${'ab'.repeat(20)}@seed.example:26656`
const JOINING: RawValues = {
  JOIN_NETWORK: 'true',
  SEED_NODE_URL: 'http://seed.example:8080',
  SEED_NODE_ID: 'ab'.repeat(20),
  SEED_PEER_HOST: 'seed.example:26656',
}

/** Of a network whose validators have the keys of these bytes. */
function networkOf(...bytes: readonly number[]): Genesis {
  const validator = (byte: number) => ({
    consensusPublicKey: new Uint8Array(32).fill(byte),
    moniker: `validator${byte}`,
    selfDelegationAcoin: 10n ** 24n,
  })
  return createGenesis({
    genesisTimeMs: NOW_MS,
    chainId: 'coin_76287-1',
    wallet: parseAddress(WALLET),
    ...validator(bytes[0]!),
    otherValidators: bytes.slice(1).map((byte) => ({
      operator: toAddress(new Uint8Array(20).fill(byte)),
      ...validator(byte),
    })),
  })
}

function joinNetwork(joined: Genesis | undefined, values: RawValues = {}): ReturnType<typeof initNode> {
  return initNode(config({ ...JOINING, ...values }), paths, keyFile(7), {
    nowMs: NOW_MS,
    ...(joined === undefined ? {} : { joined }),
  })
}

function place(genesis: Genesis, key?: number): void {
  mkdirSync(paths.config, { recursive: true })
  writeFileSync(paths.genesis, formatGenesis(genesis))
  if (key !== undefined) writeFileSync(paths.validatorKey, new Uint8Array(32).fill(key))
}

describe('joining a network', () => {
  it('keeps the genesis of the network, makes a key, and goes on with both the second time', () => {
    expect(needsGenesis(config(JOINING), paths)).toBe(true)
    const first = joinNetwork(networkOf(1))
    expect(first.isFresh).toBe(true)
    expect(first.warnings).toEqual([
      expect.stringMatching(
        /^the genesis of coin_76287-1 was accepted without a check: set GENESIS_HASH=[0-9a-f]{64} /,
      ),
    ])
    expect(readFileSync(paths.genesis, 'utf8')).toBe(formatGenesis(networkOf(1)))
    expect(readFileSync(paths.validatorKey)[0]).toBe(7)
    expect(needsGenesis(config(JOINING), paths)).toBe(false)
    expect(joinNetwork(undefined)).toEqual({ ...first, isFresh: false, warnings: [] })
    // The same directory without the variables of joining: peers come from elsewhere.
    expect(init({ PERSISTENT_PEERS: PEER }).warnings).toEqual([])
  })

  it('does not warn when the hash was given', () => {
    const hash = Buffer.from(genesisHash(networkOf(1))).toString('hex')
    expect(joinNetwork(networkOf(1), { GENESIS_HASH: hash }).warnings).toEqual([])
  })

  it('keeps a key that is there, and a database that may be of the network', () => {
    place(networkOf(1), 9)
    rmSync(paths.genesis)
    mkdirSync(paths.db)
    writeFileSync(join(paths.db, 'CURRENT'), '')
    expect(joinNetwork(networkOf(1)).isFresh).toBe(true)
    expect(readFileSync(paths.validatorKey)[0]).toBe(9)
  })

  it('warns when a genesis is created although a seed is named', () => {
    const { isFresh, warnings } = init({ ...JOINING, JOIN_NETWORK: 'false' })
    expect(isFresh).toBe(true)
    expect(warnings).toEqual(['created a genesis: SEED_NODE_URL has no effect without JOIN_NETWORK=true'])
  })
})

describe('the validator key beside a genesis', () => {
  it.each<[string, readonly number[], number | undefined, RawValues, RegExp | undefined]>([
    ['of the sole validator', [1], 1, {}, undefined],
    ['of one of several', [1, 2, 3, 4], 3, {}, undefined],
    ['of nobody, with several validators', [1, 2], 9, {}, undefined],
    ['of nobody, with peers', [1], 9, { PERSISTENT_PEERS: PEER }, undefined],
    ['of nobody, alone', [1], 9, {}, /is not the key of a validator/],
    ['that is missing, with several validators', [1, 2], undefined, {}, /was missing and has been created/],
    ['that is missing, with peers', [1], undefined, { PERSISTENT_PEERS: PEER }, /was missing and has been created/],
    ['that is missing, alone', [1], undefined, {}, /is missing: put back the key/],
  ])('%s', (_, validators, key, values, said) => {
    place(networkOf(...validators), key)
    const isRefused = Object.keys(values).length === 0 && validators.length === 1 && key !== 1
    if (isRefused) {
      expect(problemOf(() => init(values))).toMatch(said!)
      expect(existsSync(paths.validatorKey)).toBe(key !== undefined)
      return
    }
    const { warnings } = init(values)
    expect(warnings).toEqual(said === undefined ? [] : [expect.stringMatching(said)])
    expect(existsSync(paths.validatorKey)).toBe(true)
  })
})

it('the sole validator may have rotated to a key that is not in the genesis, once there are blocks', () => {
  place(networkOf(1), 9)
  mkdirSync(paths.db, { recursive: true })
  expect(init({}).warnings).toEqual([expect.stringMatching(/without a rotation of the validator to this key/)])
})

describe('lockHome', () => {
  it('keeps a second process away until the first one is gone, even if it was killed', async () => {
    const module = new URL('../../../src/datadir/dataDirectory.ts', import.meta.url).href
    const holder = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { lockHome } from '${module}'
      await lockHome(${JSON.stringify(paths)}, process.pid)
      console.log('locked')
      setInterval(() => undefined, 1000)`,
    ])
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    await expect(lockHome(paths, process.pid)).rejects.toThrow(
      `another coind (process ${holder.pid}) is using HOMEDIR ${paths.homedir}: stop it first`,
    )
    holder.kill('SIGKILL')
    await new Promise((resolve) => holder.once('exit', resolve))
    const lock = await lockHome(paths, process.pid)
    expect(lock.wasLeft).toBe(true)
    expect(readFileSync(paths.pid, 'utf8')).toBe(`${process.pid}\n`)
    await lock.release()
    expect(existsSync(paths.pid)).toBe(false)
    const next = await lockHome(paths, process.pid)
    expect(next.wasLeft).toBe(false)
    await next.release()
  })

  it('is released although the file with the process ID cannot be removed', async () => {
    const lock = await lockHome(paths, process.pid)
    rmSync(paths.pid)
    mkdirSync(paths.pid)
    await expect(lock.release()).rejects.toThrow()
    rmSync(paths.pid, { recursive: true })
    await (await lockHome(paths, process.pid)).release()
  })

  it('is not kept when that file cannot be written', async () => {
    mkdirSync(paths.pid, { recursive: true })
    await expect(lockHome(paths, process.pid)).rejects.toThrow('EISDIR')
    rmSync(paths.pid, { recursive: true })
    await (await lockHome(paths, process.pid)).release()
  })
})
