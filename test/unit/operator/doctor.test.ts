import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { createValidatorKey } from '../../../src/consensus/validatorKey.ts'
import { type DataPaths, dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { examineDisk, examineOpenFiles, examineSize, refusalOfDirectory } from '../../../src/operator/doctor/machine.ts'
import { examineClock, examinePeers, examinePorts } from '../../../src/operator/doctor/networkFindings.ts'
import { examineKeys, examineRuntime, examineSettings } from '../../../src/operator/doctor/settingFindings.ts'

const GIB = 2 ** 30
const ID = '0'.repeat(40)
let paths: DataPaths
beforeEach(() => {
  paths = dataPaths(mkdtempSync(join(tmpdir(), 'coind-doctor-')))
  mkdirSync(paths.config)
})
afterEach(() => rmSync(paths.homedir, { recursive: true }))

const configWith = (environment: Readonly<Record<string, string>>): Config =>
  loadConfig({ flags: {}, environment: { NETWORK: 'testnet', ...environment }, dotenv: {} }, paths.homedir)
const states = (findings: readonly { readonly state: string }[]) => findings.map(({ state }) => state)

async function listening(): Promise<{ port: number; close: () => void }> {
  const server = createTcpServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

describe('settings', () => {
  it('that a start refuses are a problem, with what the start would say', () => {
    const found = examineSettings(configWith({}), paths)
    expect(found.find(({ state }) => state === 'problem')?.text).toMatch(/GENESIS_WALLET is not set/)
    const joins = { JOIN_NETWORK: 'true', SEED_NODE_URL: 'http://localhost:8080' }
    expect(examineSettings(configWith(joins), paths).find(({ state }) => state === 'problem')?.text).toMatch(
      /SEED_NODE_ID/,
    )
  })

  it('that a start takes are none, and a reset that was interrupted is one', () => {
    const config = configWith({
      GENESIS_WALLET: `0x${'11'.repeat(20)}`,
      EXTERNAL_P2P_ADDRESS: 'node.example.org:26656',
    })
    expect(states(examineSettings(config, paths))).toEqual(['ok'])
    writeFileSync(paths.resetMarker, '')
    expect(states(examineSettings(config, paths))).toEqual(['ok', 'problem'])
  })

  it.each<[string, Readonly<Record<string, string>>, readonly string[], RegExp]>([
    ['a validator without sentries', { PEX: 'false' }, ['problem'], /PERSISTENT_PEERS is empty.*sentries/],
    ['a validator with only seeds', { PEX: 'false', SEEDS: `${ID}@a:1` }, ['problem'], /only SEEDS/],
    ['a validator with sentries', { PEX: 'false', PERSISTENT_PEERS: `${ID}@a:1` }, [], /^/],
    [
      'a validator that is to hide others',
      { PEX: 'false', PERSISTENT_PEERS: `${ID}@a:1`, PRIVATE_PEER_IDS: ID },
      ['warning'],
      /set it on the sentries/,
    ],
    ['a sentry', { PRIVATE_PEER_IDS: ID, EXTERNAL_P2P_ADDRESS: 'sentry.example:1' }, [], /^/],
    ['a node of a private network', { EXTERNAL_P2P_ADDRESS: '10.0.0.1:1' }, ['warning'], /ADDR_BOOK_STRICT=false/],
    [
      'one whose peers all are there',
      { PERSISTENT_PEERS: `${ID}@10.0.0.1:1,${ID.replace(/./, 'f')}@10.0.0.2:1` },
      ['warning', 'warning'],
      /EXTERNAL_P2P_ADDRESS is not set|private addresses.*ADDR_BOOK_STRICT=false/,
    ],
    [
      'one that has others too',
      { PERSISTENT_PEERS: `${ID}@10.0.0.1:1`, SEEDS: `${ID.replace(/./, 'f')}@a:1` },
      ['warning'],
      /EXTERNAL_P2P_ADDRESS is not set/,
    ],
    ['the same, told so', { EXTERNAL_P2P_ADDRESS: '10.0.0.1:1', ADDR_BOOK_STRICT: 'false' }, [], /^/],
    ['a node without an address', {}, ['warning'], /EXTERNAL_P2P_ADDRESS/],
    ['a seed, which nobody is told of', { SEED_MODE: 'true' }, [], /^/],
  ])('say of %s whether it has peers', (_, variables, expected, text) => {
    const config = configWith({ GENESIS_WALLET: `0x${'11'.repeat(20)}`, ...variables })
    const [, ...found] = examineSettings(config, paths)
    expect(states(found)).toEqual(expected)
    for (const finding of found) expect(finding.text).toMatch(text)
  })

  it('run on another Node.js are warned of', () => {
    expect(examineRuntime('26.1.0').state).toBe('ok')
    expect(examineRuntime('24.1.0')).toMatchObject({ state: 'warning', text: expect.stringContaining('24.1.0') })
  })
})

describe('what deploy/ has', () => {
  const settingsOf = (text: string): Record<string, string> => {
    const filled = {
      SEED_NODE_URL: 'http://seed.example.org:8080',
      SEED_NODE_ID: ID,
      SEED_PEER_HOST: 'seed.example.org:26656',
      GENESIS_HASH: 'ab'.repeat(32),
    }
    const { data } = parse(text.split('\n---\n')[0]!) as { readonly data: Record<string, string> }
    expect(Object.keys(data).filter((name) => data[name] === '')).toEqual(Object.keys(filled))
    return { ...data, ...filled }
  }

  it.each(['validator', 'sentry', 'seed'])('has settings of a %s that a start takes, with IDs in them', (name) => {
    const text = readFileSync(new URL(`../../../deploy/sentries/${name}.env`, import.meta.url), 'utf8')
    const lines = text.split('\n').filter((line) => /^[A-Z]/.test(line))
    const settings = Object.fromEntries(
      lines.map((line) =>
        line
          .replace(/[A-Z0-9]+_ID(?=[@,]|$)/g, ID)
          .split(/=(.*)/s)
          .slice(0, 2),
      ),
    )
    const config = configWith({ GENESIS_WALLET: `0x${'11'.repeat(20)}`, ...settings })
    expect(states(examineSettings(config, paths))).toEqual(['ok'])
    expect(config.p2p).toMatchObject({ exchangesPeers: name !== 'validator', isSeed: name === 'seed' })
  })

  it('starts a node in Kubernetes that joins a network, once what is empty is set', () => {
    const text = readFileSync(new URL('../../../deploy/kubernetes/node.yaml', import.meta.url), 'utf8')
    expect(states(examineSettings(configWith(settingsOf(text)), paths))).not.toContain('problem')
  })
})

describe('keys', () => {
  it('may be missing, and are a problem where others can read them or they are none', () => {
    expect(states(examineKeys(paths, false).findings)).toEqual(['ok', 'ok'])
    createValidatorKey(paths.validatorKey, new Uint8Array(32).fill(1))
    expect(states(examineKeys(paths, false).findings)).toEqual(['ok', 'ok'])
    chmodSync(paths.validatorKey, 0o644)
    writeFileSync(paths.nodeKey, '{"priv_key":{}}', { mode: 0o600 })
    expect(states(examineKeys(paths, false).findings)).toEqual(['problem', 'problem'])
  })

  it('of a rotation are shown, with the address to wait for', () => {
    createValidatorKey(paths.validatorKey, new Uint8Array(32).fill(1))
    const { address } = createValidatorKey(paths.nextValidatorKey, new Uint8Array(32).fill(2))
    const { findings } = examineKeys(paths, false)
    expect(states(findings)).toEqual(['ok', 'ok', 'ok'])
    expect(findings[1]!.text).toMatch(Buffer.from(address).toString('hex').toUpperCase())
    chmodSync(paths.nextValidatorKey, 0o644)
    expect(states(examineKeys(paths, false).findings)).toEqual(['ok', 'problem', 'ok'])
  })

  it('of a copy are warned of', () => {
    writeFileSync(paths.copyMark, '{}')
    expect(states(examineKeys(paths, false).findings)).toEqual(['ok', 'ok', 'warning'])
  })
})

describe('the machine', () => {
  it('has space, and a disk whose speed is measured without leaving a file', () => {
    let ms = 0
    const [space, sync] = examineDisk(paths.homedir, () => (ms += 30))
    expect(space?.text).toMatch(/GiB free/)
    expect(sync).toMatchObject({ state: 'warning', text: expect.stringContaining('30.0 ms') })
    expect(examineDisk(paths.homedir, () => 0)[1]?.state).toBe('ok')
    expect(readdirSync(paths.homedir)).toEqual(['config'])
    const absent = join(paths.homedir, 'absent')
    expect(states(examineDisk(absent, () => 0))).toEqual(['warning'])
    expect(existsSync(absent)).toBe(false)
    const file = join(paths.homedir, 'file')
    writeFileSync(file, '')
    expect(states(examineDisk(file, () => 0))).toEqual(['problem'])
    expect(refusalOfDirectory(paths.homedir)).toBeUndefined()
    expect(refusalOfDirectory(absent)).toBeUndefined()
    expect(refusalOfDirectory(join(file, 'below'))?.state).toBe('problem')
  })

  it('may be small', () => {
    expect(states(examineSize(2, 4 * GIB))).toEqual(['ok'])
    expect(states(examineSize(1, GIB))).toEqual(['warning', 'warning'])
    const limits = (files: string) =>
      `Limit\nMax open files            ${files}                 1048576              files\n`
    expect(['1024', '65536', 'unlimited'].map((files) => examineOpenFiles(limits(files)).state)).toEqual([
      'warning',
      'ok',
      'ok',
    ])
    expect(examineOpenFiles(undefined).state).toBe('ok')
  })
})

describe('ports', () => {
  const portsOf = (port: number) => {
    const off = { host: '127.0.0.1', port: 0 }
    const { rpc, p2p } = configWith({})
    return { rpc: { ...rpc, host: '127.0.0.1', port }, p2p: { ...p2p, ...off }, metrics: off }
  }

  it('that another program has are a problem; those of a node are not', async () => {
    const other = await listening()
    expect(states(await examinePorts(portsOf(other.port), ID))).toEqual(['problem'])
    other.close()
    expect(states(await examinePorts(portsOf(other.port), ID))).toEqual(['ok'])

    const node = createServer((_, response) => response.end(JSON.stringify({ result: { node_info: { id: ID } } })))
    node.listen(0, '127.0.0.1')
    await new Promise((resolve) => node.once('listening', resolve))
    const { port } = node.address() as AddressInfo
    const found = await Promise.all([ID, 'another', undefined].map((id) => examinePorts(portsOf(port), id)))
    node.close()
    expect(found.flat().map(({ state }) => state)).toEqual(['ok', 'problem', 'problem'])
    const elsewhere = { ...portsOf(0), metrics: { host: '192.0.2.1', port: 9464 } }
    expect((await examinePorts(elsewhere, ID)).at(-1)?.text).toMatch(/^METRICS_HOST is 192\.0\.2\.1: /)
  })
})

describe('others', () => {
  it('tell the time, if there are any', async () => {
    const nowMs = Date.parse('2026-01-01T00:00:10.500Z')
    const seed = createServer((_, response) => response.setHeader('date', new Date(nowMs).toUTCString()).end('{}'))
    seed.listen(0, '127.0.0.1')
    await new Promise((resolve) => seed.once('listening', resolve))
    const url = `http://127.0.0.1:${(seed.address() as AddressInfo).port}/`
    expect((await examineClock(url, () => nowMs + 1_000)).state).toBe('ok')
    expect(await examineClock(url, () => nowMs + 5_000)).toMatchObject({
      state: 'problem',
      text: expect.stringContaining('5.0 s ahead'),
    })
    expect(await examineClock(url, () => nowMs - 4_000)).toMatchObject({
      text: expect.stringContaining('4.0 s behind'),
    })
    seed.close()
    expect((await examineClock(url, () => nowMs)).text).toMatch(/does not answer/)
    expect((await examineClock(undefined, () => nowMs)).state).toBe('warning')
    const secret = await examineClock('http://user:password@127.0.0.1:1/', () => nowMs)
    expect(secret.state).toBe('problem')
    expect(secret.text).not.toMatch(/user:|password@/)
  })

  it('take connections, or are named', async () => {
    const peer = await listening()
    const addresses = [`127.0.0.1:${peer.port}`, '127.0.0.1:1', 'nowhere.invalid:26656']
    const found = await examinePeers(addresses.map((address) => ({ id: ID, address })))
    peer.close()
    expect(states(found)).toEqual(['ok', 'warning', 'warning'])
    expect(found[1]?.text).toMatch(/ECONNREFUSED/)
    expect(states(await examinePeers([]))).toEqual(['ok'])
  })
})
