import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountAddress, contractAddress } from '../../../bench/bigChain/fillState.ts'
import { makeBigChain } from '../../../bench/bigChain/makeBigChain.ts'
import { headerHash } from '../../../src/chain/comet/block.ts'
import { verifyCommit } from '../../../src/chain/comet/commit.ts'
import { validatorSetHash } from '../../../src/chain/comet/validatorSet.ts'
import { parseGenesis } from '../../../src/chain/genesis/genesis.ts'
import { advanceState, checkBlock } from '../../../src/consensus/consensusState.ts'
import { checkInvariants } from '../../../src/datadir/checkInvariants.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { ranksAfter } from '../../../src/modules/consensus/validatorRanks.ts'
import { createViewCaches, type NodeView, openView } from '../../../src/state/view.ts'
import { Column, prefixEnd } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { GENESIS_TIME_MS } from '../../support/execution/testChain.ts'
import { openNetworkNode, proposeBlock } from '../../support/execution/testNetwork.ts'

/** A thousandth of what `bench/bigChain.ts` makes. */
const SIZE = { accounts: 2_000, slots: 1_000, delegations: 10, blocks: 130, validators: 5, signers: 4 }

let homedir: string
/** the same chain, for the case that writes further blocks */
let copy: string
let stateRoot: Uint8Array
let database: Database
let view: NodeView
beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-big-'))
  homedir = join(directory, 'home')
  ;({ stateRoot } = await makeBigChain({ ...SIZE, homedir, genesisTimeMs: GENESIS_TIME_MS }))
  copy = join(directory, 'copy')
  cpSync(homedir, copy, { recursive: true })
  database = await Database.open(dataPaths(homedir).db)
  view = openView(database, createViewCaches())
})
afterAll(async () => {
  await database.close()
  rmSync(join(homedir, '..'), { recursive: true })
})

async function countOf(column: number): Promise<number> {
  let count = 0
  const start = Uint8Array.of(column)
  for await (const _ of database.entries({ start, end: prefixEnd(start) })) count++
  return count
}

describe('a chain that nobody has executed', () => {
  it('has the state that was asked for, in which every invariant holds', async () => {
    const { height, accounts, problems } = await checkInvariants(view)
    expect([height, problems]).toEqual([SIZE.blocks, []])
    expect(accounts).toBeGreaterThan(SIZE.accounts)
    expect(await countOf(Column.slot)).toBe(SIZE.slots)
    const state = view.stateAt(SIZE.blocks)
    expect(state.storageCount(contractAddress(0))).toBe(0.4 * SIZE.slots)
    expect(state.getAccount(accountAddress(1_999))).toMatchObject({
      nonce: 499n,
      balance: 1_000n * 10n ** 18n + 1_999n,
    })
    expect(view.chain.header(SIZE.blocks)!.stateRoot).toEqual(stateRoot)
  })

  it('has blocks that follow each other, signed by the validators that the block before named', () => {
    const { chain } = view
    for (let height = 1; height < SIZE.blocks; height++) {
      const next = chain.consensusBlock(height + 1)!
      const { header } = chain.consensusBlock(height)!
      const validators = chain.validatorSetAt(height)!
      const blockId = next.header.lastBlockId
      expect(headerHash(header)).toEqual(blockId.hash)
      expect(next.header.appHash).toEqual(chain.hash(height))
      expect(header.validatorsHash).toEqual(validatorSetHash(validators))
      expect(header.nextValidatorsHash).toEqual(next.header.validatorsHash)
      expect(verifyCommit({ ...header, blockId, validators }, next.lastCommit)).toEqual({ valid: true })
    }
    const changed = [2, 3].map((height) => chain.validatorSetAt(height)!.totalPower)
    expect(changed[1]).toBe(changed[0]! + BigInt(SIZE.delegations))
  })

  it('has the proposer priorities in its state', () => {
    const state = view.stateAt(SIZE.blocks)
    const sets = {
      next: view.chain.validatorsAt(SIZE.blocks + 1)!,
      afterNext: view.chain.validatorsAt(SIZE.blocks + 2)!,
    }
    expect(ranksAfter({ get: (key) => state.getNative(key) }, SIZE.blocks, sets)).toEqual(sets)
  })

  it('goes on with the next blocks', async () => {
    const node = await openNetworkNode(parseGenesis(readFileSync(dataPaths(copy).genesis, 'utf8')), {
      directory: copy,
    })
    let state = await node.state()
    for (let height = SIZE.blocks + 1; height <= SIZE.blocks + 3; height++) {
      const decided = await proposeBlock(node, state)
      expect(checkBlock(state, decided.block)).toBeUndefined()
      state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    }
    await node.close()
    const extended = await Database.open(dataPaths(copy).db)
    const report = await checkInvariants(openView(extended, createViewCaches()))
    await extended.close()
    expect(report).toMatchObject({ height: SIZE.blocks + 3, problems: [] })
  })
})
