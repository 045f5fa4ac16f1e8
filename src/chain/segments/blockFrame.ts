import { concatBytes, equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256 } from '../../primitives/hash.ts'
import { checkRLP } from '../../primitives/rlp.ts'
import { decodeEthereumHeader, type EthereumHeader, encodeEthereumHeader } from '../block/ethereumBlock.ts'
import { mergeBlooms } from '../block/receipt.ts'
import {
  type ConsensusBlock,
  type ConsensusHeader,
  dataHash,
  decodeBlock,
  encodeBlock,
  headerHash,
  resultsHash,
} from '../comet/block.ts'
import { commitHash } from '../comet/commit.ts'
import { decodeEvidence, encodeEvidence } from '../comet/evidence.ts'
import { createPartSet } from '../comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  type CommitSig,
  EMPTY_COMMIT,
  isNilBlockId,
  NIL_BLOCK_ID,
} from '../comet/types.ts'
import { decodeResults, NO_RESULTS, type StoredResults } from '../store/storedResults.ts'
import { ColumnError, type ColumnLayout, ColumnReader, ColumnWriter, type FieldCoder } from './packedColumns.ts'

/** A block as LevelDB has it. */
export interface StoredBlock {
  /** RLP of the Ethereum header */
  readonly header: Uint8Array
  /** protobuf of the consensus block; undefined for block 0 */
  readonly block: Uint8Array | undefined
  /** see storedResults.ts; undefined for a block without entries and events, and where they were dropped */
  readonly results: Uint8Array | undefined
}

/** One column for each place in a block. The numbers are part of the format. */
const COLUMNS = [
  'hasBlock',
  'hasResults',
  'blockVersion',
  'appVersion',
  'chainId',
  'height',
  'time',
  'lastBlockHash',
  'lastPartsTotal',
  'lastPartsHash',
  'signatures',
  'commitHeight',
  'commitRound',
  'commitBlockHash',
  'commitPartsTotal',
  'commitPartsHash',
  'flag',
  'isUsualSigner',
  'signer',
  'voteTime',
  'signature',
  'lastCommitHash',
  'dataHash',
  'validatorsHash',
  'nextValidatorsHash',
  'consensusHash',
  'appHash',
  'lastResultsHash',
  'evidenceHash',
  'proposer',
  'address',
  'parentHash',
  'uncles',
  'miner',
  'stateRoot',
  'transactionsRoot',
  'receiptsRoot',
  'bloom',
  'difficulty',
  'gasLimit',
  'gasUsed',
  'timestamp',
  'extraData',
  'mixHash',
  'nonce',
  'laterFields',
  'baseFee',
  'withdrawalsRoot',
  'blobGasUsed',
  'excessBlobGas',
  'beaconRoot',
  'requestsHash',
  'evidenceCount',
  'evidence',
  'txCount',
  'tx',
  'results',
] as const

const at = Object.fromEntries(COLUMNS.map((name, column) => [name, column])) as Record<(typeof COLUMNS)[number], number>

const LAYOUT: ColumnLayout = {
  count: COLUMNS.length,
  random: new Set([
    at.lastBlockHash,
    at.lastPartsHash,
    at.signature,
    at.dataHash,
    at.lastResultsHash,
    at.parentHash,
    at.stateRoot,
    at.transactionsRoot,
    at.receiptsRoot,
    at.mixHash,
  ]),
  long: new Set([at.evidence, at.tx, at.results]),
}

/** To read one block its whole frame is decoded: a few milliseconds for this many empty ones. */
export const FRAME_BLOCKS = 64

/**
 * More signatures, evidence and transactions than the blocks of a frame have: the largest block (`block.max_bytes`, 100 MiB) takes a
 * million transactions of 100 bytes, and 64 commits of 10,000 validators have 640,000 signatures. Each may take a single byte that compresses to
 * nothing, and a hundred bytes of memory.
 */
const MAX_ITEMS = 1 << 21
/** Items of the RLP of a block's results, at most: far more than a block's gas can pay for. */
const MAX_RESULT_ITEMS = 1 << 22

/** Consecutive blocks, packed. */
export interface PackedFrame {
  readonly bytes: Uint8Array
  /** input for a dictionary for frames like this one */
  readonly sample: Uint8Array
}

/**
 * Packs consecutive blocks so that {@link decodeFrame} returns the same bytes. Fields that follow
 * from others are left out: bloom filters, and the hashes of parents and last blocks (except in the
 * first block of a frame, so that each frame can be read alone), of commits, and of empty
 * transactions, results and evidence. A field that differs from the expected value is stored, so
 * that an unusual block is retained exactly too.
 * @throws Error when a part of a block cannot be decoded (a damaged database)
 */
export function encodeFrame(blocks: readonly StoredBlock[], dictionary: Uint8Array): PackedFrame {
  const writer = new ColumnWriter(LAYOUT)
  const frame = new FrameCoder(writer)
  for (const stored of blocks) frame.block(stored)
  return { bytes: writer.pack(dictionary), sample: writer.table() }
}

/**
 * Decodes the blocks of a frame.
 * @param first height of its first block
 * @throws ColumnError when the bytes are not such a frame
 */
export function decodeFrame(
  bytes: Uint8Array,
  first: number,
  count: number,
  dictionary: Uint8Array,
): readonly StoredBlock[] {
  // The file may come from a stranger, and each block takes far more memory than its bytes in the
  // frame.
  if (count > FRAME_BLOCKS) throw new ColumnError(`a frame of ${count} blocks`)
  const reader = new ColumnReader(LAYOUT, bytes, dictionary)
  const frame = new FrameCoder(reader)
  const blocks: StoredBlock[] = []
  try {
    for (let i = 0; i < count; i++) blocks.push(frame.block(undefined, first + i))
  } catch (error) {
    if (error instanceof ColumnError) throw error
    // Encoding checks less than decoding: whatever it cannot take was never a block.
    throw new ColumnError(`block ${first + blocks.length} cannot be rebuilt: ${(error as Error).message}`, {
      cause: error,
    })
  }
  reader.end()
  return blocks
}

/**
 * Decodes the times of a frame's blocks (header.time in milliseconds), in order: undefined for a
 * block without a consensus block. They have columns of their own, so no block is rebuilt.
 * @throws ColumnError when the bytes are not such a frame
 */
export function decodeFrameTimes(
  bytes: Uint8Array,
  count: number,
  dictionary: Uint8Array,
): readonly (number | undefined)[] {
  if (count > FRAME_BLOCKS) throw new ColumnError(`a frame of ${count} blocks`)
  const reader = new ColumnReader(LAYOUT, bytes, dictionary)
  const times: (number | undefined)[] = []
  for (let i = 0; i < count; i++) {
    const hasBlock = reader.number(at.hasBlock, undefined, 1) === 1
    times.push(hasBlock ? reader.number(at.time, undefined, times.at(-1) ?? 0) : undefined)
  }
  return times
}

/** Facts of a block from which fields of the next one follow. */
interface Previous {
  readonly ethereum: EthereumHeader
  /** keccak256 of the Ethereum header */
  readonly hash: Uint8Array
  readonly consensus: ConsensusBlock | undefined
  /** undefined for block 0, and where it would take too long to compute */
  readonly id: { readonly hash: Uint8Array; readonly parts: BlockId['partSetHeader'] | undefined } | undefined
}

const NO_TRANSACTIONS = dataHash([])
const NO_TX_RESULTS = resultsHash([])
const EMPTY_BLOOM = new Uint8Array(256)
const text = { encode: new TextEncoder(), decode: new TextDecoder() }

/** Walks over the fields of one block after the other, for both directions (see `FieldCoder`). */
class FrameCoder {
  readonly #coder: FieldCoder
  #previous: Previous | undefined
  /** addresses in the order in which they first appear */
  readonly #addresses: Uint8Array[] = []
  readonly #addressNumbers = new Map<string, number>()
  /** who signed at each position of the last commits */
  readonly #signers: Uint8Array[] = []
  /** who received the fees of each proposer's last block */
  readonly #miners = new Map<string, Uint8Array>()
  /** signatures, evidence and transactions until now */
  #items = 0

  constructor(coder: FieldCoder) {
    this.#coder = coder
  }

  /** @param height of the block when reading */
  block(known: StoredBlock): StoredBlock
  block(known: undefined, height: number): StoredBlock
  block(known: StoredBlock | undefined, height = 0): StoredBlock {
    const coder = this.#coder
    const knownHeader = known && decodeEthereumHeader(known.header)
    const number = knownHeader?.number ?? height
    const has = (column: number, part: Uint8Array | undefined, usual: number): boolean =>
      coder.number(column, known && (part === undefined ? 0 : 1), usual) === 1

    const hasBlock = has(at.hasBlock, known?.block, 1)
    const consensus = hasBlock ? this.#consensus(known && decodeBlock(known.block!), number) : undefined
    const hasResults = has(at.hasResults, known?.results, 0)
    const coded = hasResults ? coder.bytes(at.results, known?.results, undefined) : undefined
    // A copy: it is cached, and a view would hold the columns of all blocks of the frame in memory.
    const results = known === undefined ? coded?.slice() : coded
    if (results !== undefined) checkRLP(results, MAX_RESULT_ITEMS)
    const decoded = results === undefined ? NO_RESULTS : decodeResults(results)
    const ethereum = this.#ethereum(knownHeader, number, consensus, decoded)

    const stored = {
      header: known?.header ?? encodeEthereumHeader(ethereum),
      block: known?.block ?? (consensus && encodeBlock(consensus)),
      results,
    }
    this.#previous = { ethereum, hash: keccak256(stored.header), consensus, id: blockIdOf(consensus, stored.block) }
    return stored
  }

  #consensus(known: ConsensusBlock | undefined, height: number): ConsensusBlock {
    const coder = this.#coder
    const header = known?.header
    const before = this.#previous?.consensus
    const last = before?.header
    const bytes = (
      column: number,
      name: Exclude<
        keyof ConsensusHeader,
        'version' | 'chainId' | 'height' | 'timeMs' | 'lastBlockId' | 'proposerAddress'
      >,
      expected: Uint8Array | undefined,
    ): Uint8Array => coder.bytes(column, header?.[name], expected)

    const version = {
      block: coder.number(at.blockVersion, header?.version.block, last?.version.block ?? 0),
      app: coder.number(at.appVersion, header?.version.app, last?.version.app ?? 0),
    }
    const chainId = coder.bytes(
      at.chainId,
      header && text.encode.encode(header.chainId),
      last && text.encode.encode(last.chainId),
    )
    const ownHeight = coder.number(at.height, header?.height, height)
    const timeMs = coder.number(at.time, header?.timeMs, last?.timeMs ?? 0)
    const lastBlockId = this.#blockId(LAST_BLOCK_ID, header?.lastBlockId, this.#previous?.id)
    const lastCommit = this.#commit(known?.lastCommit, ownHeight, timeMs, lastBlockId)
    const txs = this.#list(at.txCount, at.tx, known?.txs)
    const evidence = this.#list(at.evidenceCount, at.evidence, known?.evidence.map(encodeEvidence)).map(decodeEvidence)
    const lastCommitHash = bytes(at.lastCommitHash, 'lastCommitHash', commitHash(lastCommit))
    const ownDataHash = bytes(at.dataHash, 'dataHash', txs.length === 0 ? NO_TRANSACTIONS : undefined)
    const validatorsHash = bytes(at.validatorsHash, 'validatorsHash', last?.nextValidatorsHash)
    return {
      header: {
        version,
        chainId: text.decode.decode(chainId),
        height: ownHeight,
        timeMs,
        lastBlockId,
        lastCommitHash,
        dataHash: ownDataHash,
        validatorsHash,
        nextValidatorsHash: bytes(at.nextValidatorsHash, 'nextValidatorsHash', validatorsHash),
        consensusHash: bytes(at.consensusHash, 'consensusHash', last?.consensusHash),
        appHash: bytes(at.appHash, 'appHash', this.#previous?.hash),
        lastResultsHash: bytes(at.lastResultsHash, 'lastResultsHash', NO_TX_RESULTS),
        evidenceHash: bytes(at.evidenceHash, 'evidenceHash', last?.evidenceHash),
        proposerAddress: this.#address(at.proposer, header?.proposerAddress),
      },
      txs,
      evidence,
      lastCommit,
    }
  }

  #ethereum(
    known: EthereumHeader | undefined,
    number: number,
    consensus: ConsensusBlock | undefined,
    { executed }: StoredResults,
  ): EthereumHeader {
    const coder = this.#coder
    const last = this.#previous?.ethereum
    const bytes = (column: number, value: Uint8Array | undefined, expected: Uint8Array | undefined): Uint8Array =>
      coder.bytes(column, value, expected)
    const header = consensus?.header
    const parentId = header?.lastBlockId.hash
    const emptyRoot = executed.length === 0 ? EMPTY_TRIE_ROOT : undefined
    const bloom =
      executed.length === 0 ? EMPTY_BLOOM : mergeBlooms(executed.map(({ receipt: { logsBloom } }) => logsBloom))

    const parentHash = bytes(at.parentHash, known?.parentHash, header?.appHash ?? this.#previous?.hash)
    const sha3Uncles = bytes(at.uncles, known?.sha3Uncles, EMPTY_UNCLES_HASH)
    const miner = this.#miner(known?.miner, header?.proposerAddress)
    const mixHash =
      last === undefined || parentId === undefined ? undefined : keccak256(concatBytes(last.mixHash, parentId))
    const fields = {
      parentHash,
      sha3Uncles,
      miner,
      stateRoot: bytes(at.stateRoot, known?.stateRoot, last?.stateRoot),
      transactionsRoot: bytes(at.transactionsRoot, known?.transactionsRoot, emptyRoot),
      receiptsRoot: bytes(at.receiptsRoot, known?.receiptsRoot, emptyRoot),
      logsBloom: bytes(at.bloom, known?.logsBloom, bloom),
      difficulty: coder.integer(at.difficulty, known?.difficulty, 0n),
      number,
      gasLimit: coder.integer(at.gasLimit, known?.gasLimit, last?.gasLimit),
      gasUsed: coder.integer(at.gasUsed, known?.gasUsed, executed.at(-1)?.receipt.cumulativeGasUsed ?? 0n),
      timestamp: coder.number(at.timestamp, known?.timestamp, Math.floor((header?.timeMs ?? 0) / 1000)),
      extraData: bytes(at.extraData, known?.extraData, last?.extraData),
      mixHash: bytes(at.mixHash, known?.mixHash, mixHash),
      nonce: bytes(at.nonce, known?.nonce, last?.nonce),
    }
    const usual = last === undefined ? LATER_FIELDS : laterFields(last)
    const later = coder.number(at.laterFields, known && laterFields(known), usual)
    const from = <T>(position: number, read: () => T): T | undefined => (later > position ? read() : undefined)
    return {
      ...fields,
      baseFeePerGas: from(0, () => coder.integer(at.baseFee, known?.baseFeePerGas, last?.baseFeePerGas)),
      withdrawalsRoot: from(1, () => bytes(at.withdrawalsRoot, known?.withdrawalsRoot, EMPTY_TRIE_ROOT)),
      blobGasUsed: from(2, () => coder.integer(at.blobGasUsed, known?.blobGasUsed, 0n)),
      excessBlobGas: from(3, () => coder.integer(at.excessBlobGas, known?.excessBlobGas, 0n)),
      parentBeaconBlockRoot: from(4, () => bytes(at.beaconRoot, known?.parentBeaconBlockRoot, parentId)),
      requestsHash: from(5, () => bytes(at.requestsHash, known?.requestsHash, last?.requestsHash)),
    }
  }

  #blockId(columns: BlockIdColumns, known: BlockId | undefined, expected: Previous['id']): BlockId {
    const coder = this.#coder
    const id = {
      hash: coder.bytes(columns.hash, known?.hash, expected?.hash),
      partSetHeader: {
        total: coder.number(columns.partsTotal, known?.partSetHeader.total, expected?.parts?.total ?? 1),
        hash: coder.bytes(columns.partsHash, known?.partSetHeader.hash, expected?.parts?.hash),
      },
    }
    return isNilBlockId(id) ? NIL_BLOCK_ID : id
  }

  /** Returns the commit in a block: that of the block before. */
  #commit(known: Commit | undefined, height: number, timeMs: number, lastBlockId: BlockId): Commit {
    const coder = this.#coder
    const usual = this.#previous?.consensus?.lastCommit.signatures.length ?? 0
    const count = this.#count(at.signatures, known?.signatures.length, usual)
    if (count === 0) return EMPTY_COMMIT
    const expected = { hash: lastBlockId.hash, parts: lastBlockId.partSetHeader }
    const commitHeight = coder.number(at.commitHeight, known?.height, height - 1)
    const round = coder.number(at.commitRound, known?.round, 0)
    const blockId = this.#blockId(COMMIT_BLOCK_ID, known?.blockId, expected)
    const signatures: CommitSig[] = []
    for (let i = 0; i < count; i++) signatures.push(this.#signature(known?.signatures[i], i, timeMs))
    return { height: commitHeight, round, blockId, signatures }
  }

  #signature(known: CommitSig | undefined, position: number, timeMs: number): CommitSig {
    const coder = this.#coder
    const flag = coder.number(at.flag, known?.flag, BLOCK_ID_FLAGS.commit) as CommitSig['flag']
    if (flag === BLOCK_ID_FLAGS.absent) return ABSENT_COMMIT_SIG
    const usual = this.#signers[position]
    const isUsual = known && usual !== undefined && equalBytes(usual, known.validatorAddress)
    const isNew = coder.number(at.isUsualSigner, known && (isUsual ? 0 : 1), 0) !== 0
    const validatorAddress = isNew ? this.#address(at.signer, known?.validatorAddress) : usual
    if (validatorAddress === undefined) throw new ColumnError('a signer is left out who did not sign before')
    this.#signers[position] = validatorAddress
    // A block's time is the median of its last commit's.
    const timestampMs = coder.number(at.voteTime, known?.timestampMs, timeMs)
    return { flag, validatorAddress, timestampMs, signature: coder.bytes(at.signature, known?.signature, undefined) }
  }

  #miner(known: Uint8Array | undefined, proposer: Uint8Array | undefined): Uint8Array {
    const key = proposer === undefined ? '' : addressKey(proposer)
    const miner = this.#coder.bytes(at.miner, known, this.#miners.get(key))
    this.#miners.set(key, miner)
    return miner
  }

  /** An address by the number of its first appearance. */
  #address(column: number, known: Uint8Array | undefined): Uint8Array {
    const count = this.#addresses.length
    const knownNumber = known && (this.#addressNumbers.get(addressKey(known)) ?? count)
    const number = this.#coder.number(column, knownNumber, 0)
    if (number < 0 || number > count) throw new ColumnError('an address is not there')
    if (number < count) return this.#addresses[number]!
    const address = this.#coder.bytes(at.address, known, undefined)
    this.#addresses.push(address)
    this.#addressNumbers.set(addressKey(address), number)
    return address
  }

  /** Returns how many items follow. @throws ColumnError when these are more than blocks have */
  #count(column: number, known: number | undefined, usual: number): number {
    const count = this.#coder.number(column, known, usual)
    this.#items += count
    if (count < 0 || this.#items > MAX_ITEMS) throw new ColumnError(`a block with a list of ${count}`)
    return count
  }

  #list(countColumn: number, column: number, known: readonly Uint8Array[] | undefined): readonly Uint8Array[] {
    const count = this.#count(countColumn, known?.length, 0)
    const items: Uint8Array[] = []
    for (let i = 0; i < count; i++) items.push(this.#coder.bytes(column, known?.[i], undefined))
    return items
  }
}

interface BlockIdColumns {
  readonly hash: number
  readonly partsTotal: number
  readonly partsHash: number
}

const LAST_BLOCK_ID: BlockIdColumns = {
  hash: at.lastBlockHash,
  partsTotal: at.lastPartsTotal,
  partsHash: at.lastPartsHash,
}
const COMMIT_BLOCK_ID: BlockIdColumns = {
  hash: at.commitBlockHash,
  partsTotal: at.commitPartsTotal,
  partsHash: at.commitPartsHash,
}

/** The parts of a block with transactions are not hashed: that would take longer than reading 32 bytes. */
function blockIdOf(consensus: ConsensusBlock | undefined, bytes: Uint8Array | undefined): Previous['id'] {
  if (consensus === undefined) return undefined
  const parts = consensus.txs.length === 0 ? createPartSet(bytes!).header : undefined
  return { hash: headerHash(consensus.header), parts }
}

/** Fields of Ethereum headers that later forks added, in their order: a header without one has none of those after it. */
const LATER_FIELDS = 6

function laterFields(header: EthereumHeader): number {
  const fields = [
    header.baseFeePerGas,
    header.withdrawalsRoot,
    header.blobGasUsed,
    header.excessBlobGas,
    header.parentBeaconBlockRoot,
    header.requestsHash,
  ]
  const missing = fields.indexOf(undefined)
  return missing === -1 ? LATER_FIELDS : missing
}

function addressKey(address: Uint8Array): string {
  return Buffer.from(address.buffer, address.byteOffset, address.length).toString('latin1')
}
