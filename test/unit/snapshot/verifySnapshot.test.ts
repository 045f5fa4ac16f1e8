import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeLightBlock, encodeLightBlock } from '../../../src/chain/comet/lightBlock.ts'
import { type Chunk, decodeChunk, encodeChunk, packChunk, unpackChunk } from '../../../src/snapshot/chunk.ts'
import {
  chunkName,
  encodeManifest,
  MANIFEST_NAME,
  type Manifest,
  type ManifestChunk,
  readManifest,
  SnapshotError,
} from '../../../src/snapshot/manifest.ts'
import { filesAt, filesIn } from '../../../src/snapshot/snapshotFiles.ts'
import { type SnapshotFiles, verifySnapshot } from '../../../src/snapshot/verifySnapshot.ts'
import type { TestChain } from '../../support/execution/testChain.ts'
import { createSnapshotChain, snapshotOf } from '../../support/snapshot/snapshotChain.ts'

const HEIGHT = 9

let directory: string
let made: string
let copy: string
let chain: TestChain
let manifest: Manifest
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-verify-'))
  chain = await createSnapshotChain(HEIGHT + 3)
  made = join(directory, 'made')
  copy = join(directory, 'copy')
  await snapshotOf(chain, { height: HEIGHT, directory: made })
  manifest = readManifest(readFileSync(join(made, MANIFEST_NAME)))
})
beforeEach(() => {
  rmSync(copy, { recursive: true, force: true })
  cpSync(made, copy, { recursive: true })
})
afterAll(async () => {
  await chain.close()
  rmSync(directory, { recursive: true })
})

/** The test chain's votes are not signed. */
function verify(files: SnapshotFiles, of: TestChain['chain'] | undefined = chain.chain): Promise<unknown> {
  return verifySnapshot(files, { chain: of, verifySignature: () => true })
}

/** A chunk of this kind, neither its first nor its last one where there are enough. */
function chunkOf(kind: ManifestChunk['kind']): ManifestChunk {
  const found = manifest.chunks.filter((chunk) => chunk.kind === kind)
  return found[found.length >> 1]!
}

const pathOf = (chunk: ManifestChunk): string => join(copy, chunkName(chunk))

function writeManifest(changes: Partial<Manifest>): void {
  writeFileSync(join(copy, MANIFEST_NAME), encodeManifest({ ...manifest, ...changes }))
}

/** Replaces a chunk by another one, and lists it in the manifest as if it belonged there. */
function replaceChunk<Kind extends Chunk['kind']>(
  kind: Kind,
  change: (chunk: Extract<Chunk, { kind: Kind }>) => Chunk,
) {
  const listed = chunkOf(kind)
  const chunk = decodeChunk(unpackChunk(readFileSync(pathOf(listed)))) as Extract<Chunk, { kind: Kind }>
  const content = encodeChunk(change(chunk))
  const packed = packChunk(content)
  const sha256 = new Uint8Array(createHash('sha256').update(packed).digest())
  const other = { ...listed, sha256, bytes: packed.length, unpackedBytes: content.length }
  writeFileSync(pathOf(other), packed)
  writeManifest({ chunks: manifest.chunks.map((entry) => (entry === listed ? other : entry)) })
}

/** A light block with another header. */
function forged(
  index: 0 | 1 | 2,
  change: (block: ReturnType<typeof decodeLightBlock>) => ReturnType<typeof decodeLightBlock>,
) {
  const blocks = manifest.lightBlocks.with(
    index,
    encodeLightBlock(change(decodeLightBlock(manifest.lightBlocks[index]))),
  )
  writeManifest({ lightBlocks: blocks as unknown as Manifest['lightBlocks'] })
}

const KINDS = ['accounts', 'storage', 'native', 'codes', 'blocks'] as const

describe('verifying a snapshot', () => {
  it.each(KINDS)('finds a chunk of %s that is missing, cut off, changed or swapped', async (kind) => {
    const listed = chunkOf(kind)
    const bytes = readFileSync(pathOf(listed))
    const bad = async (problem: string): Promise<void> => {
      const verified = verify(filesIn(copy))
      await expect(verified).rejects.toThrow(SnapshotError)
      await expect(verified).rejects.toThrow(`${chunkName(listed)} (${kind === 'codes' ? 'contract code' : kind}`)
      await expect(verified).rejects.toThrow(problem)
    }
    rmSync(pathOf(listed))
    await bad('is missing')
    writeFileSync(pathOf(listed), bytes.subarray(0, -1))
    await bad(`it has ${bytes.length - 1} bytes, not ${bytes.length}`)
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(pathOf(listed), bytes)
    await bad('its sha256 does not match')
    copyFileSync(pathOf(chunkOf(kind === 'native' ? 'blocks' : 'native')), pathOf(listed))
    await bad('is bad: it')
  })

  it.each<[string, () => void, RegExp]>([
    [
      'an account',
      () => replaceChunk('accounts', (c) => ({ ...c, accounts: c.accounts.slice(1) })),
      /accounts .* is bad/,
    ],
    ['a slot', () => replaceChunk('storage', (c) => ({ ...c, slots: c.slots.slice(1) })), /storage of .* is bad/],
    [
      'a native entry',
      () => replaceChunk('native', (c) => ({ ...c, entries: c.entries.slice(0, -1) })),
      /native .* is bad/,
    ],
    ['a code', () => replaceChunk('codes', (c) => ({ ...c, codes: c.codes.slice(1) })), /no chunk has the code with/],
    [
      'a block',
      () => replaceChunk('blocks', (c) => ({ ...c, blocks: c.blocks.slice(1) })),
      /not what the manifest says/,
    ],
    [
      'all codes',
      () => writeManifest({ chunks: manifest.chunks.filter((c) => c.kind !== 'codes') }),
      /no chunk has the code/,
    ],
    [
      'a storage',
      () => writeManifest({ chunks: manifest.chunks.filter((c) => c.kind !== 'storage') }),
      /has the storage of 0x/,
    ],
  ])('finds that %s is left out, although the manifest fits', async (_, leaveOut, message) => {
    leaveOut()
    const verified = verify(filesIn(copy))
    await expect(verified).rejects.toThrow(SnapshotError)
    await expect(verified).rejects.toThrow(message)
  })

  it('finds more codes than accounts have', async () => {
    replaceChunk('codes', (chunk) => ({ ...chunk, codes: chunk.codes.map((code) => Uint8Array.of(...code, 1)) }))
    await expect(verify(filesIn(copy))).rejects.toThrow(/contract code that no account has|not in the order/)
  })

  it('finds blocks that are others', async () => {
    const flip = (bytes: Uint8Array, at: number): Uint8Array => bytes.with(at, bytes.at(at)! ^ 1)
    const change = (field: 'block' | 'header', at: number) =>
      replaceChunk('blocks', (chunk) => {
        const [first, ...others] = chunk.blocks
        return { ...chunk, blocks: [{ ...first!, [field]: flip(first![field], at) }, ...others] }
      })
    for (const [field, at] of [
      ['block', 40],
      ['block', -20],
      ['header', 10],
      ['header', -1],
    ] as const) {
      change(field, at)
      await expect(verify(filesIn(copy))).rejects.toThrow(/blocks .* is bad: block \d+: /)
    }
  })

  it.each<[string, () => void, RegExp]>([
    ['no manifest', () => rmSync(join(copy, MANIFEST_NAME)), /there is no manifest\.json in .*copy$/],
    [
      'bytes that are no light block',
      () => writeManifest({ lightBlocks: [Uint8Array.of(1), Uint8Array.of(1), Uint8Array.of(1)] }),
      /the light block of 9: /,
    ],
    [
      'another header',
      () => forged(0, (b) => ({ ...b, header: { ...b.header, timeMs: 1 } })),
      /light block of 9: the commit is for another header/,
    ],
    [
      'another height',
      () => writeManifest({ lightBlocks: [manifest.lightBlocks[1], manifest.lightBlocks[1], manifest.lightBlocks[2]] }),
      /it is of block 10/,
    ],
    ['no votes', () => forged(1, (b) => ({ ...b, commit: { ...b.commit, signatures: [] } })), /light block of 10: /],
    ['another consensus hash', () => writeManifest({ consensusHash: new Uint8Array(32) }), /consensus_hash is not/],
  ])('refuses %s', async (_, forge, message) => {
    forge()
    await expect(verify(filesIn(copy))).rejects.toThrow(message)
  })

  it('checks signatures', async () => {
    await expect(verifySnapshot(filesIn(copy), { chain: undefined })).rejects.toThrow(/light block of 9: .*signature/)
  })

  it('refuses a snapshot of another chain', async () => {
    await expect(verify(filesIn(copy), { ...chain.chain, chainId: 'coin_1-1' })).rejects.toThrow(
      /of the chain coin_76287-1/,
    )
    await expect(verify(filesIn(copy), { ...chain.chain, genesisHash: new Uint8Array(32) })).rejects.toThrow(
      /is of another genesis/,
    )
  })

  it('reads a web server, and names it when it fails', async () => {
    let status = 200
    const server: Server = createServer((request, response) => {
      response.statusCode = status
      if (status !== 200) response.end()
      else response.end(readFileSync(join(copy, request.url!.replace('/shots/9/', ''))))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { signal } = new AbortController()
    try {
      for (const url of [`${base}/shots/9`, `${base}/shots/9/`, `${base}/shots/9/manifest.json`]) {
        expect(await verify(filesAt(new URL(url), signal))).toMatchObject({ height: HEIGHT })
      }
      const files = filesAt(new URL(`${base}/shots/9/`), signal)
      await expect(files.read(MANIFEST_NAME, 100)).rejects.toThrow(
        `manifest.json cannot be fetched: ${base}/shots/9/ sends more than 100 bytes`,
      )
      status = 404
      expect(await files.read(MANIFEST_NAME, 100)).toBeUndefined()
      status = 403
      await expect(files.read(MANIFEST_NAME, 100)).rejects.toThrow(`${base}/shots/9/ answers with status 403`)
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    await expect(filesIn(made).read(MANIFEST_NAME, 100)).rejects.toThrow(/manifest\.json has \d+ bytes, over 100/)
  })
})
