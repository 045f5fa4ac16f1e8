import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  checkSegmentFile,
  type ListedSegment,
  segmentPath,
  storedBlock,
  writeSegment,
} from '../../../../src/chain/segments/segments.ts'
import { openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { restoreSegment, segmentSources } from '../../../../src/datadir/repair/restoreSegments.ts'
import { Database } from '../../../../src/storage/database.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'

let directory: string
let location: string
let segment: ListedSegment
let path: string
let whole: Buffer
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-segments-'))
  location = join(directory, 'db')
  const database = await Database.open(location)
  await writeOldChain(database, { base: 10, head: 41, validators: 1 })
  const lastCommit = openChainReader(database).seenCommit(40)!
  const source = { first: 10, last: 40, genesisHash: new Uint8Array(32), lastCommit }
  const read = (height: number) => storedBlock(database, height)
  segment = await writeSegment(location, { ...source, read }, async () => undefined)
  await database.close()
  path = segmentPath(location, segment)
  whole = readFileSync(path)
  for (const name of ['other/db', 'wrong']) mkdirSync(join(directory, name), { recursive: true })
  cpSync(join(location, 'segments'), join(directory, 'other', 'db', 'segments'), { recursive: true })
})
afterEach(() => rmSync(directory, { recursive: true }))

const restore = (...places: (string | URL)[]) =>
  restoreSegment(location, segment, segmentSources(places, new AbortController().signal))
const flipped = (at: number): Buffer => {
  const bytes = Buffer.from(whole)
  bytes[at]! ^= 1
  return bytes
}

it('a file is taken from the first place that has it with its sha256, whatever is there under its name', async () => {
  for (const bytes of [flipped(100), flipped(whole.length - 20), whole.subarray(0, 200), undefined]) {
    if (bytes === undefined) rmSync(path)
    else writeFileSync(path, bytes)
    expect(() => Array.from(checkSegmentFile(location, segment))).toThrow(/is damaged/)
    const wrong = join(directory, 'wrong')
    const name = basename(path)
    for (const other of [flipped(300), flipped(whole.length - 1), whole.subarray(1)]) {
      writeFileSync(join(wrong, name), other)
      expect(await restore(wrong, join(directory, 'nowhere'))).toBe(false)
    }
    // A longer one is not read.
    writeFileSync(join(wrong, name), Buffer.concat([whole, whole]))
    await expect(restore(wrong)).rejects.toThrow(/has \d+ bytes, over \d+/)
    expect(await restore(wrong, join(directory, 'other'))).toBe(true)
    expect(readFileSync(path)).toEqual(whole)
  }
})

it('a file is fetched from a web server', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    if (url === `/segments/${basename(path)}`) response.end(whole)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    rmSync(path)
    expect(await restore(new URL(`${url}/elsewhere`))).toBe(false)
    expect(await restore(new URL(`${url}/elsewhere`), new URL(`${url}/segments`))).toBe(true)
    expect(readFileSync(path)).toEqual(whole)
    expect(asked.at(-1)).toBe(`/segments/${basename(path)}`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
