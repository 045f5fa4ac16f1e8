import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeBlock } from '../../src/chain/comet/block.ts'
import { createPartSet } from '../../src/chain/comet/partSet.ts'
import type { Vote } from '../../src/chain/comet/types.ts'
import { formatGenesis } from '../../src/chain/genesis/genesis.ts'
import { openChainReader } from '../../src/chain/store/chainReader.ts'
import type { DecidedBlock } from '../../src/consensus/application.ts'
import { advanceState } from '../../src/consensus/consensusState.ts'
import { openWal, type WalOptions } from '../../src/consensus/wal.ts'
import { copyDatabase } from '../../src/datadir/copyDatabase.ts'
import { currentDatabase } from '../../src/datadir/currentDatabase.ts'
import { type DataPaths, dataPaths } from '../../src/datadir/dataDirectory.ts'
import { makeSnapshot } from '../../src/snapshot/makeSnapshot.ts'
import { MANIFEST_NAME, readManifest } from '../../src/snapshot/manifest.ts'
import { readStateHead } from '../../src/state/head.ts'
import { Database } from '../../src/storage/database.ts'
import { firstSeed, PROPERTY_RUNS, variants } from '../propertyRuns.ts'
import {
  blockTimeMs,
  type NetworkNode,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  voteFor,
} from '../support/execution/testNetwork.ts'
import { createRandom } from '../support/state/randomChain.ts'
import type { RestoreReport } from './restoreChild.ts'
import { canMount, onSmallDisk } from './smallDisk.ts'

const CHILD = new URL('./restoreChild.ts', import.meta.url).pathname
/** Blocks of the node's own database, of the snapshot, and of the chain. */
const OWN = 10
const HEIGHT = 20
const HEAD = 30
/** Newer than the snapshot: what the validator must not sign again. */
const SIGNED = 35

const genesis = networkGenesis(4)
let directory: string
let source: NetworkNode
let server: Server
let url: string
let unpackedBytes: number
const decided: DecidedBlock[] = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-restore-'))
  source = await openNetworkNode(genesis)
  let state = await source.state()
  for (let height = 1; height <= HEAD; height++) {
    const block = await proposeBlock(source, state)
    decided[height] = block
    state = advanceState(state, block, await source.executor.application.finalizeBlock(block))
    if (height === OWN) await makeHome()
  }
  await writeLog(
    voteFor('a', {
      chainId: source.chain.chainId,
      validators: state.validators,
      height: SIGNED,
      index: 0,
      timestampMs: 1,
    }),
  )
  const files = join(directory, 'snapshot')
  const database = await Database.open(source.location, { readOnly: true })
  const snapshot = database.snapshot()
  await makeSnapshot(snapshot, source.chain, { height: HEIGHT, directory: files, sizes: { chunkBytes: 4_000 } })
  await snapshot.close()
  await database.close()
  const { chunks } = readManifest(readFileSync(join(files, MANIFEST_NAME)))
  unpackedBytes = chunks.reduce((sum, chunk) => sum + chunk.unpackedBytes, 0)
  const names = readdirSync(files)
  server = createServer(({ url: path }, response) => {
    const name = new URL(path!, url).pathname.slice(1)
    if (names.includes(name)) response.end(readFileSync(join(files, name)))
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${MANIFEST_NAME}`
})

afterAll(async () => {
  server.close()
  await source.close()
  rmSync(directory, { recursive: true })
})

/** The data directory of a node that has the first blocks; tests use copies of it. */
async function makeHome(): Promise<void> {
  const { homedir, config, genesis: genesisPath, db } = dataPaths(join(directory, 'home'))
  mkdirSync(config, { recursive: true })
  writeFileSync(genesisPath, formatGenesis(genesis))
  await copyDatabase(source.location, db)
  expect(readdirSync(homedir).sort()).toEqual(['config', 'db'])
}

const walOf = ({ wal: path }: DataPaths): WalOptions => ({
  directory: path,
  genesisHash: source.chain.genesisHash,
  randomBytes,
  warn: () => undefined,
})

/** The log of consensus has decided blocks with a gap below them, so that it has to be set aside, and a signature. */
async function writeLog(vote: Vote): Promise<void> {
  const log = await openWal(walOf(dataPaths(join(directory, 'home'))), () => undefined)
  for (const { block, seenCommit } of decided.slice(HEIGHT + 3)) {
    const { height } = block.header
    for (const part of createPartSet(encodeBlock(block)).parts) log.append({ kind: 'part', height, round: 0, part })
    log.append({ kind: 'commit', commit: seenCommit })
    log.append({ kind: 'endHeight', height })
  }
  log.append({ kind: 'vote', vote })
  await log.close()
}

let homes = 0
function copyHome(parent = directory): DataPaths {
  const homedir = join(parent, `home-${++homes}`)
  cpSync(join(directory, 'home'), homedir, { recursive: true })
  return dataPaths(homedir)
}

interface RestoreEnd {
  /** undefined when it was killed */
  readonly report: RestoreReport | undefined
}

/** @param killAt a number of changes of files and databases; 0: it is not killed by itself @param killAfterMs it is killed from outside */
async function restore({ homedir }: DataPaths, killAt = 0, killAfterMs?: number, from = url): Promise<RestoreEnd> {
  const child = spawn(process.execPath, [CHILD, homedir, from, String(blockTimeMs(HEAD)), String(killAt)])
  let [output, errors] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString()
  })
  child.stderr.on('data', (bytes: Buffer) => {
    errors += bytes.toString()
  })
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once('close', (...end) => resolve(end)),
  )
  clearTimeout(timer)
  if (signal === 'SIGKILL') return { report: undefined }
  if (code !== 0) throw new Error(errors)
  return { report: JSON.parse(output) as RestoreReport }
}

/** Which database the node has; it must be whole. */
async function ownDatabase(paths: DataPaths): Promise<'old' | 'new'> {
  const database = await Database.open(currentDatabase(paths), { readOnly: true })
  try {
    const reader = openChainReader(database)
    const head = reader.headHeight
    expect([OWN, HEIGHT]).toContain(head)
    expect(readStateHead(database)).toMatchObject({ height: head, root: reader.header(head)!.stateRoot })
    for (let height = 1; height <= head; height++) {
      expect(reader.consensusBlock(height)).toEqual(decided[height]!.block)
    }
    return head === OWN ? 'old' : 'new'
  } finally {
    await database.close()
  }
}

/** The restore is over, nothing of it is left, the signer remembers, and the node goes on with the chain's blocks. */
async function expectRestored(paths: DataPaths): Promise<void> {
  expect(await ownDatabase(paths)).toBe('new')
  const aside = `wal.aside-${HEIGHT}`
  const expected = ['config', 'db', 'lock', 'restored-from', 'wal', aside]
  expect(readdirSync(paths.homedir).sort()).toEqual(expected)
  let signed: number | undefined
  const log = await openWal(walOf(paths), (entry) => {
    if (entry.kind === 'lastSigned' && entry.entry.kind === 'vote') signed = entry.entry.vote.height
  })
  await log.close()
  expect(signed).toBe(SIGNED)
  const node = await openNetworkNode(genesis, { directory: paths.homedir })
  try {
    for (let height = HEIGHT + 1; height < HEAD; height++) {
      const { appHash } = await node.executor.application.finalizeBlock(decided[height]!)
      expect(appHash).toEqual(decided[height + 1]!.block.header.appHash)
    }
  } finally {
    await node.close()
  }
}

const IS_LONG = PROPERTY_RUNS > 1

// In `npm test` restore.test.ts kills a real node.
describe.runIf(IS_LONG)(
  'a restore that is killed leaves the old database or the new one, and the next start goes on',
  () => {
    /** of a restore that nothing interrupts */
    let changes: number | undefined

    it('and without a kill it happens once for a value of SNAPSHOT_MANIFEST_URL', async () => {
      const paths = copyHome()
      const first = (await restore(paths)).report!
      expect([first.failure, first.log.at(-1)]).toEqual([undefined, 'the node starts from the state of a snapshot'])
      await expectRestored(paths)
      expect((await restore(paths)).report).toMatchObject({ log: [] })
      // For another value it would, were the node not ahead by now.
      const other = (await restore(paths, 0, undefined, `${url}?other`)).report!
      expect(other.failure).toEqual(['ConfigError', expect.stringContaining(`this node has block ${HEAD - 1}`)])
      changes = first.changes
    })

    it('after a change of a file or a database', { timeout: 900_000 }, async () => {
      changes ??= (await restore(copyHome())).report!.changes
      const all = Array.from({ length: changes }, (_, change) => change + 1)
      const found: string[] = []
      // Without more time: while the old database gives way to the new one.
      for (const change of IS_LONG ? all : [changes - 6]) {
        const paths = copyHome()
        expect((await restore(paths, change)).report).toBeUndefined()
        found.push(await ownDatabase(paths))
        expect((await restore(paths)).report!.failure).toBeUndefined()
        await expectRestored(paths)
        rmSync(paths.homedir, { recursive: true })
      }
      expect(found).toContain('new')
      // From one moment on it is the new one.
      expect(found.toSorted((a, b) => b.localeCompare(a))).toEqual(found)
    })

    it('at any moment, again and again', { timeout: 900_000 }, async () => {
      const random = createRandom(firstSeed(7))
      for (let kills = 0; kills < (IS_LONG ? 50 : 1); ) {
        const paths = copyHome()
        for (let row = 0; row < 3; row++) {
          const { report } = await restore(paths, 0, 300 + random(400))
          await ownDatabase(paths)
          if (report === undefined) kills++
          if (report === undefined && IS_LONG) continue
          break
        }
        expect((await restore(paths)).report!.failure).toBeUndefined()
        await expectRestored(paths)
        rmSync(paths.homedir, { recursive: true })
      }
    })
  },
)

it.skipIf(!canMount())('a restore ends with one line when the disk is full, and the next start goes on', async () => {
  for (const more of variants([45_000, 5_000, 20_000, 30_000, 60_000], 1)) {
    const path = join(directory, 'disk')
    await onSmallDisk(path, 16 << 20, async (disk) => {
      const paths = copyHome(path)
      disk.fill(unpackedBytes + more)
      const { failure } = (await restore(paths)).report!
      disk.free()
      const line = /No space left on device|needs at least \d+ MB/
      expect(failure).toEqual(['DatabaseError', expect.stringMatching(line)])
      expect(await ownDatabase(paths)).toBe('old')
      expect((await restore(paths)).report!.failure).toBeUndefined()
      await expectRestored(paths)
    })
    rmSync(path, { recursive: true })
  }
})

it('a database that is newer, or cannot tell, is not replaced without --allow-older', async () => {
  const { homedir, db } = copyHome()
  rmSync(db, { recursive: true })
  await copyDatabase(source.location, db)
  const newer = (await restore(dataPaths(homedir))).report!
  const line = `the snapshot is of block ${HEIGHT}, and this node has block ${HEAD}: unset FORCE_SNAPSHOT_RESTORE`
  expect(newer.failure).toEqual(['ConfigError', expect.stringContaining(line)])

  writeFileSync(join(db, 'CURRENT'), 'MANIFEST-999999\n')
  const damaged = (await restore(dataPaths(homedir))).report!
  expect(damaged.failure).toEqual([
    'ConfigError',
    expect.stringMatching(/cannot be read \(it is damaged\).*--allow-older/),
  ])
  expect(readdirSync(homedir)).not.toContain('db.restoring')
})
