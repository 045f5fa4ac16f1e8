import { createDuplicateVoteEvidence } from '../../../../src/chain/comet/evidence.ts'
import { type Evidence, SIGNED_MESSAGE_TYPES, type Vote } from '../../../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../../../src/chain/comet/vote.ts'
import { recordEvidence } from '../../../../src/modules/evidence/evidence.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { signEd25519 } from '../../../../src/primitives/ed25519.ts'
import { COMET_VIEW_TABLE } from '../../../../src/rpc/comet/results.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { serveViewCall, type ViewPool } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { makePunishable } from '../../modules/slashing/makePunishable.ts'
import { MemoryStateReader } from '../../state/memoryReader.ts'
import { TEST_CHAIN } from '../memoryNode.ts'
import { CHAIN_ID, type SignedChain, testKey } from './signedChain.ts'

/** True evidence: validator `index` prevoted two blocks at `height`; `name` tells several faults there apart. */
export function duplicateVote(chain: SignedChain, height: number, index = 0, name = 3): Evidence {
  const validators = chain.validatorsAt(height)!
  const { address } = validators.validators[index]!
  const key = chain.keys.find(
    (_, at) => bytesKey(testKey(at).publicKey) === bytesKey(validators.validators[index]!.publicKey),
  )!
  const timeMs = chain.consensusBlock(height)!.header.timeMs
  const vote = (fill: number): Vote => {
    const hash = new Uint8Array(32).fill(fill)
    const unsigned = {
      type: SIGNED_MESSAGE_TYPES.prevote,
      height,
      round: 0,
      blockId: { hash, partSetHeader: { total: 1, hash } },
      timestampMs: timeMs + 5,
    }
    const signature = signEd25519(key, voteSignBytes(CHAIN_ID, unsigned))
    return { ...unsigned, validatorAddress: address, validatorIndex: index, signature }
  }
  return createDuplicateVoteEvidence(vote(9), vote(name), { validators, timeMs })
}

/** View threads that check evidence on this chain, whose blocks have reported the `reported` pieces. Evidence expires after 5 blocks. */
export function evidenceViews(chain: SignedChain, reported: readonly Evidence[] = []): ViewPool {
  const { native } = new Journal(new MemoryStateReader())
  for (const validator of chain.validatorsAt(1)!.validators) makePunishable(native, validator)
  for (const { voteA } of reported) {
    const hash = new Uint8Array(32).fill(1)
    recordEvidence(native, { hash, bytes: hash, address: voteA.validatorAddress, height: voteA.height })
  }
  const context = {
    chain: {
      ...TEST_CHAIN,
      chainId: CHAIN_ID,
      genesisTimeMs: 0,
      evidence: { maxAgeBlocks: 5, maxAgeMs: 1_000, maxBytes: 100_000 },
    },
    view: {
      chain,
      stateAt: () => ({ getNative: (key: Uint8Array) => native.get(key) }),
    },
    limits: { responseBytes: 1_000_000 },
  } as unknown as RpcContext
  const log = { error: (fields: unknown) => fail(fields) }
  return {
    call: (_, method, params) =>
      serveViewCall(COMET_VIEW_TABLE, context, { method, params: structuredClone(params) }, log),
  }
}

function fail(fields: unknown): never {
  throw new Error('a view call failed', { cause: fields })
}
