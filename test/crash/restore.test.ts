import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsensusHeader, headerHash } from '../../src/chain/comet/block.ts'
import { commitSignBytes } from '../../src/chain/comet/commit.ts'
import { decodeLightBlock, encodeLightBlock } from '../../src/chain/comet/lightBlock.ts'
import { createRankedSet, createValidatorSet, validatorSetHash } from '../../src/chain/comet/validatorSet.ts'
import { chainConfigOf } from '../../src/chain/genesis/genesis.ts'
import { createValidatorKey, loadValidatorKey } from '../../src/consensus/validatorKey.ts'
import { currentDatabase } from '../../src/datadir/currentDatabase.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { readGenesisFile } from '../../src/datadir/initNode.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { type Ed25519Key, ed25519Key, signEd25519 } from '../../src/primitives/ed25519.ts'
import { commitJson, headerJson } from '../../src/rpc/comet/json/block.ts'
import { validatorJson } from '../../src/rpc/comet/json/values.ts'
import { makeSnapshot } from '../../src/snapshot/makeSnapshot.ts'
import { encodeManifest, MANIFEST_NAME, type Manifest, readManifest } from '../../src/snapshot/manifest.ts'
import { Database } from '../../src/storage/database.ts'
import { type LocalNetwork, makeNetwork, QUICK, waitForHeight } from '../e2e/network/localNetwork.ts'
import { rpc } from '../e2e/rpc.ts'
import { runCoind } from '../e2e/runCoind.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { firstSeed, PROPERTY_RUNS, variants } from '../propertyRuns.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { describeChain, readChain } from './compareChains.ts'

/** For each kind of restore; fifty in all in the long run. */
const USUAL_KILLS = 1
const KILLS = PROPERTY_RUNS > 1 ? 25 : USUAL_KILLS
/** So that the little state of a new chain has many chunks. */
const SIZES = { chunkBytes: 1_000 }
/** Of each answer, so that there are moments at which a process can be killed. */
const ANSWER_MS = 15
/** Chunks that a killed process fetched or wrote: four at a time. */
const REPEATED = 8
const EXIT_DATA = 65

let network: LocalNetwork
let directory: string
/** the validator's home when it was at `oldHeight` */
let old: string
let oldHeight: number
let snapshot: string
let manifest: Manifest
let server: Server
let url: string
/** Manifests that are served at `/<name>/manifest.json`, in the place of the true one. */
const manifests = new Map<string, Manifest>()
let answerMs = 0
/** Told of each file that is asked for. */
let onRequest: (name: string) => void = () => undefined
/** Told of each file that was sent. */
let onFetched: (name: string) => void = () => undefined

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-restores-'))
  network = await makeNetwork({ ...QUICK, validators: 1, blockIntervalMs: 50 })
  const node = network.seed
  await node.start()
  await waitForHeight(node, 3)
  expect(await node.kill('SIGTERM')).toBe(0)
  old = join(directory, 'old')
  cpSync(node.home, old, { recursive: true })
  oldHeight = await readChain(old, (chain) => chain.headHeight)
  await node.start()
  await waitForHeight(node, oldHeight + 25)
  expect(await node.kill('SIGTERM')).toBe(0)
  snapshot = join(directory, 'snapshot')
  await snapshotOf(node.home)
  manifest = readManifest(readFileSync(join(snapshot, MANIFEST_NAME)))
  server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://host')
    if (pathname.startsWith('/rpc/')) {
      response.end(JSON.stringify(rpcAnswer(pathname, Number(searchParams.get('height')))))
      return
    }
    const name = basename(pathname)
    onRequest(name)
    await sleep(answerMs)
    onFetched(name)
    const other = manifests.get(basename(dirname(pathname)))
    const isOther = other !== undefined && name === MANIFEST_NAME
    response.end(isOther ? encodeManifest(other) : readFileSync(join(snapshot, name)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server?.close()
  await network?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** What a node answers that has the light blocks of the snapshot. */
function rpcAnswer(path: string, height: number): object {
  const answer = (result: object) => ({ jsonrpc: '2.0', id: -1, result })
  const { header, commit, validators } = manifest.lightBlocks
    .map(decodeLightBlock)
    .find(({ header }) => header.height === height)!
  if (path === '/rpc/commit') {
    return answer({ signed_header: { header: headerJson(header), commit: commitJson(commit) }, canonical: true })
  }
  const set = createRankedSet(validators.validators)
  const listed = set.validators.map((_, index) => validatorJson(set, index))
  const count = String(listed.length)
  return answer({ block_height: String(height), validators: listed, count, total: count })
}

async function snapshotOf(home: string): Promise<void> {
  const database = await Database.open(dataPaths(home).db, { readOnly: true })
  const at = database.snapshot()
  await makeSnapshot(at, chainConfigOf(readGenesisFile(dataPaths(home).genesis)), {
    height: (await readChain(home, (chain) => chain.headHeight)) - 3,
    directory: snapshot,
    sizes: SIZES,
  })
  await at.close()
  await database.close()
}

function environmentOf(variables: Readonly<Record<string, string>>): Record<string, string> {
  return { ...network.seed.variables, ...QUICK.environment, PRUNING: '1000', ...variables }
}

/** A start that is to end as the restored node. */
function start(homedir: string, variables: Readonly<Record<string, string>>, onSpawn?: (child: ChildProcess) => void) {
  return startNode({
    command: 'start',
    homedir,
    rpcPort: network.seed.rpcPort,
    environment: environmentOf(variables),
    ...(onSpawn && { onSpawn }),
  })
}

/** The node has the snapshot's state and blocks from there on, and makes the next ones. */
async function expectRestored(node: TestNode): Promise<void> {
  const { height } = manifest
  await expect(rpc(node.url, 'eth_getBlockByNumber', '0x1', false)).rejects.toThrow(`oldest block is ${height + 1}`)
  await expect
    .poll(async () => Number(await rpc(node.url, 'eth_blockNumber')), { timeout: 60_000, interval: 50 })
    .toBeGreaterThan(height)
  const next = await rpc<{ readonly parentHash: string }>(
    node.url,
    'eth_getBlockByNumber',
    `0x${(height + 1).toString(16)}`,
    false,
  )
  expect(next.parentHash).toBe(bytesToHex(manifest.ethereumHash))
}

describe.runIf(PROPERTY_RUNS > 1)('a repair', () => {
  it('puts a snapshot in the place of a damaged database, whose blocks from the first one on are not all there', async () => {
    const home = join(directory, 'repaired')
    cpSync(old, home, { recursive: true })
    const { db, damagedDb, validatorKey } = dataPaths(home)
    rmSync(join(db, 'CURRENT'))
    const peers = { PERSISTENT_PEERS: `${'0'.repeat(40)}@127.0.0.1:1` }
    const repair = () => {
      const environment = { ...environmentOf({ SNAPSHOT_MANIFEST_URL: url, ...peers }), HOMEDIR: home }
      return runCoind(['repair', '--snapshot'], { environment })
    }
    // The key of the chain's only validator: no peer has the blocks after the snapshot.
    const refused = await repair()
    expect(refused).toMatchObject({
      code: EXIT_DATA,
      output: expect.stringContaining('this validator alone decides the blocks'),
    })
    expect(existsSync(damagedDb)).toBe(false)
    rmSync(validatorKey)
    createValidatorKey(validatorKey, new Uint8Array(32).fill(9))
    const { code, output } = await repair()
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining(`rebuilt up to block ${manifest.height}`),
    })
    expect(existsSync(damagedDb)).toBe(true)
    expect(await readChain(home, (chain) => [chain.headHeight, chain.oldestBlock])).toEqual([
      manifest.height,
      manifest.height + 1,
    ])
    expect(await repair()).toEqual({ code: 0, output: 'No damage was found\n' })
  })
})

describe('kill -9 in a restore', () => {
  /**
   * Starts the node, and kills it some time after the chosen request for a file.
   * @returns the node when it served before that
   */
  async function startAndKill(
    home: string,
    variables: Readonly<Record<string, string>>,
    { requests, delayMs }: { readonly requests: number; readonly delayMs: number },
  ): Promise<TestNode | undefined> {
    let process: ChildProcess | undefined
    let isKilled = false
    let seen = 0
    let timer: NodeJS.Timeout | undefined
    onRequest = () => {
      if (++seen !== requests) return
      timer = setTimeout(() => {
        isKilled = process!.kill('SIGKILL')
      }, delayMs)
    }
    try {
      return await start(home, variables, (child) => {
        process = child
      })
    } catch (error) {
      if (!isKilled) throw error
      return undefined
    } finally {
      clearTimeout(timer)
      onRequest = () => undefined
    }
  }

  /** The former database or the restored one is there, whole; looks at a copy, so that the next start finds what the killed one has left. */
  async function expectWhole(home: string, hadDatabase: boolean): Promise<'none' | 'former' | 'restored'> {
    const copy = join(directory, 'copy')
    cpSync(home, copy, { recursive: true })
    try {
      if (!existsSync(currentDatabase(dataPaths(copy)))) {
        expect(hadDatabase, 'there is no database').toBe(false)
        return 'none'
      }
      const checked = await runCoind(['debug', 'invariants', '--homedir', copy], { environment: environmentOf({}) })
      expect(checked).toMatchObject({ code: 0, output: expect.stringContaining('all invariants hold') })
      const head = await readChain(copy, (chain) => chain.headHeight)
      if (head >= manifest.height) return 'restored'
      expect([hadDatabase, head]).toEqual([true, oldHeight])
      return 'former'
    } finally {
      rmSync(copy, { recursive: true })
    }
  }

  const BEFORE = [
    { over: 'an existing database', hadDatabase: true },
    { over: 'nothing', hadDatabase: false },
  ]
  it.each(variants(BEFORE, 1))(
    'over $over leaves the former node or the new one, and the next start goes on',
    { timeout: 60_000 * KILLS },
    async ({ hadDatabase }) => {
      const random = createRandom(firstSeed(hadDatabase ? 31 : 32))
      const variables = {
        SNAPSHOT_MANIFEST_URL: `${url}/true/${MANIFEST_NAME}`,
        ...(hadDatabase && { FORCE_SNAPSHOT_RESTORE: 'true' }),
      }
      const { length: chunks } = manifest.chunks
      expect(chunks).toBeGreaterThan(30)
      answerMs = ANSWER_MS
      const found = { none: 0, former: 0, restored: 0 }
      for (let kills = 0; kills < KILLS; ) {
        const home = join(directory, 'home')
        cpSync(old, home, { recursive: true })
        const { db, wal } = dataPaths(home)
        if (!hadDatabase) for (const path of [db, wal]) rmSync(path, { recursive: true })
        const before = kills
        const fetched: string[] = []
        onFetched = (name) => {
          if (name !== MANIFEST_NAME) fetched.push(name)
        }
        let node: TestNode | undefined
        while (node === undefined) {
          // Every third kill is for the end of the restore: after the last file. The manifest is fetched by each start.
          const left = chunks - new Set(fetched).size + 1
          const moment =
            kills % 3 === 2
              ? { requests: left, delayMs: ANSWER_MS + random(400) }
              : { requests: 1 + random(Math.min(left, 30)), delayMs: random(ANSWER_MS + 10) }
          node = kills === KILLS ? await start(home, variables) : await startAndKill(home, variables, moment)
          if (node === undefined) {
            kills++
            found[await expectWhole(home, hadDatabase)]++
          }
        }
        await expectRestored(node)
        // What was there is not fetched again, but for what was under way.
        expect(fetched.length).toBeLessThanOrEqual(chunks + (kills - before) * REPEATED)
        await node.kill('SIGKILL')
        if (hadDatabase && kills === KILLS) {
          // It is not restored again by the same settings, unless the operator has removed it.
          answerMs = 0
          for (const isThere of [true, false]) {
            if (!isThere) rmSync(db, { recursive: true })
            fetched.length = 0
            const again = await start(home, variables)
            expect(fetched.length).toBe(isThere ? 0 : chunks)
            await again.kill('SIGKILL')
          }
        }
        rmSync(home, { recursive: true })
      }
      answerMs = 0
      if (KILLS > USUAL_KILLS) console.log(`databases after ${KILLS} kills: ${JSON.stringify(found)}`)
    },
  )
})

describe('a restore over an existing database that fails', () => {
  /** A start that restores what is served below this name must end with this line and the old data intact. */
  async function expectRefused(
    name: string,
    line: RegExp,
    { variables = {} }: { readonly variables?: Record<string, string> } = {},
  ): Promise<void> {
    const homedir = join(directory, name)
    cpSync(old, homedir, { recursive: true })
    const environment = environmentOf({
      FORCE_SNAPSHOT_RESTORE: 'true',
      SNAPSHOT_MANIFEST_URL: `${url}/${name}/${MANIFEST_NAME}`,
      ...variables,
    })
    const { code, output } = await runCoind(['start', '--homedir', homedir], { environment, killAfterMs: 60_000 })
    expect([code, output.trimEnd().split('\n').at(-1)]).toEqual([EXIT_DATA, expect.stringMatching(line)])
    const facts = await Promise.all([homedir, old].map((home) => readChain(home, describeChain)))
    expect(facts[0]).toEqual(facts[1])
  }

  /** The light blocks of the manifest with other headers, which the validator of `key` alone has signed. */
  function forged(
    key: Ed25519Key,
    change: (header: ConsensusHeader) => Partial<ConsensusHeader>,
    validators = createValidatorSet([{ publicKey: key.publicKey, power: 10n ** 6n }]),
  ): Manifest['lightBlocks'] {
    const blocks = manifest.lightBlocks.map((bytes) => {
      const block = decodeLightBlock(bytes)
      const header = { ...block.header, ...change(block.header) }
      const blockId = { ...block.commit.blockId, hash: headerHash(header) }
      const signatures = block.commit.signatures.map((signature) => ({
        ...signature,
        validatorAddress: validators.validators[0]!.address,
      }))
      const commit = { ...block.commit, blockId, signatures }
      const signed = signatures.map((unsigned) => ({
        ...unsigned,
        signature: signEd25519(key, commitSignBytes(header.chainId, commit, 0)),
      }))
      return encodeLightBlock({ header, commit: { ...commit, signatures: signed }, validators })
    })
    return blocks as unknown as Manifest['lightBlocks']
  }

  const stranger = ed25519Key(new Uint8Array(32).fill(7))
  /** They are the validators of all blocks, if one believes them. */
  const strangers = (): Partial<ConsensusHeader> => {
    const hash = validatorSetHash(createValidatorSet([{ publicKey: stranger.publicKey, power: 10n ** 6n }]))
    return { validatorsHash: hash, nextValidatorsHash: hash }
  }
  const trueValidators = () => decodeLightBlock(manifest.lightBlocks[0]).validators
  const consensusHashOf = ([first]: Manifest['lightBlocks']) => headerHash(decodeLightBlock(first).header)

  it.each<[string, () => Partial<Manifest>, RegExp]>([
    [
      'another-chain',
      () => ({
        chainId: 'coin_9001-1',
        lightBlocks: forged(stranger, () => ({ ...strangers(), chainId: 'coin_9001-1' })),
      }),
      /^coind: .*coin_9001-1/,
    ],
    [
      'a-forged-header',
      () => ({ lightBlocks: forged(stranger, () => ({ appHash: new Uint8Array(32).fill(1) }), trueValidators()) }),
      /^coind: .*signature/,
    ],
    [
      'validators-that-never-were',
      () => {
        const lightBlocks = forged(stranger, strangers)
        return { lightBlocks, consensusHash: consensusHashOf(lightBlocks) }
      },
      /^coind: the manifest alone does not prove its header: it is false, .*: set SEED_NODE_URL .*does not have the header of height/,
    ],
  ])('because its manifest is of %s', async (name, change, line) => {
    manifests.set(name, { ...manifest, ...change() })
    await expectRefused(name, line)
  })

  it('because another source knows that those validators never were', async () => {
    const lightBlocks = forged(stranger, strangers)
    manifests.set('strangers', { ...manifest, lightBlocks, consensusHash: consensusHashOf(lightBlocks) })
    const line = /^coind: the snapshot cannot be used: its block \d+ differs from the one that the validators decided/
    await expectRefused('strangers', line, { variables: { SEED_NODE_URL: url } })
  })

  it('because the light blocks of two sources differ: both are named', async () => {
    // The chain's own validator has signed two headers.
    const key = loadValidatorKey(dataPaths(old).validatorKey)!
    const lightBlocks = forged(key, () => ({ evidenceHash: new Uint8Array(32).fill(1) }), trueValidators())
    manifests.set('fork', { ...manifest, lightBlocks, consensusHash: consensusHashOf(lightBlocks) })
    const line = new RegExp(`^coind: (?=.*${url} )(?=.*${url}/fork/)`)
    await expectRefused('fork', line, { variables: { SEED_NODE_URL: url } })
  })
})
