import { readFileSync } from 'node:fs'
import type { ConsensusHeader } from '../../../../src/chain/comet/block.ts'
import type { MerkleProof } from '../../../../src/chain/comet/merkle.ts'
import type {
  BlockId,
  Commit,
  CommitSig,
  DuplicateVoteEvidence,
  Proposal,
  Validator,
  Vote,
} from '../../../../src/chain/comet/types.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'

/** A value as the vectors hold it: bytes as hex, bigints as decimal text. Written by CometBFT 0.38.19's own functions. */
type Jsonified<T> = T extends Uint8Array | bigint
  ? string
  : T extends readonly (infer Item)[]
    ? Jsonified<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: Jsonified<T[K]> }
      : T

type J<T> = Jsonified<T>

interface Vectors {
  merkle: { items: string[]; root: string; proofs: J<MerkleProof>[] }[]
  validatorSets: {
    input: { publicKey: string; power: string }[]
    sorted: J<Validator>[]
    hash: string
    totalPower: string
  }[]
  consensusParams: { maxBytes: number; maxGas: number; hash: string }[]
  results: { results: { code: number; data: string; gasWanted: string; gasUsed: string }[]; hash: string }[]
  votes: (Signed & { vote: J<Vote> })[]
  proposals: (Signed & { proposal: J<Proposal> })[]
  commits: {
    validators: J<Validator>[]
    commit: J<Commit>
    signBytes: string[]
    signChainId: string
    hash: string
    proto: string
    verify?: { chainId: string; height: number; blockId: J<BlockId>; full: boolean; light: boolean }
  }[]
  evidence: {
    items: (Omit<J<DuplicateVoteEvidence>, 'kind'> & { bytes: string })[]
    emptyHash: string
    listHash: string
  }
  blocks: {
    txCount: number
    txSize: number
    /** how many of the evidence items it holds */
    evidence: number
    header: J<ConsensusHeader>
    headerProto: string
    lastCommit: J<Commit>
    hash: string
    sha256: string
    length: number
    partSetHeader: { total: number; hash: string }
    parts: { proof: J<MerkleProof>; protoSha256: string; size: number }[]
    proto?: string
  }[]
  sizes: {
    maxDataBytes: { maxBytes: number; validators: number; maxDataBytes: number }[]
    txs: { count: number; size: number; total: number }[]
  }
  /** validator `key` has the public key sha256("validator <key>") */
  priorities: {
    sequences: {
      name: string
      initial: { key: number; power: string }[]
      first: PriorityStep
      steps: PriorityStep[]
    }[]
  }
  keys: {
    seed: string
    publicKey: string
    address: string
    nodeId: string
    privValidatorKey: string
    nodeKey: string
  }
}

/** UpdateWithChangeSet, then IncrementProposerPriority; where that failed the set stayed as it was. */
interface PriorityStep {
  changes?: { key: number; power: string }[]
  increment: number
  error?: true
  proposer: number
  /** in the set's order; left out of some steps of large sets */
  keys?: number[]
  priorities?: string[]
  totalPower?: string
}

interface Signed {
  chainId: string
  publicKey: string
  privateKey: string
  signBytes: string
  proto: string
}

export function loadVectors<K extends keyof Vectors>(name: K): Vectors[K] {
  return JSON.parse(readFileSync(new URL(`./vectors/${name}.json`, import.meta.url), 'utf8')) as Vectors[K]
}

export function toBlockId(json: J<BlockId>): BlockId {
  return {
    hash: hexToBytes(json.hash),
    partSetHeader: { total: json.partSetHeader.total, hash: hexToBytes(json.partSetHeader.hash) },
  }
}

export function toVote(json: J<Vote>): Vote {
  return {
    ...json,
    blockId: toBlockId(json.blockId),
    validatorAddress: hexToBytes(json.validatorAddress),
    signature: hexToBytes(json.signature),
  }
}

export function toProposal(json: J<Proposal>): Proposal {
  return { ...json, blockId: toBlockId(json.blockId), signature: hexToBytes(json.signature) }
}

export function toCommit(json: J<Commit>): Commit {
  return {
    ...json,
    blockId: toBlockId(json.blockId),
    signatures: json.signatures.map(
      (sig): CommitSig => ({
        ...sig,
        validatorAddress: hexToBytes(sig.validatorAddress),
        signature: hexToBytes(sig.signature),
      }),
    ),
  }
}

export function toEvidence(json: Omit<J<DuplicateVoteEvidence>, 'kind'>): DuplicateVoteEvidence {
  return {
    kind: 'duplicateVote',
    voteA: toVote(json.voteA),
    voteB: toVote(json.voteB),
    totalVotingPower: BigInt(json.totalVotingPower),
    validatorPower: BigInt(json.validatorPower),
    timestampMs: json.timestampMs,
  }
}

export function toHeader(json: J<ConsensusHeader>): ConsensusHeader {
  return {
    version: json.version,
    chainId: json.chainId,
    height: json.height,
    timeMs: json.timeMs,
    lastBlockId: toBlockId(json.lastBlockId),
    lastCommitHash: hexToBytes(json.lastCommitHash),
    dataHash: hexToBytes(json.dataHash),
    validatorsHash: hexToBytes(json.validatorsHash),
    nextValidatorsHash: hexToBytes(json.nextValidatorsHash),
    consensusHash: hexToBytes(json.consensusHash),
    appHash: hexToBytes(json.appHash),
    lastResultsHash: hexToBytes(json.lastResultsHash),
    evidenceHash: hexToBytes(json.evidenceHash),
    proposerAddress: hexToBytes(json.proposerAddress),
  }
}

/** The transactions of a block vector, which holds only their number and size. */
export function recipeTxs(count: number, size: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => Uint8Array.from({ length: size }, (_, j) => i * 31 + j * 7 + (j >> 8)))
}
