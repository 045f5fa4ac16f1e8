import { MessageChannel } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { BLOCK_PROTOCOL, type ConsensusBlock, encodeBlock } from '../../../../../src/chain/comet/block.ts'
import { encodeCommit } from '../../../../../src/chain/comet/commit.ts'
import { EMPTY_COMMIT, NIL_BLOCK_ID } from '../../../../../src/chain/comet/types.ts'
import type { Application, DecidedBlock } from '../../../../../src/consensus/application.ts'
import { type ApplicationService, applicationService } from '../../../../../src/node/roles/executor/executorRequests.ts'
import { executorApplication } from '../../../../../src/node/roles/main/executorApplication.ts'
import { connect, serve } from '../../../../../src/node/wire/port.ts'

const HASH = new Uint8Array(32).fill(7)
const TXS = [Uint8Array.of(1), new Uint8Array(0), new Uint8Array(70_000).fill(3)]

const RESULT = { appHash: HASH, lastResultsHash: HASH, validatorUpdates: [], durableHeight: 1 }

const { port1, port2 } = new MessageChannel()
afterEach(() => {
  port1.removeAllListeners('message')
  port2.removeAllListeners('message')
})

/** The application of a node, over a channel to one that proposes TXS and notes what it is told. */
function remoteApplication(): { application: Application; finalized: DecidedBlock[]; processed: ConsensusBlock[] } {
  const finalized: DecidedBlock[] = []
  const processed: ConsensusBlock[] = []
  const inner: Application = {
    info: () => Promise.reject(new Error('not asked for')),
    prepareProposal: async () => ({ txs: TXS, evidence: [], dataHash: HASH }),
    checkEvidence: async () => ({ verdict: 'valid' }),
    processProposal: async (block) => {
      processed.push(block)
      return { accepted: true }
    },
    finalizeBlock: async (decided) => {
      finalized.push(decided)
      return RESULT
    },
  }
  serve(port2, applicationService(inner))
  return { application: executorApplication(connect<ApplicationService>(port1)), finalized, processed }
}

function decide(txs: readonly Uint8Array[]): DecidedBlock {
  const header: ConsensusBlock['header'] = {
    version: { block: BLOCK_PROTOCOL, app: 0 },
    chainId: 'coin_76287-1',
    height: 1,
    timeMs: 1,
    lastBlockId: NIL_BLOCK_ID,
    lastCommitHash: HASH,
    dataHash: HASH,
    validatorsHash: HASH,
    nextValidatorsHash: HASH,
    consensusHash: HASH,
    appHash: HASH,
    lastResultsHash: HASH,
    evidenceHash: HASH,
    proposerAddress: HASH.slice(0, 20),
  }
  return {
    block: { header, txs, evidence: [], lastCommit: EMPTY_COMMIT },
    blockId: NIL_BLOCK_ID,
    seenCommit: EMPTY_COMMIT,
  }
}

const REQUEST = {
  height: 1,
  timeMs: 1,
  proposerAddress: HASH.slice(0, 20),
  parentConsensusHash: HASH,
  maxBytes: 1,
  lastCommit: EMPTY_COMMIT,
  evidence: [],
}

describe('executorApplication', () => {
  it('takes a proposal and finalizes it without sending its transactions back', async () => {
    const { application, finalized } = remoteApplication()
    const { txs, ...rest } = (await application.prepareProposal(REQUEST, 240))!
    expect({ txs, ...rest }).toEqual({ txs: TXS, evidence: [], dataHash: HASH })
    await application.finalizeBlock(decide(txs))
    expect(finalized).toEqual([decide(TXS)])
    // The very arrays that were proposed.
    expect(finalized[0]!.block.txs).toBe(TXS)
  })

  it('checks a block and finalizes it without sending its transactions twice', async () => {
    const { application, finalized, processed } = remoteApplication()
    const decided = decide(TXS.slice(0, 2))
    expect(await application.processProposal(decided.block)).toEqual({ accepted: true })
    await application.finalizeBlock(decided)
    expect(finalized).toEqual([decided])
    expect(finalized[0]!.block.txs).toBe(processed[0]!.txs)
  })

  it('sends transactions again that the other side no longer keeps', async () => {
    const { application, finalized } = remoteApplication()
    const decided = decide(TXS.slice(0, 2))
    await application.processProposal(decided.block)
    for (let i = 0; i < 20; i++) await application.processProposal(decide([Uint8Array.of(i)]).block)
    await application.finalizeBlock(decided)
    expect(finalized).toEqual([decided])
  })

  it('finalizes other blocks than the one that was proposed, and blocks that nobody proposed', async () => {
    const { application, finalized } = remoteApplication()
    await application.finalizeBlock(decide(TXS.slice(0, 2)))
    await application.prepareProposal(REQUEST, 240)
    await application.finalizeBlock(decide([Uint8Array.of(9)]))
    await application.finalizeBlock(decide([]))
    expect(finalized).toEqual([decide(TXS.slice(0, 2)), decide([Uint8Array.of(9)]), decide([])])
  })

  it('finalizes a run of blocks with their bytes and senders, and ends it where a result is not what the next block names', async () => {
    const { application, finalized } = remoteApplication()
    const other = decide([Uint8Array.of(9)])
    const { header } = other.block
    const wrong = { ...other, block: { ...other.block, header: { ...header, appHash: new Uint8Array(32) } } }
    const senders = [HASH.slice(0, 20), undefined, undefined]
    const blocks = [{ ...decide(TXS), senders, catchingUp: true }, decide([]), wrong, other]
    const maxGas = 30_000_000
    expect(await application.finalizeRun!({ blocks, maxGas })).toEqual({ executed: 2, last: RESULT })
    const encode = ({ block, seenCommit }: DecidedBlock) => ({
      block: encodeBlock(block),
      commit: encodeCommit(seenCommit),
    })
    expect(finalized).toEqual(
      blocks.slice(0, 2).map((decided) => ({ catchingUp: false, ...decided, encoded: encode(decided) })),
    )
    // The bytes are sent as they are, if the caller has them.
    const encoded = encode(decide(TXS))
    expect((await application.finalizeRun!({ blocks: [{ ...decide(TXS), encoded }], maxGas })).executed).toBe(1)
    expect(finalized.at(-1)).toEqual({ ...decide(TXS), catchingUp: false, encoded })
  })
})
