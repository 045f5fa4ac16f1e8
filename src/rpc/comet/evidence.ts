import { verifyEd25519 } from '../../chain/consensus/ed25519.ts'
import { checkDuplicateVote, decodeEvidence, encodeEvidence } from '../../chain/consensus/evidence.ts'
import type { Evidence } from '../../chain/consensus/types.ts'
import { ConsensusDecodingError } from '../../chain/consensus/wire.ts'
import { toBuffer } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { CometChain, CometNode, WithChain } from './env.ts'
import { readEvidenceJson } from './json/evidence.ts'
import {
  type CometMethod,
  CometParamError,
  type CometType,
  cometFailure,
  defineCometMethod,
  fromBase64,
} from './method.ts'

/** Evidence as CometBFT's JSON, or as text: base64 of the protobuf that the evidence hash covers. */
const evidenceType: CometType<Evidence> = {
  fromQuery: (text) => {
    const inner = /^"(.*)"$/.exec(text)?.[1]
    if (inner !== undefined) return fromProtobuf(inner)
    if (!text.startsWith('{')) return fromProtobuf(text)
    try {
      return readEvidenceJson(JSON.parse(text))
    } catch (error) {
      if (error instanceof SyntaxError) throw new CometParamError(error.message)
      throw error
    }
  },
  fromJson: (value) => {
    if (value === null || value === undefined) return undefined
    return typeof value === 'string' ? fromProtobuf(value) : readEvidenceJson(value)
  },
}

function fromProtobuf(text: string): Evidence {
  const bytes = fromBase64(text)
  try {
    return decodeEvidence(bytes)
  } catch (error) {
    if (error instanceof ConsensusDecodingError) throw new CometParamError(error.message)
    throw error
  }
}

/**
 * `broadcast_evidence` (rpc/core/evidence.go). The evidence is checked in this thread, so that
 * invalid evidence does not keep consensus busy. Evidence that is pending or in a block already gets the same answer as new evidence.
 */
export function createBroadcastEvidenceMethod(
  chainId: string,
  withChain: WithChain,
  node: Pick<CometNode, 'submitEvidence'>,
): CometMethod {
  return defineCometMethod({
    name: 'broadcast_evidence',
    params: [{ name: 'evidence', type: evidenceType }],
    run: async (evidence) => {
      if (evidence === undefined) throw cometFailure('no evidence was provided')
      const problem = withChain((chain) => findProblem(chainId, chain, evidence))
      if (problem !== undefined) throw notAdded(problem)
      const bytes = encodeEvidence(evidence)
      const report = await node.submitEvidence(bytes)
      if (!report.accepted) throw notAdded(report.reason)
      return { hash: toBuffer(sha256(bytes)).toString('base64') }
    },
  })
}

function notAdded(reason: string): Error {
  return cometFailure(`failed to add evidence: Invalid evidence: ${reason}`)
}

/** Why evidence is wrong; undefined when a validator of that height has signed both votes. */
function findProblem(chainId: string, chain: CometChain, evidence: Evidence): string | undefined {
  const { height } = evidence.voteA
  const block = height > chain.headHeight ? undefined : chain.consensusBlock(height)
  const validators = chain.validatorSetAt(height)
  if (block === undefined || validators === undefined) return `don't have header #${height}`
  return checkDuplicateVote(evidence, { chainId, validators, timeMs: block.header.timeMs }, verifyEd25519)
}
