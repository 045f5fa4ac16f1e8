import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dataPaths } from '../../../src/app/dataDirectory.ts'
import { parseGenesis } from '../../../src/chain/genesis.ts'
import { openChainReader } from '../../../src/chain/store.ts'
import { readHeadRecord } from '../../../src/chain/writeBlock.ts'
import { Database } from '../../../src/storage/database.ts'
import { readFixture, unpackFixture } from '../../formats/fixture.ts'
import { openNetworkNode } from './testNetwork.ts'

it('a chain whose genesis is older than the priorities in the state keeps its state roots', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-older-'))
  unpackFixture(readFixture(3), directory)
  const { db, genesis } = dataPaths(directory)
  const database = await Database.open(db, { readOnly: true })
  const reader = openChainReader(database)
  const { decided, height } = readHeadRecord(database)!
  const node = await openNetworkNode(parseGenesis(readFileSync(genesis, 'utf8')))
  // Each block names the hash of the one before, with its state root: `finalizeBlock` compares it with what it has computed.
  for (let at = 1; at <= height; at++) {
    const next = reader.consensusBlock(at + 1)
    await node.executor.application.finalizeBlock({
      block: reader.consensusBlock(at)!,
      blockId: next?.header.lastBlockId ?? decided!.blockId,
      seenCommit: next?.lastCommit ?? decided!.seenCommit,
    })
  }
  expect(node.executor.head().hash).toEqual(reader.hash(height))
  await node.close()
  await database.close()
  rmSync(directory, { recursive: true })
})
