import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeBigChain } from '../../bench/bigChain/makeBigChain.ts'
import { chainConfigOf } from '../../src/chain/genesis/genesis.ts'
import { SEGMENT_BLOCKS } from '../../src/chain/segments/segments.ts'
import { openChainReader } from '../../src/chain/store/chainReader.ts'
import { createValidatorKey } from '../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { exportDirectory } from '../../src/datadir/exportDirectory.ts'
import { readGenesisFile } from '../../src/datadir/initNode.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import { MANIFEST_NAME } from '../../src/snapshot/manifest.ts'
import { Database } from '../../src/storage/database.ts'
import { segmentsDirectory } from '../../src/storage/segmentFile.ts'
import { rpc } from '../e2e/rpc.ts'
import { type CommandOptions, runCoind } from '../e2e/runCoind.ts'
import { startNode } from '../e2e/startNode.ts'
import { firstSeed } from '../propertyRuns.ts'
import { GENESIS_TIME_MS } from '../support/execution/testChain.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { describeChain, readChain } from './compareChains.ts'
import { openLocalNode, signTransfers, writeConfig } from './localNode.ts'

/** Of each command: minutes, so that only the long run has this file (vitest.config.ts). */
const KILLS = 12
const BLOCKS = 1_500
/** So that the blocks make some forty files. */
const FILE_BYTES = 64_000
/** Of each answer of the web server, so that there are moments at which a process can be killed. */
const ANSWER_MS = 40
/** Two whole segments and some blocks. */
const LONG_CHAIN = 2 * SEGMENT_BLOCKS + 100

let directory: string
/** of all blocks, in files of a few */
let blocks: string
let chain: readonly string[]
let server: Server
let url: string
/** Told of each file that is asked for. */
let onRequest: (name: string) => void = () => undefined
let homes = 0

/** A directory with the genesis of the chain, and with another key: only files have its next blocks. */
function freshHome(): string {
  const home = join(directory, `home-${++homes}`)
  writeConfig(home)
  const { validatorKey } = dataPaths(home)
  rmSync(validatorKey)
  createValidatorKey(validatorKey, new Uint8Array(32).fill(9))
  return home
}

/** A node that follows others, and there are none. */
const FOLLOWER = { NETWORK: 'devnet', PERSISTENT_PEERS: `${'0'.repeat(40)}@127.0.0.1:1` }

function coind(home: string, args: readonly string[], options: Omit<CommandOptions, 'environment'> = {}) {
  return runCoind(args, { environment: { ...FOLLOWER, HOMEDIR: home }, ...options })
}

describe('kill -9 of what reads or writes files of blocks', { timeout: 600_000 }, () => {
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-block-files-'))
    const source = join(directory, 'source')
    writeConfig(source)
    const node = await openLocalNode({ directory: source, transactions: await signTransfers(100, 2) })
    await node.reached(BLOCKS)
    await node.close()
    chain = await readChain(source, describeChain)
    blocks = join(directory, 'blocks')
    await exportAll(source)
    server = createServer(async (request, response) => {
      const name = basename(new URL(request.url!, 'http://host').pathname)
      onRequest(name)
      await sleep(ANSWER_MS)
      response.end(readFileSync(join(blocks, name)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }, 300_000)

  afterAll(() => {
    server?.closeAllConnections()
    server?.close()
    rmSync(directory, { recursive: true, force: true })
  })

  async function exportAll(home: string): Promise<void> {
    const database = await Database.open(dataPaths(home).db, { readOnly: true })
    await exportDirectory({
      chain: openChainReader(database),
      identity: chainConfigOf(readGenesisFile(dataPaths(home).genesis)),
      directory: blocks,
      to: chain.length,
      fileBytes: FILE_BYTES,
      signal: new AbortController().signal,
      progress: { update: () => undefined },
    })
    await database.close()
    expect(readdirSync(blocks).length).toBeGreaterThan(20)
  }

  /** A killed process has left the first blocks of the chain, whole, or no database yet. @returns how many blocks */
  async function expectWhole(home: string): Promise<number> {
    if (!existsSync(join(dataPaths(home).db, 'CURRENT'))) return 0
    expect(await coind(home, ['repair', '--dry-run'])).toEqual({ code: 0, output: 'No damage was found\n' })
    const left = await readChain(home, describeChain)
    expect(left).toEqual(chain.slice(0, left.length))
    return left.length
  }

  async function expectComplete(home: string): Promise<void> {
    expect(await expectWhole(home)).toBe(chain.length)
    const checked = await coind(home, ['debug', 'invariants'])
    expect(checked).toMatchObject({ code: 0, output: expect.stringContaining('all invariants hold') })
    // Nothing of what was under way.
    const { db } = dataPaths(home)
    const known = ['config', 'db', 'lock', 'wal']
    expect(readdirSync(home).filter((name) => !known.includes(name))).toEqual([])
    const segments = segmentsDirectory(db)
    expect(existsSync(segments) ? readdirSync(segments) : []).toEqual([])
  }

  /** Kills the process of `run` some time after the chosen request for a file. @returns what it gave, undefined when it was killed */
  async function killAfterRequest<T>(
    { requests, delayMs }: { readonly requests: number; readonly delayMs: number },
    run: (onSpawn: (child: ChildProcess) => void) => Promise<T>,
  ): Promise<T | undefined> {
    let child: ChildProcess | undefined
    let isKilled = false
    let seen = 0
    let timer: NodeJS.Timeout | undefined
    onRequest = () => {
      if (++seen !== requests) return
      timer = setTimeout(() => {
        isKilled = child!.kill('SIGKILL')
      }, delayMs)
    }
    try {
      const result = await run((spawned) => {
        child = spawned
      })
      return isKilled ? undefined : result
    } catch (error) {
      if (!isKilled) throw error
      return undefined
    } finally {
      clearTimeout(timer)
      onRequest = () => undefined
    }
  }

  it('an import of a directory goes on', async () => {
    const random = createRandom(firstSeed(41))
    const undisturbed = freshHome()
    const beginMs = performance.now()
    expect(await coind(undisturbed, ['import', blocks])).toMatchObject({ code: 0 })
    const wholeMs = Math.ceil(performance.now() - beginMs)
    await expectComplete(undisturbed)
    const left: number[] = []
    for (let home = freshHome(); left.length < KILLS; ) {
      const { code, output } = await coind(home, ['import', blocks], { killAfterMs: 200 + random(wholeMs) })
      if (code === null) {
        left.push(await expectWhole(home))
        continue
      }
      expect({ code, output }).toMatchObject({ code: 0 })
      await expectComplete(home)
      rmSync(home, { recursive: true })
      home = freshHome()
    }
    console.log(`blocks after each kill of an import of a directory: ${left.join(' ')}`)
    expect(left.some((count) => count > 0)).toBe(true)
  })

  it.each([
    [
      'an import from a web server',
      42,
      async (home: string, onSpawn: (child: ChildProcess) => void) => {
        const { code, output } = await coind(home, ['import', url], { onSpawn })
        // null: it was killed
        if (code !== null) expect({ code, output }).toMatchObject({ code: 0 })
      },
    ],
    [
      'a start with BLOCKS_MANIFEST_URL',
      43,
      async (home: string, onSpawn: (child: ChildProcess) => void) => {
        const environment = { ...FOLLOWER, BLOCKS_MANIFEST_URL: url, RPC_THREADS: '1', VIEW_THREADS: '1' }
        const node = await startNode({ command: 'start', homedir: home, environment, onSpawn })
        expect(Number(await rpc(node.url, 'eth_blockNumber'))).toBe(chain.length)
        expect(await node.kill('SIGTERM')).toBe(0)
      },
    ],
  ])('%s goes on', async (name, seed, run) => {
    const random = createRandom(firstSeed(seed))
    const files = readdirSync(blocks).length
    const left: number[] = []
    while (left.length < KILLS) {
      const home = freshHome()
      for (let before = 0; ; ) {
        const asked: string[] = []
        // The manifest is fetched by each start, and so is what was under way.
        const remaining = Math.max(1, Math.floor((files * (chain.length - before)) / chain.length))
        const requests = left.length < KILLS ? 1 + random(Math.min(remaining, 15)) : Number.POSITIVE_INFINITY
        const ended = await killAfterRequest({ requests, delayMs: random(3 * ANSWER_MS) }, async (onSpawn) => {
          const note = onRequest
          onRequest = (file) => {
            asked.push(file)
            note(file)
          }
          await run(home, onSpawn)
          return true
        })
        expect(asked[0]).toBe(MANIFEST_NAME)
        // No file whose blocks are there already.
        const lasts = asked.slice(1).map((file) => Number.parseInt(file.split('-')[1]!, 10))
        expect(lasts.filter((last) => last <= before)).toEqual([])
        if (ended) break
        const now = await expectWhole(home)
        expect(now).toBeGreaterThanOrEqual(before)
        before = now
        left.push(now)
      }
      await expectComplete(home)
      rmSync(home, { recursive: true })
    }
    console.log(`blocks after each kill of ${name}: ${left.join(' ')}`)
    expect(left.some((count) => count > 0)).toBe(true)
  })

  it('an export to a directory goes on, and has the same files in the end', async () => {
    const random = createRandom(firstSeed(44))
    const home = join(directory, 'long')
    await makeBigChain({
      ...{ accounts: 10, slots: 0, delegations: 0, validators: 1, signers: 1 },
      homedir: home,
      blocks: LONG_CHAIN,
      genesisTimeMs: GENESIS_TIME_MS,
    })
    const place = (name: string) => join(directory, name)
    const contents = (name: string) =>
      readdirSync(place(name))
        .sort()
        .map((file) => [file, bytesToHex(sha256(readFileSync(join(place(name), file))))])
    const beginMs = performance.now()
    expect(await coind(home, ['export', '--directory', '--out', place('whole')])).toMatchObject({ code: 0 })
    const wholeMs = Math.ceil(performance.now() - beginMs)
    expect(contents('whole')).toHaveLength(3)
    const left: number[] = []
    for (let attempt = 0; left.length < KILLS; attempt++) {
      const out = `killed-${attempt}`
      for (;;) {
        const limit = left.length < KILLS ? { killAfterMs: 200 + random(wholeMs) } : {}
        const { code, output } = await coind(home, ['export', '--directory', '--out', place(out)], limit)
        if (code !== null) {
          expect({ code, output }).toMatchObject({ code: 0 })
          break
        }
        left.push(existsSync(place(out)) ? readdirSync(place(out)).length : 0)
      }
      expect(contents(out)).toEqual(contents('whole'))
      rmSync(place(out), { recursive: true })
    }
    console.log(`files after each kill of an export to a directory: ${left.join(' ')}`)
    expect(await coind(home, ['repair', '--dry-run'])).toEqual({ code: 0, output: 'No damage was found\n' })
  })
})
