import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { segmentName } from '../../../src/chain/segments/segments.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { type DirectoryExportRequest, exportDirectory } from '../../../src/datadir/exportDirectory.ts'
import { blocksIn, type DirectoryImportRequest, importDirectory } from '../../../src/datadir/importBlocks.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { BLOCKS_FILES, readBlocksManifest } from '../../../src/snapshot/blocksManifest.ts'
import { publicFiles } from '../../../src/snapshot/publicFiles.ts'
import { Database } from '../../../src/storage/database.ts'
import { PIECE_HEADER_BYTES, SEGMENT_MAGIC } from '../../../src/storage/segmentFile.ts'
import { type NetworkNode, networkGenesis, openNetworkNode, proposeBlock } from '../../support/execution/testNetwork.ts'
import { httpServer } from '../../support/sync/httpServers.ts'

const GENESIS = networkGenesis(4)
const BLOCKS = 20
/** Some three empty blocks. */
const FILE_BYTES = 4_000
const { signal } = new AbortController()

let root: string
let source: NetworkNode
let database: Database
/** the whole chain in files of a few blocks */
let served: string
const nodes: NetworkNode[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'coind-directory-'))
  source = await openNetworkNode(GENESIS)
  let state = await source.state()
  for (let height = 1; height <= BLOCKS; height++) {
    const decided = await proposeBlock(source, state, { raws: [] })
    state = advanceState(state, decided, await source.executor.application.finalizeBlock(decided))
  }
  await source.executor.close()
  database = await Database.open(source.location, { readOnly: true })
  served = join(root, 'served')
  await exporting({ directory: served, to: BLOCKS })
})
afterAll(async () => {
  await database.close()
  for (const node of [source, ...nodes]) await node.close()
  rmSync(root, { recursive: true })
})

function exporting(request: Pick<DirectoryExportRequest, 'directory' | 'to'> & Partial<DirectoryExportRequest>) {
  const progress = { update: () => undefined }
  const chain = openChainReader(database)
  return exportDirectory({ chain, identity: source.chain, signal, progress, fileBytes: FILE_BYTES, ...request })
}

async function fresh(): Promise<NetworkNode> {
  const node = await openNetworkNode(GENESIS)
  nodes.push(node)
  return node
}

function importing(node: NetworkNode, files: DirectoryImportRequest['files'], stop: AbortSignal = signal) {
  return importDirectory({ application: node.executor.application, chain: node.chain, files, signal: stop })
}

const manifestOf = (directory: string) => readBlocksManifest(readFileSync(join(directory, 'manifest.json')))
const namesOf = (directory: string) => readdirSync(directory).sort()

describe('an export to a directory', () => {
  it('has all blocks in files that the manifest names, each within its limit', () => {
    const { files, ...identity } = manifestOf(served)
    expect(identity).toMatchObject({ chainId: source.chain.chainId, genesisHash: source.chain.genesisHash })
    expect(files.length).toBeGreaterThan(3)
    expect({ first: files[0]!.first, last: files.at(-1)!.last }).toEqual({ first: 0, last: BLOCKS })
    for (const file of files) {
      const bytes = readFileSync(join(served, segmentName(file)))
      expect({ bytes: bytes.length, sha256: bytesToHex(sha256(bytes)) }).toEqual({
        bytes: file.bytes,
        sha256: bytesToHex(file.sha256),
      })
    }
    expect(namesOf(served)).toEqual([...files.map(segmentName), 'manifest.json'].sort())
  })

  it('goes on with what there is: the same files as at once where a file ended, and none twice', async () => {
    const directory = join(root, 'grows')
    const { last } = manifestOf(served).files[1]!
    expect(await exporting({ directory, to: last })).toEqual({
      added: { from: 0, to: last },
      all: { from: 0, to: last },
    })
    expect(await exporting({ directory, to: BLOCKS })).toEqual({
      added: { from: last + 1, to: BLOCKS },
      all: { from: 0, to: BLOCKS },
    })
    expect(await exporting({ directory, to: BLOCKS })).toMatchObject({ added: { from: BLOCKS + 1, to: BLOCKS } })
    expect(readFileSync(join(directory, 'manifest.json'))).toEqual(readFileSync(join(served, 'manifest.json')))
    expect(namesOf(directory)).toEqual(namesOf(served))
  })

  it('names mirrors, which stay until others are named', async () => {
    const directory = join(root, 'mirrored')
    const mirrors = ['https://mirror.example/blocks/', 'http://other.example/']
    await exporting({ directory, to: 5, mirrors })
    await exporting({ directory, to: BLOCKS })
    expect(manifestOf(directory).mirrors).toEqual(mirrors)
    await exporting({ directory, to: BLOCKS, mirrors: mirrors.slice(1) })
    expect(manifestOf(directory).mirrors).toEqual(mirrors.slice(1))
    for (const refused of [['ftp://host/'], Array<string>(65).fill('http://host/')]) {
      await expect(exporting({ directory, to: BLOCKS, mirrors: refused })).rejects.toThrow(
        /^the mirrors cannot be used/,
      )
    }
    expect(manifestOf(directory).mirrors).toEqual(mirrors.slice(1))
  })

  it('keeps what is complete when it is ended, and a later one goes on there', async () => {
    const directory = join(root, 'ended')
    const stop = new AbortController()
    const progress = { update: (done: number) => (done > 5 ? stop.abort() : undefined) }
    await expect(exporting({ directory, to: BLOCKS, progress, signal: stop.signal })).rejects.toThrow('aborted')
    const begun = manifestOf(directory)
    expect(begun.files.length).toBeGreaterThan(0)
    expect(namesOf(directory)).toEqual([...begun.files.map(segmentName), 'manifest.json'].sort())
    await exporting({ directory, to: BLOCKS })
    expect(manifestOf(directory)).toEqual(manifestOf(served))
  })

  it('refuses blocks that there are not, and a directory of another chain', async () => {
    const directory = join(root, 'refused')
    await expect(exporting({ directory, to: BLOCKS + 1 })).rejects.toThrow('the node has blocks 0 to 20')
    // By default only what makes up whole segments, which a short chain does not have.
    await expect(exporting({ directory, to: undefined })).rejects.toThrow('only 0 to 20: name the last block with --to')
    const identity = { ...source.chain, genesisHash: new Uint8Array(32) }
    await expect(exporting({ directory: served, to: BLOCKS, identity })).rejects.toThrow('name another directory')
  })
})

describe('an import of a directory', () => {
  it('gives the same chain, and goes on where a node is', async () => {
    const node = await fresh()
    const { last } = manifestOf(served).files[1]!
    const directory = join(root, 'first')
    await exporting({ directory, to: last })
    expect(await importing(node, blocksIn(directory))).toEqual({ from: 1, to: last })
    expect(await importing(node, blocksIn(served))).toEqual({ from: last + 1, to: BLOCKS })
    expect(bytesToHex(node.executor.head().hash)).toBe(bytesToHex(openChainReader(database).hash(BLOCKS)!))
    expect(await importing(node, blocksIn(served))).toEqual({ from: BLOCKS + 1, to: BLOCKS })
  })

  it('comes from a web server, of which only what is needed is asked', async () => {
    const asked: string[] = []
    const url = await httpServer((request, response) => {
      asked.push(request.url!.slice(1))
      response.end(readFileSync(join(served, request.url!.slice(1))))
    })
    const node = await fresh()
    expect(await importing(node, publicFiles(new URL(url), BLOCKS_FILES, signal))).toEqual({ from: 1, to: BLOCKS })
    expect(asked.sort()).toEqual(namesOf(served))
    asked.length = 0
    await importing(node, publicFiles(new URL(`${url}/manifest.json`), BLOCKS_FILES, signal))
    expect(asked).toEqual(['manifest.json'])
  })

  it('ends between two blocks when it is told to', async () => {
    const node = await fresh()
    const stop = new AbortController()
    const request = { application: node.executor.application, chain: node.chain, files: blocksIn(served) }
    const onBlock = (height: number): void => (height === 7 ? stop.abort() : undefined)
    expect(await importDirectory({ ...request, signal: stop.signal, onBlock })).toEqual({ from: 1, to: 7 })
    expect(await importing(node, blocksIn(served))).toEqual({ from: 8, to: BLOCKS })
  })

  /** A copy in which one file was changed, and the manifest says so of it: whoever serves it may have made both. */
  function forged(name: string, change: (bytes: Uint8Array) => Uint8Array): string {
    const directory = join(root, name)
    cpSync(served, directory, { recursive: true })
    const json = JSON.parse(readFileSync(join(served, 'manifest.json'), 'utf8'))
    const path = join(directory, segmentName(json.files[1]))
    const bytes = change(readFileSync(path))
    writeFileSync(path, bytes)
    Object.assign(json.files[1], { bytes: bytes.length, sha256: bytesToHex(sha256(bytes)) })
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(json))
    return directory
  }

  it.each<[string, (bytes: Uint8Array) => Uint8Array, RegExp]>([
    ['cut off', (bytes) => bytes.slice(0, 300), /^blocks \d+ to \d+: the file ends within an entry/],
    ['a flipped byte', (bytes) => bytes.with(500, bytes[500]! ^ 1), /^blocks \d+ to \d+: the file is damaged at byte/],
    ['no file of blocks', () => new Uint8Array(1_000), /^blocks \d+ to \d+: the file is not an export of blocks/],
  ])('stops at a forged file, with the blocks before it: %s', async (name, change, problem) => {
    const node = await fresh()
    await expect(importing(node, blocksIn(forged(name, change)))).rejects.toThrow(problem)
    expect((await node.executor.application.info()).height).toBe(manifestOf(served).files[0]!.last)
    // The rest from an honest one.
    expect(await importing(node, blocksIn(served))).toMatchObject({ to: BLOCKS })
  })

  it.each<[string, number, RegExp]>([
    ['with a huge number of blocks', 0, /^blocks \d+ to \d+: the file is damaged at byte/],
    ['longer than the file', 4, /^blocks \d+ to \d+: the file ends within an entry/],
  ])('stops at a frame %s', async (name, field, problem) => {
    const huge = (bytes: Uint8Array): Uint8Array => {
      const changed = Uint8Array.from(bytes)
      const view = new DataView(changed.buffer)
      // Behind start and dictionary, which have their length in their second number.
      let at = SEGMENT_MAGIC.length
      for (let piece = 0; piece < 2; piece++) at += PIECE_HEADER_BYTES + view.getUint32(at + 4)
      view.setUint32(at + field, 0xffff_ffff)
      const content = changed.subarray(at + PIECE_HEADER_BYTES).subarray(0, view.getUint32(at + 4))
      view.setUint32(at + 8, crc32(content, crc32(changed.subarray(at, at + 8))))
      return changed
    }
    const node = await fresh()
    await expect(importing(node, blocksIn(forged(name, huge)))).rejects.toThrow(problem)
  })

  it('stops at blocks that other validators decided, under the name of this chain', async () => {
    const other = await openNetworkNode(networkGenesis(2))
    nodes.push(other)
    const state = await other.state()
    await other.executor.application.finalizeBlock(await proposeBlock(other, state, { raws: [] }))
    await other.executor.close()
    const strange = await Database.open(other.location, { readOnly: true })
    const directory = join(root, 'strange')
    await exporting({ directory, to: 1, chain: openChainReader(strange) })
    await strange.close()
    const node = await fresh()
    await expect(importing(node, blocksIn(directory))).rejects.toThrow(/block 1 names other validators than this chain/)
    expect((await node.executor.application.info()).height).toBe(0)
  })

  it('stops where a file has the blocks of another one', async () => {
    const other = readFileSync(join(served, segmentName(manifestOf(served).files[2]!)))
    const node = await fresh()
    await expect(importing(node, blocksIn(forged('swapped', () => other)))).rejects.toThrow(/block \d+ is missing/)
  })

  it('refuses a file that does not have its hash, and one that is missing', async () => {
    const directory = join(root, 'damaged')
    cpSync(served, directory, { recursive: true })
    const path = join(directory, segmentName(manifestOf(served).files[1]!))
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.with(500, bytes[500]! ^ 1))
    const node = await fresh()
    await expect(importing(node, blocksIn(directory))).rejects.toThrow(/is damaged: its bytes do not have the hash/)
    rmSync(path)
    await expect(importing(node, blocksIn(directory))).rejects.toThrow(/has no \d+-\d+/)
  })

  it.each<[string, (json: Record<string, unknown>) => unknown, RegExp]>([
    [
      'of another chain',
      (json) => ({ ...json, genesis_hash: `0x${'11'.repeat(32)}` }),
      /^the blocks belong to the chain/,
    ],
    ['with a gap', ({ files, ...json }) => ({ ...json, files: (files as []).toSpliced(1, 1) }), /are not those from/],
    ['with too many files', (json) => ({ ...json, files: Array(70_000).fill(0) }), /more than 65536 elements/],
    [
      'with names of files',
      ({ files, ...json }) => ({ ...json, files: [{ ...(files as [object])[0], name: '../x' }] }),
      /name/,
    ],
    ['of an older version', (json) => ({ ...json, format: 1 }), /it has format 1: an older version of coind wrote it/],
    ['of a snapshot', () => ({ format: 2, height: 5, chunks: [] }), /^the manifest of the blocks cannot be used: /],
    [
      'with a file of a terabyte',
      ({ files, ...json }) => ({ ...json, files: [{ ...(files as [object])[0], bytes: 2 ** 40 }] }),
      /bytes/,
    ],
    ['that clears the screen', (json) => ({ ...json, ['\u001b[2J\n'.repeat(999)]: 1 }), /^[\x20-\x7e]{1,400}$/],
    [
      'of a chain that does',
      (json) => ({ ...json, chain_id: 'coin\n\u001b[2J' }),
      /chain_id: expected a line of text$/,
    ],
  ])('refuses a manifest %s', async (name, change, problem) => {
    const directory = mkdtempSync(join(root, 'manifest-'))
    const json = JSON.parse(readFileSync(join(served, 'manifest.json'), 'utf8'))
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(change(json)))
    await expect(importing(nodes[0]!, blocksIn(directory)), name).rejects.toThrow(problem)
  })
})
